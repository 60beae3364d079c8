"""A schema taken apart: references, combinations, and what two schemas allow together."""

from collections import Counter
from typing import Any

import pytest

from handfast.toolkit.testing.generate.alternatives import MOST_ALTERNATIVES, Alternatives, both, same_json, types_of


def apart(schema: Any) -> list[Any]:
    return [each.schema for each in Alternatives(schema).of(schema, Counter())]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, [{}]),
        (False, []),
        ({"type": "string"}, [{"type": "string"}]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"}, 2),
        ({"allOf": [{"minimum": 1}, {"minimum": 3}], "maximum": 9}, [{"minimum": 3, "maximum": 9}]),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, []),
        ({"allOf": [{"enum": [1, 2]}, {"enum": [2, True]}]}, [{"enum": [2]}]),
        ({"allOf": [{"enum": [1]}, {"enum": [True]}]}, []),
        ({"oneOf": [{"anyOf": [{"minimum": 1}, {"minimum": 2}]}, {"minimum": 3}]}, 3),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "null"}}}, 1),
        ({"$ref": "#"}, []),
        ({"$ref": "https://example.com/other"}, [{}]),
        ({"anyOf": [False, {"minimum": 1}]}, [{"minimum": 1}]),
    ],
)
def test_a_schema_is_its_alternatives(schema: Any, expected: Any) -> None:
    found = apart(schema)
    assert (len(found) if isinstance(expected, int) else found) == expected


def test_combinations_of_combinations_are_bounded() -> None:
    choices = [{"anyOf": [{"minimum": each} for each in range(30)]} for _ in range(3)]
    assert len(apart({"allOf": choices})) == MOST_ALTERNATIVES


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"type": ["integer", "string"]}, {"type": "number"}, {"type": ["integer"]}),
        ({"required": ["a"]}, {"required": ["b", "a"]}, {"required": ["a", "b"]}),
        ({"maxLength": 3}, {"maxLength": 5}, {"maxLength": 3}),
        ({"uniqueItems": False}, {"uniqueItems": True}, {"uniqueItems": True}),
        ({"examples": [1]}, {"examples": [2]}, {"examples": [1, 2]}),
        ({"additionalProperties": False}, {"additionalProperties": {}}, {"additionalProperties": False}),
        (
            {"properties": {"a": {"minimum": 1}, "b": True}},
            {"properties": {"a": {"maximum": 2}}},
            {"properties": {"a": {"allOf": [{"minimum": 1}, {"maximum": 2}]}, "b": True}},
        ),
    ],
)
def test_two_schemas_are_one_that_asks_for_both(one: Any, other: Any, expected: Any) -> None:
    assert both(one, other) == expected


def test_types_are_those_that_are_said_or_that_the_keywords_let_guess() -> None:
    assert [types_of(each) for each in ({"type": "null"}, {"type": ["null", "string"]}, {"minItems": 1}, {})] == [
        ["null"],
        ["null", "string"],
        ["array"],
        ["anything"],
    ]


def test_json_values_are_the_same_when_their_texts_are() -> None:
    assert same_json({"a": 1, "b": [True]}, {"b": [True], "a": 1})
    assert not same_json(1, True)
    assert not same_json({"a": None}, {})
