"""Violations are told in our own words, with nothing in them that the caller sent."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handfast.core.schema.compiled import CompiledSchema, compile_schema
from handfast.core.words.wording import Fact, Wording
from tests.core.schema.test_compiled import json_values
from tests.core.schema.test_weight import ISSUE


def compiled(schema: object) -> CompiledSchema:
    result = compile_schema(json.dumps(schema).encode())
    assert isinstance(result, CompiledSchema), result
    return result


def words(schema: object, value: object, *, show_names: bool = False) -> tuple[str, ...]:
    return compiled(schema).describe(value, show_names=show_names)


TAGGED = {
    "oneOf": [
        {"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}},
        {"properties": {"kind": {"const": "b"}, "x": {"type": "boolean"}}},
    ]
}


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "integer"}, "s3cret", "must be an integer, not a string"),
        ({"type": ["integer", "null"]}, True, "must be an integer or null, not a boolean"),
        ({"type": "string"}, 1.5, "must be a string, not a number"),
        ({"type": "string"}, None, "must be a string, not null"),
        ({"required": ["id"]}, {}, "must have the property 'id'"),
        ({"properties": {}, "additionalProperties": False}, {"s3cret": 1}, "has 1 property that is not allowed"),
        ({"unevaluatedProperties": False}, {"a": 1, "b": 2}, "has 2 properties that are not allowed"),
        ({"additionalProperties": False}, {"s3cret": 1}, "has properties, and none are allowed"),
        ({"enum": ["open", "closed", None]}, "s3cret", "must be one of 'open', 'closed', null"),
        ({"enum": list("abcdefghij")}, "s3cret", "must be one of 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'"),
        ({"const": {"a": 1}}, "s3cret", 'must be {"a": 1}'),
        ({"pattern": "^[a-z]$"}, "S3", "must match the pattern ^[a-z]$"),
        ({"minimum": 1}, 0, "must be at least 1"),
        ({"maximum": 1.5}, 2, "must be at most 1.5"),
        ({"exclusiveMinimum": 1}, 1, "must be more than 1"),
        ({"exclusiveMaximum": 1}, 1, "must be less than 1"),
        ({"multipleOf": 5}, 7, "must be a multiple of 5"),
        ({"minLength": 1}, "", "must have at least 1 character"),
        ({"maxLength": 2}, "s3cret", "must have at most 2 characters"),
        ({"minItems": 2}, [], "must have at least 2 items"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 item"),
        ({"minProperties": 1}, {}, "must have at least 1 property"),
        ({"maxProperties": 0}, {"s3cret": 1}, "must have at most 0 properties"),
        ({"uniqueItems": True}, [1, 1], "must not have the same item twice"),
        ({"contains": {"const": 1}}, [2], "must have an item of the kind the schema asks for"),
        ({"prefixItems": [True], "unevaluatedItems": False}, [1, 2, 3], "has 2 items too many"),
        ({"not": {"type": "string"}}, "s3cret", "is of a kind the schema rules out"),
        (False, "s3cret", "is not allowed here"),
        (
            {"propertyNames": {"maxLength": 3}},
            {"s3cret": 1},
            "has a property whose name must have at most 3 characters",
        ),
        ({"propertyNames": {"type": "null"}}, {"s3cret": 1}, "has properties, and none are allowed"),
        ({"oneOf": [{}, {}]}, 1, "fits more than one of the alternatives, where it must fit exactly one"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "must be a string or null, not an integer"),
        ({"anyOf": [{"minimum": 5}, {"multipleOf": 7}]}, 1, "fits none of the 2 alternatives allowed here"),
        (TAGGED, {"kind": "a", "x": "no"}, "x: must be an integer, not a string"),
        (TAGGED, {"kind": "c", "x": "no"}, "fits none of the 2 alternatives allowed here"),
        ({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "null"}]}, "ab", "must have at most 1 character"),
    ],
)
def test_a_violation_is_told_in_our_own_words(schema: object, value: object, text: str) -> None:
    assert words(schema, value) == (text,)


def test_a_path_shows_indexes_and_declared_names_only() -> None:
    schema = {
        "properties": {"items": {"items": {"properties": {"id": {"type": "integer"}}}}},
        "additionalProperties": {"type": "string"},
    }
    value = {"items": [{"id": "x"}], "s3cret": 1}
    assert words(schema, value) == (
        "items/0/id: must be an integer, not a string",
        "*: must be a string, not an integer",
    )
    parts = compiled(schema).describe_parts(value)
    assert parts[0] == Wording("items/0/id", "must be an integer, not a string")


def test_the_alternative_that_was_meant_is_the_one_described() -> None:
    value = {"total": 1, "issues": [{"number": 1, "state": "open", "author": {"id": 1, "login": "a"}, "assignee": {}}]}
    assert words(ISSUE, value) == (
        "issues/0/assignee: must have the property 'id' (an integer)",
        "issues/0/assignee: must have the property 'login' (a string)",
    )


def test_undeclared_names_are_shown_only_on_request_and_then_scrubbed() -> None:
    schema = {"properties": {}, "additionalProperties": False}
    value = {"a\x1b[31m\nb": 1, "x" * 100: 2}
    assert words(schema, value) == ("has 2 properties that are not allowed",)
    shown = "has 2 properties that are not allowed: 'a?[31m?b', '" + "x" * 61 + "...'"
    assert words(schema, value, show_names=True) == (shown,)


CLOSED = {
    "properties": {
        "lines": {"items": {"$ref": "#/$defs/Line"}},
        "owner": {"anyOf": [{"$ref": "#/$defs/Line"}, {"type": "null"}]},
    },
    "$defs": {
        "Line": {
            "type": "object",
            "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}, "due": {"format": "date"}},
            "required": ["sku"],
            "additionalProperties": False,
        }
    },
}


def test_a_nested_key_that_is_not_allowed_is_named_with_what_is() -> None:
    assert words(CLOSED, {"lines": [{"sku": "a", "cuont": 1}]}, show_names=True) == (
        "lines/0: has 1 property that is not allowed: 'cuont' (did you mean 'count'?), allowed: 'sku', 'count', 'due'",
    )
    two = {"lines": [{"sku": "a", "cuont": 1, "zzz": 2}]}
    shown = "'cuont', 'zzz' (did you mean 'count' for 'cuont'?), allowed: 'sku', 'count', 'due'"
    assert words(CLOSED, two, show_names=True) == (f"lines/0: has 2 properties that are not allowed: {shown}",)


def test_every_fault_of_a_nullable_object_is_worded() -> None:
    assert words(CLOSED, {"owner": {"count": "x"}}) == (
        "owner/count: must be an integer, not a string",
        "owner: must have the property 'sku' (a string)",
    )


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "integer"}, "an integer"),
        ({"type": ["string", "null"]}, "a string or null"),
        ({"enum": ["a", "b"]}, "one of 'a', 'b'"),
        ({"const": 1}, "1"),
        ({"type": "string", "format": "date"}, "a date such as 2026-03-01"),
        ({"type": "array", "items": {"type": "number"}}, "an array of numbers"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, "a boolean"),
        ({"$ref": "#/$defs/N"}, "a number"),
    ],
)
def test_what_is_missing_is_named_with_its_kind(schema: object, kind: str) -> None:
    whole = {"properties": {"x": schema}, "required": ["x"], "$defs": {"N": {"type": "number"}}}
    assert words(whole, {}) == (f"must have the property 'x' ({kind})",)


def test_options_are_listed_within_a_bound_of_characters() -> None:
    options = [f"option-{number:03}" for number in range(100)]
    (text,) = words({"enum": options}, "s3cret")
    assert text.startswith("must be one of 'option-000', 'option-001', ")
    assert text.endswith(", ...")
    assert 250 < len(text) < 330
    assert words({"enum": ["x" * 60]}, 1) == (f"must be one of '{'x' * 60}'",)


def test_violations_are_facts_for_programs_as_well() -> None:
    value = {"lines": [{"count": "s3cret", "cuont": 1}, {"sku": "a", "due": 1}]}
    parts = compiled({**CLOSED, "required": ["a/b"]}).describe_parts(value, show_names=True)
    assert [fact for part in parts for fact in part.facts] == [
        Fact("/lines/0/count", "type", "integer"),
        Fact("/lines/0/sku", "required", "a string"),
        Fact("/lines/0/cuont", "additionalProperties"),
        Fact("/a~1b", "required"),
    ]


def test_formats_are_a_rule_only_where_they_are_asserted() -> None:
    schema = compiled({"properties": {"due": {"type": "string", "format": "date"}}})
    assert schema.is_valid({"due": "17.03.2026"})
    assert not schema.asserting.is_valid({"due": "17.03.2026"})
    assert schema.asserting.is_valid({"due": "2026-03-17"})
    assert schema.asserting.describe({"due": "17.03.2026"}) == ("due: must be a date such as 2026-03-01",)
    (part,) = schema.asserting.describe_parts({"due": "17.03.2026"})
    assert part.facts == (Fact("/due", "format", "date"),)


def test_a_schema_without_formats_is_not_compiled_twice() -> None:
    schema = compiled({"type": "object"})
    assert schema.asserting is schema
    asserting = compiled({"format": "date"}).asserting
    assert asserting.asserting is asserting


def test_at_most_five_violations_are_told_and_none_twice() -> None:
    assert len(words({"items": {"type": "string"}}, list(range(20)))) == 5
    assert words({"allOf": [{"type": "string"}, {"type": "string"}]}, 1) == ("must be a string, not an integer",)


MARK = "s3cret"
KEYWORDS = st.sampled_from(
    [
        {"type": "integer"},
        {"enum": [1]},
        {"const": 1},
        {"pattern": "^q$"},
        {"maxLength": 1},
        {"propertyNames": {"const": "q"}},
        {"additionalProperties": False},
        {"unevaluatedProperties": False},
        {"properties": {}, "additionalProperties": False},
        {"additionalProperties": {"type": "null"}},
        {"patternProperties": {"": False}},
        {"not": {}},
        {"anyOf": [{"type": "null"}, {"additionalProperties": {"type": "null"}}]},
        {"oneOf": [{}, {}]},
        {"contains": {"const": 1}},
        {"items": {"enum": [2]}},
        {"minProperties": 9, "minItems": 9},
        {"dependentRequired": {MARK: ["q"]}},
        False,
    ]
)


def marked(value: Any) -> Any:  # Any: JSON values
    if isinstance(value, dict):
        return {MARK + name: marked(item) for name, item in value.items()} | {MARK: MARK}
    if isinstance(value, list):
        return [marked(item) for item in value]
    return MARK + value if isinstance(value, str) else 31415926 if isinstance(value, int | float) else value


@settings(max_examples=150, deadline=None)
@given(st.lists(KEYWORDS, min_size=1, max_size=4), json_values)
def test_nothing_the_caller_sent_is_ever_told(keywords: list[Any], value: Any) -> None:  # Any: drawn JSON
    told = " ".join(words({"allOf": keywords}, marked(value)))
    assert MARK not in told
    assert "31415926" not in told


@pytest.mark.requirement("C1")
@settings(max_examples=100, deadline=None)
@given(st.lists(KEYWORDS, min_size=1, max_size=30), json_values)
def test_words_that_fit_in_place_come_quickly(keywords: list[Any], value: Any) -> None:  # Any: drawn JSON
    schema = compiled({"allOf": keywords, "items": {"$ref": "#"}})
    if not schema.words_fit_in_place(value):
        return
    started = time.process_time()
    schema.describe(value)
    # 10 ms is what was measured at worst; a busy machine gets more.
    assert time.process_time() - started < 0.1
