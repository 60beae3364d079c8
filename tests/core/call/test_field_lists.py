"""Names as a refusal lists them."""

from handfast.core.call.field_lists import declared_line, last_name, quoted_names
from handfast.core.schema.declared import read_declared


def test_names_are_quoted_scrubbed_and_bounded() -> None:
    assert quoted_names(["a", 'b"', "c\x00"]) == r'"a", "b\"", "c?"'
    assert quoted_names(f"f{number}" for number in range(30)).endswith('"f19", ...')


def test_what_is_declared_is_one_line() -> None:
    assert (
        declared_line(read_declared({"properties": {"email": {}, "name": {}}})) == 'Declared fields: ["email", "name"].'
    )


def test_the_last_name_of_a_place() -> None:
    assert (last_name("lines[0].sku"), last_name("sku")) == ("sku", "sku")


def test_names_that_are_declared_by_patterns_alone_are_told_by_them() -> None:
    closed = {"patternProperties": {"^x_": {}, "^y_": {}}, "additionalProperties": False}
    assert declared_line(read_declared(closed)) == "Declared fields: names that match ^x_ or ^y_."
    assert declared_line(read_declared({"properties": {}})) == "Declared fields: []."
