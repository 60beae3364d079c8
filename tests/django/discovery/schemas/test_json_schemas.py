"""The pieces of generated schemas."""

import enum

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.schemas.json_schemas import (
    admits_null,
    described,
    from_openapi,
    nullable,
    object_schema,
    options,
    plain_default,
    plain_scalar,
    query_parameters,
    types_in,
)
from handfast.django.discovery.tool import QueryParameter

SCHEMAS: list[Json] = [
    {},
    {"type": "string"},
    {"type": ["string", "null"]},
    {"type": "string", "enum": ["a"]},
    {"anyOf": [{"type": "string"}, {"const": ""}]},
    {"oneOf": [{"type": "integer"}, {"type": "object"}]},
    {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
    {"const": 1},
]


@given(st.sampled_from(SCHEMAS), st.none() | st.text() | st.integers() | st.just({}))
def test_null_is_added_and_nothing_else_changes(schema: Json, value: object) -> None:
    expected = value is None or jsonschema_rs.is_valid(schema, value)
    assert jsonschema_rs.is_valid(nullable(schema), value) is expected


def test_a_schema_of_ours_knows_whether_it_admits_null() -> None:
    assert [admits_null(schema) for schema in SCHEMAS] == [True, False, True, False, False, False, False, False]
    assert all(admits_null(nullable(schema)) for schema in SCHEMAS if "oneOf" not in schema)


def test_options_are_listed_while_they_are_few() -> None:
    assert options(["a", "a", "b"]) == {"type": "string", "enum": ["a", "b"]}
    assert options([1, "a", True]) == {"type": ["integer", "string", "boolean"], "enum": [1, "a", True]}
    assert options([]) == {}
    assert options(range(41)) == {"type": "integer", "minimum": 0, "maximum": 40}
    assert options(str(number) for number in range(501)) == {"type": "string"}
    assert options([0.5 * number for number in range(9)]) == {"type": "number"}


class Text(str): ...


class Level(enum.Enum):
    LOW = 1


def test_a_scalar_is_what_json_has() -> None:
    plain = [plain_scalar(value) for value in (Text("a"), Level.LOW, None, True, 1.5, object)]
    assert plain == ["a", 1, None, True, 1.5, "<class 'object'>"]
    assert [type(value) for value in plain[:3]] == [str, int, type(None)]


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, float("inf"), {"a": [object()]}], ids=["object", "key", "infinity", "inside"]
)
def test_a_default_that_json_has_not_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="JSON has no such value"):
        plain_default(value)


def test_what_is_said_becomes_sentences_before_what_was_said() -> None:
    assert described({"description": "Old."}, "New  text", None, "", "Why?") == {"description": "New text. Why? Old."}
    assert described({"type": "null"}, None) == {"type": "null"}


def test_an_object_is_never_closed() -> None:
    assert object_schema({"a": {}}) == {"type": "object", "properties": {"a": {}}}
    assert object_schema({"a": {}}, ["a"]) == {"type": "object", "properties": {"a": {}}, "required": ["a"]}


def test_types_are_found_wherever_a_schema_names_them() -> None:
    nested = {"oneOf": [{"type": ["integer", "string"]}, {"anyOf": [{"type": "object"}, {"type": "null"}]}]}
    assert (types_in({}), types_in({"type": "string"})) == (set(), {"string"})
    assert types_in(nested) == {"integer", "string", "object", "null"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"type": "string", "nullable": True, "example": "x"}, {"type": ["string", "null"]}),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 1}),
        ({"type": "integer", "maximum": 1, "exclusiveMaximum": False}, {"type": "integer", "maximum": 1}),
        ({"type": "number", "exclusiveMaximum": True}, {"type": "number"}),
        ({"type": "number", "exclusiveMaximum": 5}, {"type": "number", "exclusiveMaximum": 5}),
        ({"$ref": "#/components/schemas/Contact"}, {}),
        ({"$ref": "#/$defs/all-items"}, {"$ref": "#/$defs/all-items"}),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string", "nullable": True}},
                "additionalProperties": False,
            },
            {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
        ),
        ({"additionalProperties": {"type": "string", "example": 1}}, {"additionalProperties": {"type": "string"}}),
        ({"type": "array", "items": {"oneOf": [{"example": 1}]}}, {"type": "array", "items": {"oneOf": [{}]}}),
        ("nonsense", {}),
    ],
)
def test_only_what_json_schema_knows_is_kept(written: object, meant: Json) -> None:
    assert from_openapi(written) == meant


def test_parameters_of_the_query_are_taken_and_others_are_not() -> None:
    written = [
        {"name": "a", "in": "query", "required": True, "description": "First", "schema": {"type": "string"}},
        {"name": "b", "schema": {"type": "array", "items": {"type": "integer"}}, "explode": False},
        {"name": "c", "in": "header", "schema": {"type": "string"}},
        {"in": "query"},
        "nonsense",
    ]
    assert query_parameters(written) == [
        QueryParameter("a", {"type": "string", "description": "First."}, "repeat", True),
        QueryParameter("b", {"type": "array", "items": {"type": "integer"}}, "comma", False),
    ]
