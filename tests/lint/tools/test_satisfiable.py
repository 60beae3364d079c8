"""Schemas that no value can meet are proved to be such, and never one that some value meets."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from handfast.core.schema.compiled import CompiledSchema, compile_schema
from handfast.lint.tools.satisfiable import can_be_met


def compiled(schema: object) -> CompiledSchema:
    found = compile_schema(json.dumps(schema).encode())
    assert isinstance(found, CompiledSchema)
    return found


OBJECT = {"type": "object"}
IMPOSSIBLE: dict[str, Any] = {  # Any: JSON Schemas
    "false": False,
    "not anything": {"not": {}},
    "types that exclude each other": {"type": "object", "allOf": [{"type": "string"}]},
    "a required member that may not be there": OBJECT | {"required": ["a"], "additionalProperties": False},
    "a required member that is false": OBJECT | {"required": ["a"], "properties": {"a": False}},
    "a required member that contradicts itself": OBJECT
    | {"required": ["a"], "properties": {"a": {"type": "integer", "minimum": 2, "maximum": 1}}},
    "a required member, by reference": OBJECT
    | {"required": ["a"], "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"enum": []}}},
    "more required than may be": OBJECT | {"required": ["a", "b"], "maxProperties": 1},
    "fewer than required": OBJECT | {"minProperties": 2, "maxProperties": 1},
    "bounds that meet and exclude": {"type": "number", "exclusiveMinimum": 1, "maximum": 1},
    "lengths": {"type": "string", "minLength": 3, "allOf": [{"maxLength": 2}]},
    "items": {"type": "array", "minItems": 3, "maxItems": 2},
    "an item that cannot be": {"type": "array", "minItems": 1, "items": {"not": True}},
    "a constant of another type": {"type": "object", "const": "x"},
    "options of another type": {"type": "object", "enum": ["x", 1, None]},
    "two constants": {"allOf": [{"const": 1}, {"const": 2}]},
    "a constant that no option is": {"enum": [True, "1"], "const": 1},
    "every option is impossible": {"anyOf": [False, {"not": {}}, {"type": "string", "minLength": 1, "maxLength": 0}]},
    "every option contradicts the rest": {"type": "object", "oneOf": [{"type": "string"}, {"type": "null"}]},
    "options within options": {"type": "string", "anyOf": [{"anyOf": [{"type": "null"}, {"type": "array"}]}]},
}


@pytest.mark.parametrize("schema", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_no_value_can_meet(schema: object) -> None:
    assert not can_be_met(compiled(schema))


POSSIBLE: dict[str, Any] = {  # Any: JSON Schemas
    "true": True,
    "an optional member that cannot be": OBJECT | {"properties": {"a": False}},
    "an empty list of what cannot be": {"type": "array", "items": False},
    "bounds of another type": {"type": ["string", "number"], "minimum": 2, "maximum": 1},
    "bounds that meet": {"type": "number", "minimum": 1, "maximum": 1},
    "a whole number written as a fraction": {"type": "integer", "const": 1.0},
    "one option that can be": {"type": "object", "anyOf": [False, {"required": ["a"]}]},
    "a required member that a pattern may allow": OBJECT
    | {"required": ["a"], "patternProperties": {"^a": {}}, "additionalProperties": False},
    "a member closed in a part, declared beside it": OBJECT
    | {"required": ["a"], "allOf": [{"properties": {"a": {}}, "additionalProperties": False}]},
    "a tree of itself": OBJECT | {"properties": {"next": {"$ref": "#"}}},
    "a circle of references": {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}},
    "what draft-07 ignores beside a reference": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/a",
        "type": "string",
        "definitions": {"a": {"type": "object"}},
    },
    "a draft in which exclusiveMinimum is a word beside minimum": {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "number",
        "minimum": 1,
        "exclusiveMinimum": True,
    },
}


@pytest.mark.parametrize("schema", POSSIBLE.values(), ids=POSSIBLE)
def test_nothing_is_said_against(schema: object) -> None:
    assert can_be_met(compiled(schema))


def test_schemas_are_judged_together_each_with_its_own_references() -> None:
    whole = {
        "$ref": "#/$defs/A",
        "$defs": {"A": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}},
    }
    text = {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"n": {"type": "string"}}}}}
    other = {"type": "object", "properties": {"m": {"type": "string"}}}
    assert not can_be_met(compiled(whole), compiled(text))
    assert can_be_met(compiled(whole), compiled(other))


def test_a_schema_that_takes_long_is_given_up_on() -> None:
    choices = [{"anyOf": [{"required": [f"a{n}"]}, {"required": [f"b{n}"]}]} for n in range(40)]
    assert can_be_met(compiled({"type": "object", "allOf": choices, "maxProperties": 39}))


SCALARS = st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from((0.5, 1.0, "", "a", "ab"))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
TYPES = st.sampled_from(("null", "boolean", "object", "array", "number", "string", "integer"))
COUNTS = st.integers(0, 3)


def schemas_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:  # Any: JSON Schemas
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "required": st.lists(st.sampled_from("ab"), max_size=2, unique=True),
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(("^a", "b")), inner, max_size=1),
            "items": inner,
            "minItems": COUNTS,
            "maxItems": COUNTS,
            "minLength": COUNTS,
            "maxLength": COUNTS,
            "minProperties": COUNTS,
            "maxProperties": COUNTS,
            "minimum": st.integers(-1, 2),
            "maximum": st.integers(-1, 2),
            "exclusiveMinimum": st.integers(-1, 2),
            "exclusiveMaximum": st.integers(-1, 2),
            "enum": st.lists(VALUES, max_size=2),
            "const": VALUES,
            "not": inner,
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "$ref": st.sampled_from(("#/$defs/a", "#/$defs/b")),
        },
    )


SCHEMAS = st.recursive(st.booleans() | schemas_of(st.booleans()), schemas_of, max_leaves=3)
DRAFTS = st.sampled_from(("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"))


@given(schemas_of(SCHEMAS), st.fixed_dictionaries({"a": SCHEMAS, "b": SCHEMAS}), DRAFTS, st.lists(VALUES, max_size=8))
def test_what_is_called_impossible_accepts_no_value(
    schema: dict[str, Any], definitions: dict[str, Any], draft: str, values: list[object]
) -> None:  # Any: JSON Schemas
    whole = compile_schema(json.dumps({**schema, "$defs": definitions, "$schema": draft}).encode())
    assume(isinstance(whole, CompiledSchema) and whole.validator is not None)
    assert isinstance(whole, CompiledSchema)
    assert isinstance(whole.validator, jsonschema_rs.Validator)
    if not can_be_met(whole):
        assert [value for value in [None, True, 0, 0.5, "", "a", [], {}, *values] if whole.is_valid(value)] == []
