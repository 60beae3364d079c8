"""Violations are told in our own words, with nothing in them that the caller sent."""

import json
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

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
        ({"contains": {"const": 1}}, [2], "must have an item of the kind the schema asks for (1)"),
        ({"prefixItems": [True], "unevaluatedItems": False}, [1, 2, 3], "has 2 items too many"),
        ({"not": {"type": "string"}}, "s3cret", "must not be a string"),
        ({"not": {"const": "admin"}}, "admin", "must not be 'admin'"),
        ({"not": {"enum": [1, 2]}}, 2, "must not be one of 1, 2"),
        ({"not": {"type": "string", "minLength": 2}}, "s3cret", "is of a kind the schema rules out"),
        (
            {"contains": {"const": "x"}, "minContains": 2},
            ["x"],
            "must have at least 2 items of the kind the schema asks for ('x')",
        ),
        (
            {"contains": {"const": "x"}, "maxContains": 1},
            ["x", "x"],
            "must have at most 1 item of the kind the schema asks for ('x')",
        ),
        (
            {"properties": {"a": True}, "patternProperties": {"^X-": True, "^Y-": True}, "additionalProperties": False},
            {"s3cret": 1},
            "has 1 property that is not allowed, allowed: 'a' and names that match ^X- or ^Y-",
        ),
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
        (TAGGED, {"kind": "c", "x": "no"}, "kind: must be one of 'a', 'b'"),
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
        Fact("/lines/0/sku", "required", {"type": "string"}),
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


JOINED = {
    "type": "object",
    "allOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
        {"$ref": "#/$defs/C"},
    ],
    "unevaluatedProperties": False,
    "$defs": {"C": {"properties": {"colour": {"type": "string"}}}},
}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"a": 1, "b": 2}, ("a: must be a string, not an integer",)),
        ({"a": "x"}, ("must have the property 'b' (an integer)",)),
        (
            {"a": "x", "b": 1, "color": 2},
            ("has 1 property that is not allowed: 'color' (did you mean 'colour'?), allowed: 'a', 'b', 'colour'",),
        ),
        (
            {"a": 1, "b": 2, "zzz": 3},
            (
                "a: must be a string, not an integer",
                "has 1 property that is not allowed: 'zzz', allowed: 'a', 'b', 'colour'",
            ),
        ),
    ],
)
def test_a_declared_name_is_never_called_not_allowed(value: object, told: tuple[str, ...]) -> None:
    assert words(JOINED, value, show_names=True) == told
    parts = compiled(JOINED).describe_parts(value, show_names=True)
    assert Fact("/a", "unevaluatedProperties") not in [fact for part in parts for fact in part.facts]


def test_a_declared_name_that_only_an_alternative_judges_is_said_to_be_unfit() -> None:
    schema = {
        "anyOf": [
            {"properties": {"a": {"type": "string"}}},
            {"properties": {"b": {"type": "integer"}, "a": {"type": "string"}}},
        ],
        "unevaluatedProperties": False,
    }
    value = {"a": "x", "b": "s3cret"}
    assert words(schema, value) == ("has a property that does not fit what is declared: 'b' (an integer)",)
    (part,) = compiled(schema).describe_parts(value, show_names=True)
    assert part.facts == (Fact("/b", "unevaluatedProperties"),)


def closed(required: list[str], **properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


INTEGER, STRING = {"type": "integer"}, {"type": "string"}
CAT = closed(["kind", "lives"], kind={"const": "cat"}, lives=INTEGER)
DOG = closed(["kind", "breed"], kind={"const": "dog"}, breed=STRING)
BY_ENUM = closed(["kind", "lives"], kind={"enum": ["cat"]}, lives=INTEGER)
PETS = {"oneOf": [BY_ENUM, {"$ref": "#/$defs/Dog"}], "$defs": {"Dog": DOG}}
UNTAGGED = {"anyOf": [closed(["id"], id=INTEGER), closed(["name"], name=STRING, note=STRING)]}
TITLED = {"oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}
NEEDS_ONE = {"properties": {"id": INTEGER, "x": STRING}, "anyOf": [{"required": ["id"]}, {"required": ["name", "x"]}]}
MISSING_TAG = "must have the property 'kind' (one of 'cat', 'dog')"


@pytest.mark.parametrize("schema", [{"oneOf": [CAT, DOG]}, PETS])
@pytest.mark.parametrize(
    ("value", "told", "fact"),
    [
        ({"kind": "bird"}, "kind: must be one of 'cat', 'dog'", Fact("/kind", "enum", ["cat", "dog"])),
        ({"lives": 9}, MISSING_TAG, Fact("/kind", "required", {"enum": ["cat", "dog"]})),
        ({"kind": "cat", "lives": "9"}, "lives: must be an integer, not a string", Fact("/lives", "type", "integer")),
    ],
)
def test_a_wrong_tag_is_named_and_of_a_right_one_its_alternative(
    schema: object, value: object, told: str, fact: Fact
) -> None:
    (part,) = compiled(schema).describe_parts(value, show_names=True)
    assert str(part) == told
    assert part.facts == (fact,)


@pytest.mark.parametrize(
    ("schema", "value", "told", "expected"),
    [
        (TITLED, "c", "must be one of 'a', 'b'", ["a", "b"]),
        (NEEDS_ONE, {}, "must have the properties 'id' (an integer) or 'name' and 'x' (a string)", UNSET),
        (UNTAGGED, {"id": "3"}, "id: must be an integer, not a string", "integer"),
        (UNTAGGED, {"note": "x"}, "must have the property 'name' (a string)", {"type": "string"}),
        ({"anyOf": [INTEGER, {"type": "null"}]}, "x", "must be an integer or null, not a string", ["integer", "null"]),
    ],
)
def test_of_alternatives_what_was_meant_is_told(schema: object, value: object, told: str, expected: object) -> None:
    (part,) = compiled(schema).describe_parts(value, show_names=True)
    assert str(part) == told
    assert [fact.expected for fact in part.facts] == [expected]


def test_alternatives_that_nothing_tells_apart_are_said_in_brief() -> None:
    none = "fits none of the {} alternatives allowed here"
    each = "an object with 'id' (an integer), or an object with 'name' (a string)"
    assert words(UNTAGGED, {"nam": "x"}) == (f"{none.format(2)}: {each}",)
    (text,) = words({"anyOf": [closed([f"f{n}"], **{f"f{n}": STRING}) for n in range(9)]}, {"nam": "x"})
    assert text.endswith(", or an object with 'f2' (a string), ...")
    long = [closed([f"{number}{letter * 50}" for number in range(4)]) for letter in "xy"]
    assert words({"anyOf": long}, {"nam": "x"}) == (none.format(2),)


BY_TYPE = {
    "properties": {"type": {"enum": ["a", "b"]}, "x": INTEGER, "y": STRING, "card": STRING},
    "required": ["type"],
    "if": {"properties": {"type": {"const": "a"}}},
    "then": {"required": ["x"]},
    "else": {"$ref": "#/$defs/Else"},
    "dependentSchemas": {"card": {"required": ["y"]}},
    "$defs": {"Else": {"required": ["y"]}},
}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"type": "a"}, "must have the property 'x' (an integer)"),
        ({"type": "b"}, "must have the property 'y' (a string)"),
        ({"type": "a", "x": 1, "card": "c"}, "must have the property 'y' (a string)"),
        # A wrong tag decides nothing, so nothing is demanded for it.
        ({"type": "c"}, "type: must be one of 'a', 'b'"),
    ],
)
def test_what_depends_on_another_value_is_named_with_its_kind(value: object, told: str) -> None:
    assert words(BY_TYPE, value) == (told,)


def test_of_many_options_the_nearest_is_named_to_who_sent_one() -> None:
    many = {"enum": [*(f"option_{number:02}_of_many" for number in range(28)), "published"]}
    (text,) = words(many, "publish", show_names=True)
    assert text.endswith(", ... (did you mean 'published'?)")
    assert len(text) < 200
    assert words(many, "publish") == words(many, "s3cret")  # of a result nothing is said that its value shows


def test_a_pattern_is_whole_or_said_to_be_cut() -> None:
    assert words({"pattern": f"^[a-z]{'x' * 140}$"}, "A") == (f"must match the pattern ^[a-z]{'x' * 140}$",)
    (text,) = words({"pattern": "^[a-z]" + "x" * 300}, "A")
    assert text == f"must match the pattern that begins with ^[a-z]{'x' * 58} and has 306 characters"


def test_violations_beyond_the_fifth_are_counted() -> None:
    names = [f"f{number}" for number in range(12)]
    told = words({"required": names}, {})
    assert told[3:] == ("must have the property 'f3'", "must have the property 'f4'; and 7 more")
    assert words({"items": {"type": "string"}}, list(range(300)))[-1].endswith("; and many more")


SECRET_OPTION = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789AAAA"


@pytest.mark.parametrize(
    ("schema", "value", "fact"),
    [
        ({"properties": {"a": False}}, {"a": 1}, Fact("/a", "false")),
        ({"properties": {"items": False}}, {"items": 1}, Fact("/items", "false")),
        ({"items": False}, [1], Fact("/0", "items")),
        (False, 1, Fact("", "false")),
        ({"propertyNames": {"pattern": "^[a-z]+$"}}, {"AB": 1}, Fact("/AB", "propertyNames", {"pattern": "^[a-z]+$"})),
        ({"const": None}, 1, Fact("", "const", None)),
        ({"not": {"const": "x"}}, "x", Fact("", "not", {"const": "x"})),
        ({"contains": {"const": 1}, "minContains": 2}, [1], Fact("", "minContains", 2)),
        ({"enum": [SECRET_OPTION, "b"]}, "c", Fact("", "enum", ["[redacted]", "b"])),
        (
            {"properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"], "$defs": {"A": STRING}},
            {},
            Fact("/a", "required", STRING),
        ),
        ({"enum": ["x" * 400]}, "c", Fact("", "enum")),
    ],
)
def test_a_fact_says_what_the_text_says_as_a_value(schema: object, value: object, fact: Fact) -> None:
    (part,) = compiled(schema).describe_parts(value, show_names=True)
    assert part.facts == (fact,)
    assert ("[redacted]" in part.text) == ("[redacted]" in str(fact.expected))


def test_null_is_a_value_that_a_fact_can_expect() -> None:
    facts = [Fact("", "const", None), Fact("", "minimum", 1), Fact("/a", "false")]
    assert json.loads(msgspec.json.encode(facts)) == [
        {"pointer": "", "rule": "const", "expected": None},
        {"pointer": "", "rule": "minimum", "expected": 1},
        {"pointer": "/a", "rule": "false"},
    ]
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(facts), type=list[Fact]) == facts
