"""What a schema says of a place: names and kinds, through references and alternatives, and never without end."""

from handfast.core.words.schema_parts import SchemaParts

LINE = {"properties": {"sku": {"type": "string"}, "parent": {"$ref": "#/$defs/Line"}}}
SCHEMA = {
    "properties": {"lines": {"items": {"anyOf": [{"$ref": "#/$defs/Line"}, {"type": "null"}]}}},
    "$defs": {"Line": LINE},
}


def test_names_are_found_at_a_place_in_the_value() -> None:
    parts = SchemaParts(SCHEMA)
    assert list(parts.properties_of((), {})) == ["lines"]
    assert list(parts.properties_of(("lines", 3, "parent", "parent"), {})) == ["sku", "parent"]
    assert parts.properties_of(("lines", 0, "sku"), {}) == {}
    assert parts.properties_of(("nowhere", 1), {}) == {}


def test_a_kind_is_named_where_one_alternative_is_left() -> None:
    parts = SchemaParts(SCHEMA)
    assert parts.kind({"oneOf": [{"type": "integer"}, {"type": "null"}]}) == "an integer"
    assert parts.kind({"oneOf": [{"type": "integer"}, {"type": "string"}]}) == ""
    assert parts.kind({"$ref": "https://example.com/x"}) == ""
    assert parts.kind(True) == ""


def test_a_schema_that_holds_itself_ends() -> None:
    parts = SchemaParts({"$ref": "#", "anyOf": [{"$ref": "#"}], "properties": {"a": {"$ref": "#"}}})
    assert list(parts.properties_of(("a", "a"), {})) == ["a"]
    assert parts.kind({"$ref": "#"}) == ""


def test_without_a_schema_nothing_is_said() -> None:
    assert SchemaParts(None).properties_of(("a",), {}) == {}
    assert SchemaParts(None).at(["a", 0]) is None


def test_an_alternative_that_a_tag_rules_out_says_nothing() -> None:
    cat = {"properties": {"kind": {"const": "cat"}, "name": {}}}
    parts = SchemaParts({"oneOf": [cat, {"properties": {"kind": {"const": "dog"}, "age": {}}}]})
    assert list(parts.properties_of((), {"kind": "cat"})) == ["kind", "name"]
    assert sorted(parts.properties_of((), {})) == ["age", "kind", "name"]
