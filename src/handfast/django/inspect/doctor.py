"""The diagnosis of a project: the tools as an agent would see them, and the findings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from django.conf import settings

from handfast.django.checks.catalogue import CheckFinding, in_order
from handfast.django.checks.setup import setup_findings
from handfast.django.checks.surveyed import surveyed_findings, try_to_serve
from handfast.django.discovery import Discovery, ViewTool, survey
from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.problems import dotted_name
from handfast.django.discovery.tool_view import ask_tool, permissions_of
from handfast.django.discovery.views.guarded_calls import without_database
from handfast.django.mounted import find_mounts, has_urls
from handfast.toolkit.offering.published import published
from handfast.toolkit.registry import ToolRegistry

Result: TypeAlias = Literal["typed", "open", "nothing"]


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class SeenTool:
    """One tool as an agent sees it. `tool`: the view behind it, None for a dispatcher."""

    published: Json  # as tools/list has it
    tool: ViewTool | None
    arguments: tuple[Argument, ...]  # of one call
    result: Result
    permissions: tuple[str, ...] | None  # None where the view cannot say

    @property
    def name(self) -> str:
        return str(self.published["name"])

    @property
    def kind(self) -> str:
        return "dispatcher" if self.tool is None else self.tool.kind

    @property
    def call(self) -> str:
        return "-" if self.tool is None else f"{self.tool.method} {self.tool.route}"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`endpoints` are the addresses that a client can be given; `silenced` findings are those that settings hide."""

    endpoints: tuple[str, ...]
    tools: tuple[SeenTool, ...]
    findings: tuple[CheckFinding, ...]
    silenced: int = 0
    hidden: tuple[SeenTool, ...] = ()  # tools that only a dispatcher leads to

    def count(self, level: str) -> int:
        return sum(one.level == level for one in self.findings)

    def tool(self, name: str) -> SeenTool | None:
        return next((one for one in (*self.tools, *self.hidden) if one.name == name), None)


_Seen: TypeAlias = tuple[SeenTool, ...]


def examine_project(seen_by: str | None = None) -> Diagnosis:
    """The diagnosis; the tools are those that are listed to `seen_by`, a user or `token:` and a token's name.

    Discovery runs only where the settings are right. Raises: NoSuchCaller.
    """
    setup = setup_findings()
    if any(one.level == "error" for one in setup) or not has_urls():
        return _diagnosis(setup)
    found = survey()
    findings = [*setup, *surveyed_findings(found, may_query=True)]
    registry = try_to_serve(found.tools)
    if isinstance(registry, CheckFinding):
        return _diagnosis([*findings, registry])
    return _diagnosis(findings, *_seen_tools(registry, found, _sight(found, seen_by)))


def _diagnosis(findings: list[CheckFinding], tools: _Seen = (), hidden: _Seen = ()) -> Diagnosis:
    told = [one for one in in_order(findings) if one.id not in settings.SILENCED_SYSTEM_CHECKS]
    endpoints = (mount.address for mount in find_mounts() if mount.address is not None)
    return Diagnosis(tuple(endpoints), tools, tuple(told), len(set(findings)) - len(told), hidden)


def _sight(found: Discovery, seen_by: str | None) -> Callable[[str], bool]:
    if seen_by is None:
        return lambda _: True
    from handfast.django.inspect.listing_as import tools_for  # which needs users, and not every project has them

    return {tool.name for tool in tools_for(seen_by, found.tools)}.__contains__


def _seen_tools(registry: ToolRegistry, found: Discovery, sees: Callable[[str], bool]) -> tuple[_Seen, _Seen]:
    """The tools that are listed, and those that only a dispatcher leads to."""
    views = {tool.name: tool for tool in found.tools}
    listed = {entry["name"]: entry for entry in registry.published_to(sees)}
    behind = [spec.name for spec in registry.list_registered() if not spec.is_listed and sees(spec.name)]
    entries = {**listed, **{name: published(registry.registered(name)) for name in behind}}
    with without_database(on_request=True):
        seen = {name: _seen(entry, registry, views.get(name)) for name, entry in entries.items()}
    return tuple(seen[name] for name in listed), tuple(seen[name] for name in behind)


def _seen(entry: Json, registry: ToolRegistry, view: ViewTool | None) -> SeenTool:
    # The published schema also describes lists and pieces; this one describes a single call.
    schema = registry.registered(entry["name"]).spec.input_schema
    required = schema.get("required", ())
    arguments = tuple(Argument(name, name in required) for name in schema["properties"])
    return SeenTool(entry, view, arguments, _result(view), None if view is None else _permissions(view))


def _result(view: ViewTool | None) -> Result:
    if view is None or not view.output_schema:
        return "open"
    return "nothing" if view.output_schema == {"type": "null"} else "typed"


def _permissions(tool: ViewTool) -> tuple[str, ...] | None:
    asked = ask_tool(tool)
    held = None if asked is None else permissions_of(asked.view)
    return None if held is None else tuple(map(_name, held))


def _name(permission: Any) -> str:  # Any: permissions put together by `&`, `|` and `~` have no base class
    symbol = {"AND": "&", "OR": "|"}.get(type(permission).__name__)
    if symbol is not None and hasattr(permission, "op2"):
        return f"({_name(permission.op1)} {symbol} {_name(permission.op2)})"
    return f"~{_name(permission.op1)}" if hasattr(permission, "op1") else type(permission).__name__


# --- for programs ----------------------------------------------------------------------------------------------------


def as_json(diagnosis: Diagnosis) -> Json:
    return {
        "endpoints": list(diagnosis.endpoints),
        "tools": [_summary(one) for one in diagnosis.tools],
        "hidden": [one.name for one in diagnosis.hidden],
        "findings": [finding_as_json(one) for one in diagnosis.findings],
        "silenced": diagnosis.silenced,
    }


def _summary(seen: SeenTool) -> Json:
    return {
        "name": seen.name,
        "kind": seen.kind,
        "description": seen.published["description"],
        "method": None if seen.tool is None else seen.tool.method,
        "route": None if seen.tool is None else seen.tool.route,
        "arguments": [{"name": one.name, "required": one.is_required} for one in seen.arguments],
        "result": seen.result,
        "permissions": None if seen.permissions is None else list(seen.permissions),
    }


def finding_as_json(finding: CheckFinding) -> Json:
    return {
        "id": str(finding.id),
        "level": finding.level,
        "message": finding.message,
        "hint": finding.hint,
        "where": finding.where,
    }


def whole_tool(seen: SeenTool) -> Json:
    """One tool with all that an agent reads of it, and where it comes from."""
    view = None if seen.tool is None else f"{dotted_name(seen.tool.view)}.{seen.tool.handler}"
    return {**_summary(seen), **seen.published, "view": view}
