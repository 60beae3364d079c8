"""Writes that anybody may make, because no permission is asked for."""

from collections.abc import Iterable, Iterator
from typing import Any

from rest_framework.permissions import AND, OR, AllowAny

from handfast.django.checks.catalogue import CheckId, Finding
from handfast.django.discovery.problems import dotted
from handfast.django.discovery.tool import ViewTool
from handfast.django.discovery.tool_view import ask_tool, permissions_of
from handfast.django.discovery.views.overridden import is_own_way


def open_writes(tools: Iterable[ViewTool]) -> Iterator[Finding]:
    """One finding for each view, with all its tools that are open."""
    found: dict[str, list[str]] = {}
    for tool in tools:
        if tool.kind != "read" and is_open(tool):
            found.setdefault(dotted(tool.view), []).append(tool.name)
    for where, names in found.items():
        yield Finding(
            CheckId.OPEN_TO_ALL,
            f"Anybody may write here, without any permission: {', '.join(sorted(names))}.",
            "Set permission_classes, or DEFAULT_PERMISSION_CLASSES in settings.REST_FRAMEWORK.",
            where,
        )


def is_open(tool: ViewTool) -> bool:
    """Whether its permissions let everybody through. Where the project decides in its own way, that is believed."""
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
