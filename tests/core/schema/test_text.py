"""The text of a schema is decoded within bounds, and what readers may disagree about keeps every name."""

import json
import time

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.schema.text import (
    ANNOTATIONS,
    DEFAULT_BOUNDS,
    SchemaBounds,
    SchemaRefused,
    decode_checked,
    decode_schema,
    read_schema,
    strip_ballast,
    without_annotations,
)

NOTED = dict.fromkeys(ANNOTATIONS, "said")


@pytest.mark.parametrize("keyword", ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"])
def test_a_name_that_the_author_chose_is_no_annotation(keyword: str) -> None:
    named = {name: {"type": "integer", **NOTED} for name in ANNOTATIONS}
    assert without_annotations({keyword: named, **NOTED}) == {
        keyword: {name: {"type": "integer"} for name in ANNOTATIONS}
    }


@pytest.mark.parametrize("value", [{"enum": [NOTED]}, {"const": NOTED}, {"required": ["title"]}, {"x-own": NOTED}])
def test_data_and_what_a_reference_may_lead_into_stay_whole(value: dict[str, object]) -> None:
    assert without_annotations({"properties": {"a": {**value, **NOTED}}}) == {"properties": {"a": value}}


@pytest.mark.parametrize("keyword", ["not", "if", "items", "contains", "additionalProperties", "propertyNames"])
def test_they_are_taken_out_of_every_part(keyword: str) -> None:
    assert without_annotations({keyword: {"type": "string", **NOTED}}) == {keyword: {"type": "string"}}
    assert without_annotations({keyword: True}) == {keyword: True}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf", "prefixItems", "items"])
def test_they_are_taken_out_of_every_alternative(keyword: str) -> None:
    assert without_annotations({keyword: [{"type": "string", **NOTED}, False]}) == {
        keyword: [{"type": "string"}, False]
    }


TYPES = st.sampled_from(["string", "integer", "object", "array", "null"])
NAMES = st.sampled_from([*sorted(ANNOTATIONS), "a", "b"])
VALUES = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(["", "said"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
SCHEMAS = st.recursive(
    st.booleans()
    | st.fixed_dictionaries({"type": TYPES})
    | st.fixed_dictionaries({"const": VALUES, "title": st.just("t")}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "items": inner,
            "additionalProperties": inner,
            "description": st.just("said"),
            "default": VALUES,
        },
    ),
    max_leaves=6,
)


@given(SCHEMAS, VALUES)
def test_what_is_left_judges_every_value_as_before(schema: object, value: object) -> None:
    before = jsonschema_rs.Draft202012Validator(schema)  # type: ignore[arg-type]  # a schema, as drawn
    after = jsonschema_rs.Draft202012Validator(without_annotations(schema))
    assert before.is_valid(value) == after.is_valid(value)


pytestmark = pytest.mark.requirement("S3")

TWICE = "The schema has the same key twice in one object, so readers may disagree about it."


def test_of_two_equal_keys_the_names_of_both_are_kept() -> None:
    content, fault = decode_schema(
        b'{"properties": {"a": 1}, "type": 1, "properties": {"b": 2}, "type": 2}', DEFAULT_BOUNDS
    )
    assert (content, fault) == ({"properties": {"a": 1, "b": 2}, "type": 2}, TWICE)
    with pytest.raises(SchemaRefused, match="the same key twice"):
        read_schema(b'{"a": 1, "a": 1}')


def test_the_first_fault_is_told_and_names_are_read_all_the_same() -> None:
    deep = b'{"properties": {"a": ' + b'{"not":' * 80 + b"NaN" + b"}" * 80 + b"}}"
    content, fault = decode_schema(deep, DEFAULT_BOUNDS)
    assert (list(content["properties"]), fault) == (["a"], "The schema is nested more than 64 levels deep.")


@pytest.mark.parametrize("text", [b"[" * 501, b'{"a":' * 100_000, b'"' + b"x" * 1_048_576])
def test_what_could_hurt_the_decoder_is_not_decoded(text: bytes) -> None:
    with pytest.raises(SchemaRefused):
        decode_schema(text, DEFAULT_BOUNDS)


@pytest.mark.requirement("C1")
@pytest.mark.parametrize(
    "piece",
    [b"[],", b"0.1,", b'{"":0},', b'"\\n\\n\\n\\n",', b'{"a":1,"a":1},'],
    ids=["arrays", "floats", "objects", "escapes", "twice"],
)
def test_the_worst_text_within_the_bound_is_decoded_in_time(piece: bytes) -> None:
    text = b'{"x":[' + piece * (1_040_000 // len(piece)) + b"1]}"
    assert len(text) <= DEFAULT_BOUNDS.text_bytes
    started = time.process_time()
    decode_schema(text, DEFAULT_BOUNDS)
    assert time.process_time() - started < 3.0  # 0.2 by itself; a worker with much in memory collects more


def test_a_short_text_is_judged_as_it_is_and_a_long_one_without_annotations() -> None:
    short = {"title": "t", "type": "object"}
    assert strip_ballast(short, b"as it was", DEFAULT_BOUNDS) == (short, b"as it was")
    long = {"title": "é" * 20_000, "enum": ["é", 10**300]}
    judged, text = strip_ballast(long, json.dumps(long).encode(), DEFAULT_BOUNDS)
    assert judged == decode_checked(text) == {"enum": ["é", 10**300]}


def test_what_is_left_without_annotations_has_the_bound() -> None:
    bounds = SchemaBounds(bytes=100)
    fits = {"description": "x" * 300, "enum": ["x" * 80]}
    assert strip_ballast(fits, json.dumps(fits).encode(), bounds)[0] == {"enum": ["x" * 80]}
    over = {"description": "x" * 200, "enum": ["x" * 100]}
    with pytest.raises(SchemaRefused, match="larger than 100 bytes, not counting its annotations"):
        strip_ballast(over, json.dumps(over).encode(), bounds)
    with pytest.raises(SchemaRefused, match="text is larger than 400 bytes"):
        read_schema(json.dumps({"description": "x" * 400}).encode(), bounds)


def test_half_a_character_in_a_long_schema_is_refused() -> None:
    with pytest.raises(SchemaRefused, match="not valid Unicode"):
        strip_ballast({"const": "\ud800"}, b"x" * 20_000, DEFAULT_BOUNDS)
