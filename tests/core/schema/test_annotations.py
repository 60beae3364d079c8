"""Annotations are taken out where the drafts say that they are annotations, and nowhere else."""

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.schema.annotations import ANNOTATIONS, without_annotations

pytestmark = pytest.mark.requirement("S3")

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
