"""What a schema declares at its root, and when its author left it open."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.schema.declared import read_declared

Schema = dict[str, Any]  # Any: schemas as authors write them


def declares(*names: str) -> Schema:
    return {"properties": {name: {} for name in names}}


@pytest.mark.requirement("000-14")
@pytest.mark.parametrize(
    "schema",
    [
        declares("b", "a"),
        {"$ref": "#/$defs/x", "$defs": {"x": declares("b", "a")}},
        {"allOf": [declares("b"), declares("a")]},
        {"anyOf": [declares("b"), True, declares("a", "b")]},
        {"oneOf": [declares("b"), declares("a")]},
        {"if": declares("b"), "then": declares("a"), "else": {}},
        {"properties": {"b": {}}, "dependentSchemas": {"b": declares("a")}},
        {"properties": {"b": {}}, "dependencies": {"b": declares("a"), "a": ["b"]}},
        {"$ref": "#here", "$defs": {"x": {"$anchor": "here", **declares("b", "a")}}},
        {**declares("b"), "allOf": [{"$ref": "#"}, {**declares("a"), "anyOf": [{"$ref": "#"}]}]},
    ],
)
def test_every_name_reachable_at_the_root_is_declared_in_schema_order(schema: Schema) -> None:
    declared = read_declared(schema)
    assert (declared.names, declared.is_open("data"), declared.declares_nothing_said) == (("b", "a"), False, False)


@pytest.mark.requirement("000-14")
def test_names_below_the_root_or_ruled_out_are_not_declared() -> None:
    schema = {"properties": {"a": declares("inner")}, "not": declares("never"), "$defs": {"x": declares("unused")}}
    assert read_declared(schema).names == ("a",)


@pytest.mark.requirement("000-14")
@pytest.mark.parametrize(
    ("schema", "is_open"),
    [
        ({"properties": {}}, False),
        ({"type": "object"}, True),
        (True, True),
        ({**declares("a"), "additionalProperties": True}, True),
        ({**declares("a"), "additionalProperties": {"type": "string"}}, True),
        ({**declares("a"), "additionalProperties": False}, False),
        ({**declares("a"), "unevaluatedProperties": {}}, True),
        ({**declares("a"), "unevaluatedProperties": False}, False),
        ({**declares("a"), "patternProperties": {"^da": {}}}, True),
        ({**declares("a"), "patternProperties": {"^x-": {}}}, False),
        ({**declares("a"), "allOf": [{"additionalProperties": True}]}, True),
        # What only the slow lane can match may be meant for any name.
        ({**declares("a"), "patternProperties": {"(?=x)": {}}}, True),
        ({**declares("a"), "patternProperties": {"(?=d)": {}, "^data$": {}}}, True),
    ],
)
def test_an_author_who_says_the_object_is_open_is_believed(schema: object, is_open: bool) -> None:
    assert read_declared(schema).is_open("data") is is_open


@pytest.mark.requirement("C1")
def test_a_catastrophic_pattern_is_asked_in_linear_time() -> None:
    declared = read_declared({**declares("a"), "patternProperties": {"^(x+x+)+y$": {}}})
    started = time.process_time()
    assert not declared.is_open("x" * 20_000)
    assert time.process_time() - started < 1


@pytest.mark.requirement("S3")
@pytest.mark.parametrize("reference", ["#/$defs/none", "https://example.com/x", "other.json#/a"])
def test_behind_a_reference_that_cannot_be_followed_more_may_be_declared(reference: str) -> None:
    at_the_root = read_declared({"$ref": reference, **declares("a")})
    assert (at_the_root.names, at_the_root.is_open("data")) == (("a",), True)
    in_an_option = read_declared({**declares("a"), "anyOf": [{"$ref": reference}, declares("b")]})
    assert (in_an_option.names, in_an_option.is_open("data")) == (("a", "b"), True)
    below = read_declared({"properties": {"a": {"$ref": reference}}})
    assert (below.names, below.is_open("data")) == (("a",), False)


@given(st.text())
def test_any_key_can_be_asked_about(key: str) -> None:
    assert read_declared({**declares("a"), "patternProperties": {"^b": {}}}).is_open(key) is key.startswith("b")


def test_a_lone_surrogate_matches_no_pattern() -> None:
    assert not read_declared({**declares("a"), "patternProperties": {".": {}}}).is_open("\ud800")
