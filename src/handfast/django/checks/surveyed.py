"""All findings about the tools of a project: discovery's problems, lost input, and writes that are open to all."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from rest_framework.permissions import AND, OR, AllowAny

from handfast.django.checks.catalogue import CheckFinding, CheckId, in_order
from handfast.django.checks.lost_input import lost_input
from handfast.django.checks.writes import find_writes
from handfast.django.conf import read_settings
from handfast.django.discovery import Discovery
from handfast.django.discovery.problems import dotted_name
from handfast.django.discovery.tool import ViewTool
from handfast.django.discovery.tool_view import ask_tool, permissions_of
from handfast.django.discovery.views.guarded_calls import without_database
from handfast.django.discovery.views.overridden import is_own_way
from handfast.django.service.tools import build_registry
from handfast.toolkit.registry import ToolRegistry


def open_writes(tools: Iterable[ViewTool]) -> Iterator[CheckFinding]:
    """One finding for each view that lets every caller write, with the names of those tools."""
    found: dict[str, list[str]] = {}
    for tool in tools:
        if tool.kind != "read" and is_open(tool):
            found.setdefault(dotted_name(tool.view), []).append(tool.name)
    for where, names in found.items():
        yield CheckFinding(
            CheckId.OPEN_TO_ALL,
            f"Anybody may write here, without any permission: {', '.join(sorted(names))}.",
            "Set permission_classes, or DEFAULT_PERMISSION_CLASSES in settings.REST_FRAMEWORK.",
            where,
        )


def is_open(tool: ViewTool) -> bool:
    """Whether a tool's permissions let every caller through; False where the project's own code decides."""
    own = ("check_permissions", "initial", "dispatch")
    asked = ask_tool(tool)
    if asked is None or not all(is_own_way(tool.view, name) for name in own):
        return False
    permissions = permissions_of(asked.view)
    return permissions is not None and all(map(_lets_all_through, permissions))


def _lets_all_through(permission: Any) -> bool:  # Any: permissions put together by `&` and `|` have no base class
    kind = type(permission)
    if kind in (AND, OR):
        both = map(_lets_all_through, (permission.op1, permission.op2))
        return all(both) if kind is AND else any(both)
    return issubclass(kind, AllowAny) and is_own_way(kind, "has_permission")


def try_to_serve(tools: Sequence[ViewTool]) -> ToolRegistry | CheckFinding:
    """The registry as the endpoint builds it, without records and kept results; or a finding if it cannot."""
    try:
        return build_registry(tools, read_settings(), recorder=None)
    except ImproperlyConfigured as problem:
        return CheckFinding(
            CheckId.NOT_SERVABLE,
            f"The endpoint would answer every request with an error: {problem}",
            "Correct what is named, or leave it out: HANDFAST['EXCLUDE'].",
            "settings.HANDFAST",
        )


def surveyed_findings(found: Discovery, *, may_query: bool = False) -> list[CheckFinding]:
    """All findings of a survey. `may_query`: serializers may read their fields from the database, as in discovery."""
    with without_database(on_request=may_query):
        losses = [finding for write in find_writes(found.tools) for finding in lost_input(write)]
        told = [CheckFinding(one.id, one.message, one.hint, one.where) for one in found.problems]
        return in_order([*told, *losses, *open_writes(found.tools)])
