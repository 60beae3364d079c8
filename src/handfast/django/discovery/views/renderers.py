"""The renderers of a view: which of them writes JSON, and whether it writes what the view sends."""

from collections.abc import Iterable
from typing import Any, Final

from rest_framework.views import APIView

from handfast.django.discovery.views.overridden import is_own_way

JSON: Final = "application/json"


def json_type(classes: Iterable[Any]) -> str | None:  # Any: parsers or renderers
    """The media type of the JSON that the classes handle: plain, or else one such as `application/vnd.api+json`."""
    types = [_plain_type(cls) for cls in classes if cls.media_type]
    return JSON if JSON in types else next((kind for kind in types if kind.endswith("+json")), None)


def own_renderer(view: APIView) -> type | None:
    """The class that writes the view's JSON in its own way, such as with other names; None if it is the framework's."""
    classes = view.renderer_classes or ()
    wanted = json_type(classes)
    chosen = next((cls for cls in classes if cls.media_type and _plain_type(cls) == wanted), None)
    return None if chosen is None or is_own_way(chosen, "render") else chosen


def _plain_type(cls: Any) -> str:  # Any: as above
    return str(cls.media_type).partition(";")[0]
