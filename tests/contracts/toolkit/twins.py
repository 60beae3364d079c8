"""A case as an author would write it: its schemas closed, always strict, its result returned by a handler."""

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # Any: JSON Schema

from pydantic import create_model

from handfast.core.call.policy import Mode, Posture, UnknownArguments
from handfast.toolkit import Args, Toolbox, ToolSpec
from handfast.wire.scan import scan_object
from tests.contracts import test_unreadable_results
from tests.contracts.cases import Case, registered
from tests.contracts.rig import Json

# What authored tools are held to, as the gateway's settings say it.
STRICT = {
    "input_validation": {
        "mode": Mode.STRICT.value,
        "unknown_arguments": UnknownArguments.REJECT_ALL.value,
        "formats": "assert",
    },
    "output_validation": {
        "mode": Mode.STRICT.value,
        "formats": "assert",
        "missing_structured_content": Posture.BLOCK.value,
        "uncompilable_schema": Posture.BLOCK.value,
    },
}
CREATED = '"created"'  # what a tool returns whose case is about its arguments
_ANYTHING = {"not": {"const": "nobody sends this"}}  # says something, and admits whatever the cases send
_COMPOSED = ("$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf")
_ONE = ("if", "then", "else")
_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")


@dataclass(frozen=True, slots=True)
class Twin:
    """One authored tool. `data` is the exact JSON text of what its handler returns."""

    tool: str
    input_schema: Json
    output_schema: Json
    data: str
    calls: tuple[bytes | None, ...]


def all_cases() -> list[Case]:
    """Every case that runs through the gateway; the matrix repeats some of them at other places."""
    for module in sorted(Path(__file__).parents[1].glob("test_*.py")):
        importlib.import_module(f"tests.contracts.{module.stem}")
    return [*registered(), *test_unreadable_results.CASES]


def twin_of(case: Case) -> Twin:
    return Twin(case.tool, closed(case.input_schema or {}), case.output_schema, _data(case), case.calls)


def _data(case: Case) -> str:
    result = str(case.answer.get("result", "{}")).encode()
    if not result.startswith(b"{"):
        return CREATED
    members = {member.key: member for member in scan_object(result, allows_constants=True)}
    found = members.get("structuredContent")
    return CREATED if found is None else result[found.value_start : found.value_end].decode()


def closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same with every object closed, as its author must have it; who says that it is open is left alone."""
    made = _closed({"type": "object", "properties": {}} if not schema else {"type": "object", **schema})
    assert isinstance(made, dict)
    return made


def _closed(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    for keyword in _LISTS:
        if keyword in made:
            made[keyword] = [_closed(part) for part in made[keyword]]
    for keyword in _ONE:
        if keyword in made:
            made[keyword] = _closed(made[keyword])
    for keyword in _MAPS:
        if keyword in made:
            made[keyword] = {name: _closed(part) for name, part in made[keyword].items()}
    return made | _rest(made)


def _rest(schema: Mapping[str, Any]) -> dict[str, Any]:
    is_object = schema.get("type") == "object" or "properties" in schema
    if not is_object or "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return {}
    if any(keyword in schema for keyword in _COMPOSED):
        return {"unevaluatedProperties": False}
    # An object of which nothing is said at all becomes a map of any values, which an author may have.
    return {"additionalProperties": False if "properties" in schema else _ANYTHING}


def spec_of(twin: Twin, handler: Any) -> ToolSpec:  # Any: a ToolHandler
    return ToolSpec(twin.tool, "A case.", twin.input_schema, handler, output_schema=twin.output_schema)


def toolbox_of(twins: list[Twin], handler_of: Any) -> Toolbox:  # Any: from a twin to its ToolHandler
    tools = Toolbox("up")
    for twin in twins:
        tools.add(spec_of(twin, handler_of(twin)))
    return tools


def published(twins: list[Twin]) -> list[Json]:
    """The tools as a client of the toolkit sees them, for the gateway to be held to as well."""

    async def nobody(**_: Any) -> str:  # Any: as a handler takes them
        raise NotImplementedError

    return toolbox_of(twins, lambda _: nobody).registry.published()


def structured_of(twin: Twin, tool: Json) -> str:
    """The structured content that a server written by hand would send for this case under the published schema."""
    return twin.data if twin.output_schema == tool["outputSchema"] else f'{{"result":{twin.data}}}'


def write_twins(twins: list[Twin], path: Path) -> None:
    told = [[twin.tool, twin.input_schema, twin.output_schema, twin.data] for twin in twins]
    path.write_text(json.dumps(told))


def read_twins(path: Path) -> list[Twin]:
    return [Twin(tool, taken, given, data, ()) for tool, taken, given, data in json.loads(path.read_text())]


_PLAIN_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}


def has_model(twin: Twin) -> bool:
    """Whether the arguments are as a plain model has them: flat, and of plain types."""
    schema = twin.input_schema
    parts = schema.get("properties", {}).values()
    is_flat = not set(schema) - {"type", "properties", "required", "additionalProperties"}
    return is_flat and bool(parts) and all(set(part) == {"type"} and part["type"] in _PLAIN_TYPES for part in parts)


def model_of(twin: Twin) -> type[Args]:
    """The arguments as a model, for those that one can have."""
    schema = twin.input_schema
    fields: dict[str, Any] = {}
    for name, part in schema["properties"].items():
        kind = _PLAIN_TYPES[part["type"]]
        fields[name] = (kind, ...) if name in schema.get("required", ()) else (kind, None)
    return create_model("Arguments", __base__=Args, **fields)
