"""Tool definitions to be judged: read from a tools/list result, a list of tools, or the tools of a toolbox."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from handfast.core.call.contract import ToolContract
from handfast.core.words.redaction import scrub_name
from handfast.lint.findings import Finding, FindingPlace, make_finding
from handfast.wire.members import member, text_member
from handfast.wire.message import AmbiguousKeys, read_level
from handfast.wire.scan import NotJson, scan_array

# No file of definitions is near this; it only keeps a wrong path from being scanned for minutes.
MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ResultType:
    """What a handler returns, as two JSON Schemas: the promised output schema, and that of its return type."""

    promised: bytes
    returned: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """One tool as it was declared, and where it was listed."""

    contract: ToolContract
    file: str = ""
    origin: str = ""
    result: ResultType | None = None  # only a toolbox knows what its handlers return

    def at(self, path: str) -> FindingPlace:
        """The place of a finding about this tool."""
        return FindingPlace(file=self.file, origin=self.origin, tool=self.shown, path=path)

    @property
    def shown(self) -> str:
        return scrub_name(self.contract.name)


@dataclass(frozen=True, slots=True)
class Definitions:
    """What could be read, and a finding for each definition that could not."""

    tools: tuple[ToolDefinition, ...]
    findings: tuple[Finding, ...] = ()


def read_definitions(text: bytes, *, file: str = "", origin: str = "") -> Definitions:
    """Reads a tools/list result (with or without its JSON-RPC envelope) or a list of tools."""
    try:
        items = scan_array(_listed(text))
    except (AmbiguousKeys, NotJson, KeyError):
        message = "This holds no tool definitions."
        return Definitions((), (make_finding("tool-unreadable", message, file=file, origin=origin),))
    tools: list[ToolDefinition] = []
    findings: list[Finding] = []
    for place, item in enumerate(items):
        read = _read_tool(item, file, origin)
        if isinstance(read, ToolDefinition):
            tools.append(read)
        else:
            message = f"Tool number {place + 1} in the list {read}."
            findings.append(make_finding("tool-unreadable", message, file=file, origin=origin, path=str(place)))
    return Definitions(tuple(tools), tuple(findings))


def _listed(text: bytes) -> bytes:
    """The array of tools. Raises: AmbiguousKeys, NotJson, KeyError."""
    text = text.removeprefix(b"\xef\xbb\xbf").strip()
    if len(text) > MOST_BYTES:
        raise KeyError("tools")
    if text.startswith(b"["):
        return text
    members = read_level(text)
    if "tools" not in members and "result" in members:
        members = read_level(bytes(members["result"]))
    return bytes(members["tools"])


def _read_tool(text: bytes, file: str, origin: str) -> ToolDefinition | str:
    """The definition, or why it cannot be read, as the end of a sentence."""
    try:
        tool = read_level(text)
    except AmbiguousKeys:
        return "has a key twice, or one that differs from the protocol's only in case"
    except NotJson:
        return "is not an object"
    name = text_member(tool, "name")
    if not name:
        return "has no name"
    contract = ToolContract(
        name=name,
        input_schema=member(tool, "inputSchema"),
        output_schema=member(tool, "outputSchema"),
        annotations=member(tool, "annotations"),
        description=text_member(tool, "description") or "",
    )
    return ToolDefinition(contract=contract, file=file, origin=origin)


def read_registered(toolbox: object, origin: str) -> Definitions:
    """The tools of a toolbox or registry: as published to clients where it can list those, else as registered.

    So are tools that it does not list: behind a dispatcher they can be called all the same.
    """
    registered = list(_called(toolbox, "list_registered") or ())
    published = _called(getattr(toolbox, "registry", toolbox), "published")
    if published is None:
        return _read_specs(registered, origin)
    definitions = read_definitions(msgspec.json.encode(published), origin=origin)
    results = {getattr(spec, "name", ""): _result_of(spec) for spec in registered}
    tools = [replace(tool, result=results.get(tool.contract.name)) for tool in definitions.tools]
    listed = {tool.contract.name for tool in tools}
    hidden = _read_specs([spec for spec in registered if getattr(spec, "name", None) not in listed], origin)
    return Definitions((*tools, *hidden.tools), (*definitions.findings, *hidden.findings))


def _called(holder: object, name: str) -> Any:  # Any: what a method of this name gives
    method = getattr(holder, name, None)
    return method() if callable(method) else None


def _read_specs(registered: Iterable[object], origin: str) -> Definitions:
    tools: list[ToolDefinition] = []
    findings: list[Finding] = []
    for spec in registered:
        name = getattr(spec, "name", None)
        if not isinstance(name, str) or not name:
            findings.append(make_finding("tool-unreadable", "A registered tool has no name.", origin=origin))
            continue
        try:
            tools.append(_of_spec(spec, name, origin))
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
            message = "A schema or annotation of this tool cannot be written as JSON."
            findings.append(make_finding("tool-unreadable", message, origin=origin, tool=scrub_name(name)))
    return Definitions(tuple(tools), tuple(findings))


def _of_spec(spec: object, name: str, origin: str) -> ToolDefinition:
    description = getattr(spec, "description", None)
    contract = ToolContract(
        name=name,
        input_schema=_as_json(getattr(spec, "input_schema", None)),
        output_schema=_as_json(getattr(spec, "output_schema", None)),
        annotations=_as_json(getattr(spec, "annotations", None)),
        description=description if isinstance(description, str) else "",
    )
    return ToolDefinition(contract=contract, origin=origin, result=_result_of(spec))


def _result_of(spec: object) -> ResultType | None:
    """Both schemas of a result; None without an output schema or a return type that has one, as a TypeAdapter does."""
    promised = _as_json(getattr(spec, "output_schema", None))
    describe = getattr(getattr(spec, "returns", None), "json_schema", None)
    if promised is None or not callable(describe):
        return None
    returned = _as_json(describe(mode="serialization"))
    return None if returned is None else ResultType(promised, returned)


def _as_json(value: object) -> bytes | None:
    return None if value is None else msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: object) -> object:
    """Converts what msgspec does not know: read-only mappings, and the SDK's models, by their names on the wire."""
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_none=True)
    raise TypeError
