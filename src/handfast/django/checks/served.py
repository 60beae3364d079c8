"""Whether the tools of a project can be served together: what the first request would find out otherwise."""

from collections.abc import Sequence

from django.core.exceptions import ImproperlyConfigured

from handfast.django.checks.catalogue import CheckId, Finding
from handfast.django.conf import read_settings
from handfast.django.discovery import ViewTool
from handfast.django.service.tools import build_registry
from handfast.toolkit.registry import ToolRegistry


def try_to_serve(tools: Sequence[ViewTool]) -> ToolRegistry | Finding:
    """The tools as the endpoint has them, with nothing recorded and nothing kept; or why there would be none."""
    try:
        return build_registry(tools, read_settings(), recorder=None)
    except ImproperlyConfigured as problem:
        return Finding(
            CheckId.NOT_SERVABLE,
            f"The endpoint would answer every request with an error: {problem}",
            "Mend what is named, or leave it out: HANDFAST['EXCLUDE'].",
            "settings.HANDFAST",
        )
