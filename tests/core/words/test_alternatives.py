"""Alternatives in words, called directly."""

from typing import Any

from handfast.core.words.alternatives import Tag, brief, lacking, options_of, tag_of, wrong_tag
from handfast.core.words.schema_parts import SchemaParts

STRING = {"type": "string"}


def tagged(value: object, *required: str) -> dict[str, Any]:  # Any: JSON Schema
    return {"properties": {"kind": {"const": value}, "x": STRING}, "required": list(required)}


def test_options_are_listed_only_if_each_alternative_is_some() -> None:
    assert options_of([{"const": "a"}, {"enum": ["b", None]}]) == ["a", "b", None]
    assert options_of([{"const": "a"}, STRING]) == []
    assert options_of([]) == []


def test_a_tag_has_another_value_in_each_alternative() -> None:
    assert tag_of([tagged("a", "kind"), tagged("b", "kind"), {"type": "null"}]) == Tag("kind", ("a", "b"), True)
    assert tag_of([tagged("a"), tagged("b", "kind")]) == Tag("kind", ("a", "b"), False)
    assert tag_of([tagged("a"), tagged("a")]) is None
    assert tag_of([tagged("a"), STRING]) is None


def test_a_tag_is_at_fault_where_it_is_missing_or_none_of_the_options() -> None:
    needed = [tagged("a", "kind"), tagged("b", "kind")]
    missing, wrong = wrong_tag(needed, {"x": 1}), wrong_tag(needed, {"kind": "c"})
    assert missing is not None
    assert missing.text == "must have the property 'kind' (one of 'a', 'b')"
    assert wrong is not None
    assert wrong.text == "must be one of 'a', 'b'"
    assert wrong_tag(needed, {"kind": "a"}) is None
    assert wrong_tag(needed, "a") is None
    assert wrong_tag([tagged("a"), tagged("b")], {"x": 1}) is None  # it may be left out


def test_alternatives_in_brief_name_what_each_needs_and_are_bounded() -> None:
    parts = SchemaParts({})
    needs = {"properties": {"id": {"type": "integer"}}, "required": ["id"]}
    assert brief([needs, STRING], parts) == "an object with 'id' (an integer), or a string"
    assert brief([needs, {"minimum": 1}], parts) == ""
    assert brief([{"properties": {}}], parts) == ""
    assert brief([needs, {"type": "null"}], parts) == "an object with 'id' (an integer), or null"
    assert brief([STRING] * 4, parts) == "a string, ..."


def test_what_alternatives_lack_is_named() -> None:
    assert lacking([["id"], ["name"]], {"id": "an integer"}) == "must have the property 'id' (an integer) or 'name'"
    assert lacking([["a"], ["b", "c"]], {}) == "must have the properties 'a' or 'b' and 'c'"
    assert lacking([[f"n{n}"] for n in range(5)], {}).endswith("'n1' or 'n2' or ...")
