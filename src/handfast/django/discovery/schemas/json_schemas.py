"""Small pieces that generated schemas are made of."""

import datetime
import decimal
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.tool import ListStyle, QueryParameter

# More would cost too much to compare in every call, or exceed what an agent would read; the serializer checks them.
MOST_OPTIONS: Final = {"integer": 40, "number": 8, "string": 500, "boolean": 2, "null": 1}

_TYPES: Final[Mapping[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
    list: "array",
    dict: "object",
}
# Keywords that only OpenAPI has.
_FOREIGN: Final = frozenset(
    ("nullable", "example", "externalDocs", "xml", "discriminator", "readOnly", "writeOnly", "deprecated")
)
_OURS: Final = "#/$defs/"  # references in the items that a pagination class was given, and returns inside its page
_MAPS: Final = ("properties", "patternProperties")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_ONE: Final = ("items", "not", "additionalProperties")


def nullable(schema: Json) -> Json:
    """The schema extended by null."""
    if not schema or "null" in _listed(schema.get("type")):
        return schema
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema and "type" not in schema:
            return {**schema, keyword: [*schema[keyword], {"type": "null"}]}
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    wider = {**schema, "type": [*_listed(schema["type"]), "null"]}
    if "enum" in schema:
        wider["enum"] = [*schema["enum"], None]
    return wider


def _listed(types: object) -> list[str]:
    return [] if types is None else [types] if isinstance(types, str) else list(types)  # type: ignore[call-overload]  # a list of names


def json_type(value: object) -> str:
    return _TYPES.get(type(value), "string")


def types_of(values: Iterable[object]) -> Json:
    """The JSON types of some values, as a schema."""
    types = list(dict.fromkeys(map(json_type, values)))
    return {"type": types[0] if len(types) == 1 else types} if types else {}


def types_in(schema: Json) -> set[str]:
    """The JSON types that a schema names."""
    inner = [*schema.get("anyOf", []), *schema.get("oneOf", [])]
    return set(_listed(schema.get("type"))).union(*map(types_in, inner))


def options(values: Iterable[object]) -> Json:
    """The schema of one of these values; where they are too many to list, only of their types or their range."""
    listed = list({(type(value), value): value for value in values}.values())  # to Python, True is 1
    schema = types_of(listed)
    kinds = Counter(map(json_type, listed))
    if listed and all(count <= MOST_OPTIONS.get(kind, 0) for kind, count in kinds.items()):
        return {**schema, "enum": listed}
    if list(kinds) == ["integer"]:
        return {**schema, "minimum": min(listed), "maximum": max(listed)}  # type: ignore[type-var]  # all are integers
    return schema


def plain_scalar(value: object) -> object:
    """A choice as an agent writes it: an enum's own value, and text for what JSON has no type for."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or type(value) in _TYPES:
        return value
    if isinstance(value, str | int | float):
        return next(kind(value) for kind in (str, int, float) if isinstance(value, kind))
    return str(value)


def plain_default(value: object) -> object:
    """A default as JSON has it. Raises: ValueError, where JSON has nothing for it."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return value
    if isinstance(value, decimal.Decimal | uuid.UUID | datetime.date | datetime.time):
        return str(value) if isinstance(value, decimal.Decimal | uuid.UUID) else value.isoformat()
    if isinstance(value, list | tuple):
        return [plain_default(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain_default(item) for key, item in value.items()}
    raise ValueError("JSON has no such value")


def described(schema: Json, *parts: object) -> Json:
    """The schema with the parts, as sentences, in front of its own description."""
    said = [
        text
        for part in (*parts, schema.get("description"))
        if part is not None and (text := " ".join(str(part).split()))
    ]
    if not said:
        return schema
    return {**schema, "description": " ".join(text if text[-1] in ".!?:…" else f"{text}." for text in said)}


def admits_null(schema: Json) -> bool:
    """Whether a schema that this adapter made accepts null."""
    return not schema or "null" in _listed(schema.get("type")) or {"type": "null"} in schema.get("anyOf", [])


def object_schema(properties: Json, required: Iterable[str] = ()) -> Json:
    """The schema of an object, never closed: undeclared arguments are judged by one rule, not by every schema."""
    names = list(required)
    return {"type": "object", "properties": properties, **({"required": names} if names else {})}


def from_openapi(schema: object) -> Json:
    """An OpenAPI schema as JSON Schema: never closed, and open where it refers to another document."""
    if not isinstance(schema, dict):
        return {}
    if "$ref" in schema:
        return schema if str(schema["$ref"]).startswith(_OURS) else {}
    kept = {key: _translated(key, value) for key, value in schema.items() if key not in _FOREIGN}
    if kept.get("additionalProperties") is False:
        del kept["additionalProperties"]
    for limit in ("Minimum", "Maximum"):
        exclusive, plain = f"exclusive{limit}", limit.lower()
        if isinstance(kept.get(exclusive), bool):
            is_exclusive = kept.pop(exclusive)
            if is_exclusive and plain in kept:
                kept[exclusive] = kept.pop(plain)
    return nullable(kept) if schema.get("nullable") is True else kept


def _translated(key: str, value: Any) -> Any:  # Any: JSON
    if key in _MAPS and isinstance(value, dict):
        return {name: from_openapi(inner) for name, inner in value.items()}
    if key in _LISTS and isinstance(value, list):
        return [from_openapi(inner) for inner in value]
    if key in _ONE and isinstance(value, dict):
        return from_openapi(value)
    return value


def query_parameters(written: Iterable[Any]) -> list[QueryParameter]:  # Any: whatever foreign code returns
    """The query parameters among those that `get_schema_operation_parameters` returns."""
    found = []
    for one in written:
        if isinstance(one, dict) and isinstance(one.get("name"), str) and one.get("in", "query") == "query":
            schema = described(from_openapi(one.get("schema", {})), one.get("description"))
            style: ListStyle = "comma" if one.get("explode") is False else "repeat"
            found.append(QueryParameter(one["name"], schema, style, bool(one.get("required"))))
    return found
