"""Undeclared names at any depth: found with their place, and judged as at the root."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.policy import InputPolicy, UnknownArguments
from handfast.core.call.undeclared import check_inside, find_undeclared, ignored_notice, read_tree

SCHEMA = {
    "type": "object",
    "properties": {
        "email": {"type": "string"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}},
        "site": {"oneOf": [{"type": "integer"}, {"type": "object", "properties": {"name": {"type": "string"}}}]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "extra": {"type": "object"},
        "map": {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
    },
    "$defs": {"Line": {"type": "object", "properties": {"sku": {}, "parent": {"$ref": "#/$defs/Line"}}}},
}
TREE = read_tree(SCHEMA)
OBJECTS = InputPolicy(unknown_arguments=UnknownArguments.REJECT_OBJECTS)
ALL = InputPolicy(unknown_arguments=UnknownArguments.REJECT_ALL)


def names(arguments: Mapping[str, object]) -> list[str]:
    return [one.name for one in find_undeclared(arguments, TREE)]


def test_what_is_declared_at_every_depth_is_not_found() -> None:
    good = {
        "email": "a",
        "address": {"city": "b"},
        "site": {"name": "hq-1"},
        "lines": [{"sku": 1, "parent": {"sku": 2, "parent": {}}}],
        "extra": {"any": {"thing": 1}},
        "map": {"b": "c"},
    }
    assert names(good) == []


def test_names_are_found_with_their_place_in_the_order_of_the_call() -> None:
    sent = {
        "bogus": 1,
        "address": {"data": {"city": "b"}, "zip": 1},
        "lines": [{}, {"parent": {"skuu": 1}}],
        "site": {"nam": "x"},
    }
    assert names(sent) == ["bogus", "address.data", "address.zip", "lines[1].parent.skuu", "site.nam"]


@pytest.mark.requirement("000-4")
@pytest.mark.requirement("000-14")
def test_an_object_below_the_root_is_refused_with_the_fields_of_its_own_place() -> None:
    found = list(find_undeclared({"address": {"data": {"city": "b"}, "zip": 1}}, TREE))
    violation = check_inside(found, OBJECTS)
    assert violation is not None
    assert violation.rule == "arguments.nested_wrapper"
    assert violation.message == (
        "Argument 'address.data' is not a declared field and its value is a nested object.\n"
        "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
        'Unwrap \'address.data\': send "city" directly, not inside "address.data".\n'
        'Declared fields: ["city"].'
    )


def test_scalars_below_the_root_pass_unless_everything_undeclared_is_refused() -> None:
    found = list(find_undeclared({"bogus": {}, "address": {"zip": 1}}, TREE))
    assert check_inside(found, OBJECTS) is None
    refused = check_inside(found, ALL)
    assert refused is not None
    assert refused.message.splitlines()[0] == (
        "Argument 'address.zip' is not a declared field. Remove it and call again."
    )


@pytest.mark.requirement("000-20")
def test_the_notice_names_what_was_passed_over() -> None:
    assert ignored_notice(list(find_undeclared({"bogus": 1, "address": {"zip": 2}}, TREE))) == (
        "Ignored arguments: bogus, address.zip"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*SCHEMA["properties"], "x"]), inner),
    max_leaves=12,
)


@given(JSON)
def test_any_value_can_be_looked_at_and_a_schema_that_says_nothing_finds_nothing(value: object) -> None:
    for one in find_undeclared(value, TREE):
        assert one.key not in one.place.names
    assert list(find_undeclared(value, read_tree({"type": "object"}))) == []


def test_what_was_sent_beside_a_wrapper_below_the_root_is_not_to_be_sent_again() -> None:
    inner = {"type": "object", "properties": {"city": {}}, "additionalProperties": False}
    tree = read_tree({"properties": {"address": inner}, "additionalProperties": False})
    found = list(find_undeclared({"address": {"city": "x", "data": {"city": "y"}}}, tree))
    violation = check_inside(found, InputPolicy())
    assert violation is not None
    assert "Remove 'address.data': \"city\" was sent already." in violation.message
