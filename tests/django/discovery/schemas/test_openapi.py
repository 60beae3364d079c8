"""OpenAPI's dialect as JSON Schema."""

import pytest

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.schemas.openapi import from_openapi, query_parameters
from handfast.django.discovery.tool import QueryParameter


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
