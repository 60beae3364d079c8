"""Ordinary schemas are light, bombs are not, and telling them apart is itself bounded."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handfast.core.schema.references import UnresolvedReference, read_references
from handfast.core.schema.weight import OVER, weigh

Schema = dict[str, Any]  # Any: schemas as authors write them


def weight(schema: object) -> int:
    return weigh(schema, read_references(schema), bound=1_000)


ISSUE: Schema = {
    "$defs": {
        "User": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "login": {"type": "string"}, "bot": {"type": "boolean"}},
            "required": ["id", "login"],
        }
    },
    "type": "object",
    "properties": {
        "total": {"type": "integer", "minimum": 0},
        "issues": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "state": {"type": "string", "enum": ["open", "closed"]},
                    "author": {"$ref": "#/$defs/User"},
                    "assignee": {"anyOf": [{"$ref": "#/$defs/User"}, {"type": "null"}]},
                    "labels": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
                    "created": {"type": "string", "format": "date-time"},
                },
                "required": ["number", "state", "author"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["total", "issues"],
}
EVENTS: Schema = {
    "type": "object",
    "properties": {
        "calendar": {"type": "string", "minLength": 1, "pattern": "^[a-z0-9-]{1,63}$"},
        "window": {
            "type": "object",
            "properties": {"from": {"type": "string"}, "to": {"type": "string"}},
            "required": ["from", "to"],
        },
        "kinds": {"type": "array", "items": {"enum": ["meeting", "focus", "travel", "holiday"]}},
        "limit": {"type": "integer", "minimum": 1, "maximum": 250, "default": 50},
        "repeat": {
            "oneOf": [
                {"type": "object", "properties": {"every": {"const": "day"}}, "required": ["every"]},
                {"type": "object", "properties": {"every": {"const": "week"}, "on": {"type": "array"}}},
                {"type": "null"},
            ]
        },
    },
    "required": ["calendar"],
}
TREE: Schema = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "left": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
                "right": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            },
            "additionalProperties": {"$ref": "#/$defs/Node"},
        }
    },
}


def doubling(levels: int) -> Schema:
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": twice | {f"d{levels}": {"type": "object"}}}


def unevaluated(levels: int) -> Schema:
    schema: Schema = {"properties": {"a": {}}}
    for _ in range(levels):
        schema = {"unevaluatedProperties": False, "allOf": [schema]}
    return schema


RECURSIVE_CHOICE: Schema = {
    "anyOf": [
        {"properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"properties": {"a": {"$ref": "#"}}, "required": ["b"]},
    ]
}
RECURSIVE_BY_ANCHOR: Schema = {
    "$dynamicAnchor": "node",
    "allOf": [{"items": {"$dynamicRef": "#node"}}, {"items": {"$dynamicRef": "#node"}}],
}
BOMBS: dict[str, Schema] = {
    "a recursive choice": RECURSIVE_CHOICE,
    "a recursive choice by anchor": RECURSIVE_BY_ANCHOR,
    "twenty nested unevaluated keywords": unevaluated(20),
    "doubling references": doubling(24),
    "a large enum of objects": {"enum": [{"a": number} for number in range(8_000)]},
    "a small enum of fractions": {"enum": [number / 7 for number in range(50)]},
    "resources of their own": {"$defs": {"x": {"$id": "https://example.com/x"}}, "$ref": "https://example.com/x"},
    "a loop beside an unevaluated keyword": {"anyOf": [{"$ref": "#", "unevaluatedProperties": False}, {}]},
    "a loop that goes nowhere": {"anyOf": [{"$ref": "#"}, {}]},
    "recursive comparison": {"uniqueItems": True, "items": {"$ref": "#"}},
    "an immense pattern": {"pattern": "(a{100}){100}"},
}


@pytest.mark.requirement("C1")
@pytest.mark.parametrize(("schema", "expected"), [(ISSUE, 61), (EVENTS, 18), (TREE, 4), ({}, 1), (True, 1)])
def test_an_ordinary_schema_weighs_well_under_the_bound(schema: object, expected: int) -> None:
    assert weight(schema) == expected


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_weighs_more_than_anyone_counts(name: str) -> None:
    assert weight(BOMBS[name]) == OVER


def test_the_weight_counts_evaluations_at_the_busiest_location() -> None:
    assert weight({"allOf": [{"type": "object"}, {"type": "object"}]}) == 3
    assert weight({"properties": {"a": {"anyOf": [{}, {}, {}]}, "b": {}}}) == 4
    assert weight({"properties": {"a": {}}, "patternProperties": {"^a": {}}}) == 4
    assert weight({"prefixItems": [{}, {"allOf": [{}]}], "items": {}}) == 3
    assert weight(doubling(3)) == 30
    assert weight(unevaluated(2)) == 21


def test_names_that_cannot_meet_are_not_added_up() -> None:
    assert weight({"properties": {f"p{number}": {"$ref": "#"} for number in range(50)}}) == 2


def test_a_reference_that_leads_nowhere_is_reported() -> None:
    with pytest.raises(UnresolvedReference):
        weight({"$ref": "#/$defs/missing"})


def test_a_reference_may_be_percent_encoded_and_name_any_place() -> None:
    assert weight({"$ref": "#/x/a~1b%25", "x": {"a/b%": {"allOf": [{}, {}]}}}) == 4


def schemas() -> st.SearchStrategy[Any]:  # Any: schemas as authors write them
    reference = st.sampled_from(["#", "#/$defs/x", "#/$defs/y", "#here"]).map(lambda ref: {"$ref": ref})
    leaf = st.one_of(reference, st.booleans(), st.sampled_from([{"type": "string"}, {"enum": [1, 2.5, {}]}]))

    def within(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:  # Any: as above
        several, named = st.lists(inner, max_size=4), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        keywords = dict.fromkeys(("not", "items", "unevaluatedProperties", "additionalProperties", "if"), inner)
        keywords |= dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), several)
        keywords |= dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), named)
        return st.fixed_dictionaries({}, optional=keywords)

    return st.recursive(leaf, within, max_leaves=40)


@pytest.mark.requirement("C1")
@settings(max_examples=60, deadline=None)
@given(schemas(), schemas(), schemas())
def test_any_schema_is_weighed_in_bounded_time(root: object, first: object, second: object) -> None:
    schema = {"allOf": [root], "$defs": {"x": first, "y": second, "z": {"$anchor": "here"}}}
    started = time.process_time()
    assert weight(schema) >= 1
    assert time.process_time() - started < 0.5
