"""Schemas of every kind from which arguments are made, by hand and from a model."""

import json
from datetime import date, time, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from handfast.core.schema.compiled import CompiledSchema, compile_schema
from handfast.toolkit import Args
from handfast.toolkit.writing.schemas import input_schema_of


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Branch(Args):
    length: float = Field(gt=0, le=10)
    branches: list["Branch"] = Field(default=[])


class Everything(Args):
    """One field of every kind that authors use."""

    at: AwareDatetime
    day: date
    clock: time
    lasts: timedelta
    id: UUID
    price: Decimal = Field(max_digits=6, decimal_places=2, examples=["9.99"])
    colour: Colour
    size: Literal["small", 2, None]
    tags: set[str] = Field(max_length=3)
    pair: tuple[int, str]
    scores: dict[str, float]
    code: str = Field(pattern=r"^[A-Z]{2}-\d{3}$")
    even: int = Field(multiple_of=2, ge=-10, lt=10)
    tree: Branch | None = None
    note: str | None = Field(default=None, max_length=40)


def compiled(schema: dict[str, Any]) -> CompiledSchema:
    result = compile_schema(json.dumps(schema).encode())
    assert isinstance(result, CompiledSchema), result
    return result


def of(**properties: Any) -> dict[str, Any]:
    """A closed object in which every property is required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


TREE = {
    "$ref": "#/$defs/Node",
    "type": "object",
    "$defs": {
        "Node": of(value={"type": "integer"}, left={"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}),
    },
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "nothing": of(),
    "every kind": input_schema_of(Everything, "tool"),
    "a tree": TREE,
    "alternatives": of(a={"oneOf": [{"type": "integer"}, of(k={"const": 1})]}),
    "both at once": {"type": "object", "allOf": [of(a={"type": "number"}), {"properties": {"a": {"minimum": 100}}}]},
    "a condition": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"const": 3}},
        "if": {"properties": {"a": {"minimum": 10}}, "required": ["a"]},
        "then": {"required": ["b"]},
    },
    "what is not": of(a={"not": {"type": "string"}}),
    "open bounds": of(a={"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}),
    "open bounds of draft 4": {
        "$schema": "http://json-schema.org/draft-04/schema#",
        **of(a={"type": "integer", "minimum": 3, "exclusiveMinimum": True, "maximum": 4}),
    },
    "steps": of(a={"type": "number", "multipleOf": 0.5, "minimum": 1, "maximum": 3}),
    "a few of each": of(a={"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 2, "uniqueItems": True}),
    "one of a kind": of(a={"type": "array", "contains": {"const": 5}, "items": {"type": "integer"}}),
    "a pair": of(a={"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}),
    "a pair of draft 7": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        **of(a={"type": "array", "items": [{"type": "integer"}], "additionalItems": {"type": "string"}, "minItems": 2}),
    },
    "a map": of(a={"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2}),
    "named entries": of(a={"type": "object", "patternProperties": {"^x-": {"type": "integer"}}}),
    "a name of a pattern": of(
        a={"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False, "required": ["x-1"]}
    ),
    "names of a kind": of(a={"additionalProperties": {"type": "null"}, "propertyNames": {"pattern": "^[a-z]+$"}}),
    "texts": of(a={"type": "string", "minLength": 3, "maxLength": 5}, b={"pattern": r"^\d{3}[a-z]\w$"}),
    "large": of(a={"type": "integer", "minimum": 10**40}, b={"type": "number", "maximum": -(10**300)}),
}
