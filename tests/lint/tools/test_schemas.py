"""Schemas of one tool: what cannot be compiled, where references lead, and what a handler may return."""

import json

import pytest

from handfast.lint.tools.definitions import ResultType
from handfast.lint.tools.schemas import find_output_faults, find_result_faults, find_stray_references

OUT = "This reference leads out of the schema."
NOWHERE = "This reference leads nowhere."


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"$ref": "#"}, []),
        ({"$ref": "#/$defs/a", "$defs": {"a": {}}}, []),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a b": {}}}, []),
        ({"$ref": "#named", "$defs": {"a": {"$anchor": "named"}}}, []),
        ({"$ref": "#/$defs/b", "$defs": {"a": {}}}, [("$ref", NOWHERE)]),
        ({"$ref": "other.json#/a"}, [("$ref", OUT)]),
        ({"$ref": "//[", "items": {"$ref": "http://example.com/x"}}, [("$ref", OUT), ("items/$ref", OUT)]),
        ({"$id": "https://example.com/me", "$ref": "https://example.com/me#/$defs/a", "$defs": {"a": {}}}, []),
        ({"$id": "https://example.com/me", "$ref": "you", "$defs": {"a": {"$id": "you"}}}, []),
        ({"$id": "https://example.com/me", "$ref": "them", "$defs": {"a": {"$id": "you"}}}, [("$ref", OUT)]),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, []),
        ({"properties": {"$ref": {"type": "string"}}, "const": {"$ref": "#/x"}}, []),
        ({"$ref": 7}, []),
    ],
)
def test_references_that_lead_astray_are_told_with_their_place(schema: object, expected: list[tuple[str, str]]) -> None:
    assert [(path, message) for _, path, message in find_stray_references(schema)] == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{", "The schema is not valid JSON."),
        (b"[]", "The schema is neither an object nor a boolean."),
        (
            b'{"type": "object", "type": "object"}',
            "The schema has the same key twice in one object, so readers may disagree about it.",
        ),
        (b'{"maximum": NaN}', "The schema contains NaN or Infinity, which JSON does not have."),
        (b'{"type": "thing"}', "The schema is not valid at #/type."),
        (b'{"pattern": "(x"}', "The pattern at #/pattern is not a valid regular expression."),
    ],
)
def test_why_a_schema_cannot_be_compiled_is_told_in_the_compilers_words(text: bytes, reason: str) -> None:
    found = [fault for fault in find_output_faults(text) if fault[0] != "tool-output-root"]
    assert found == [("tool-schema-uncompilable", "", reason)]


@pytest.mark.parametrize(
    ("promised", "returned", "is_fault"),
    [
        ({"type": "object", "required": ["id"]}, {"type": "integer"}, True),
        (
            {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
            {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
            True,
        ),
        ({"type": "object", "additionalProperties": False}, {"type": "object", "required": ["id"]}, True),
        ({"type": "object", "required": ["id"]}, {"type": "object"}, False),
        ({"type": "object"}, {"anyOf": [{"type": "object"}, {"type": "null"}]}, False),
        ({"type": "object"}, True, False),
        (False, {"type": "object"}, False),  # another finding says so
        ({"type": "thing"}, {"type": "object"}, False),  # as above
    ],
)
def test_an_output_schema_must_be_able_to_hold_what_the_handler_returns(
    promised: object, returned: object, is_fault: bool
) -> None:
    found = list(find_result_faults(ResultType(json.dumps(promised).encode(), json.dumps(returned).encode())))
    expected = [("tool-result-type", "", "Nothing that the handler may return can meet this schema.")]
    assert found == (expected if is_fault else [])
