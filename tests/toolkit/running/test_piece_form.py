"""The form of pieces: what is published for a whole and its pieces, and what may be asked of it."""

from typing import Any

import pytest

from handfast.toolkit.running.piece_form import continuing_input, published_data, published_input

CONTACT: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "integer"}},
    "required": ["id"],
    "additionalProperties": False,
}
LOOSE = {key: part for key, part in CONTACT.items() if key != "required"}
COUNT = {"type": "integer", "minimum": 1}
TOKEN = {"type": ["string", "null"], "description": "For the next piece; null: this is the last."}


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


PIECE = closed(
    {"number": COUNT, "of": COUNT, "total_items": {"type": "integer", "minimum": 0}, "continuation_token": TOKEN}
)


def test_a_list_is_published_with_a_form_whose_items_may_lack_keys() -> None:
    whole = {"type": "array", "items": {"$ref": "#/$defs/Contact"}, "minItems": 1}
    schema, is_list, keys = published_data({**whole, "$defs": {"Contact": CONTACT}}, "t")
    form = closed({"items": {"type": "array", "items": LOOSE}, "piece": PIECE})
    assert schema == {"anyOf": [whole, form], "$defs": {"Contact": CONTACT}}
    assert is_list
    assert keys is not None
    assert keys.names == ("id",)


def test_a_page_keeps_what_stands_beside_its_items() -> None:
    total = {"type": "integer"}
    page = {
        **closed({"items": {"type": "array", "items": {"type": "string"}}, "total": total}),
        "description": "A page.",
    }
    schema, is_list, keys = published_data(page, "t")
    form = closed({"total": total, "items": {"type": "array", "items": {"type": "string"}}, "piece": PIECE})
    assert schema == {"type": "object", "anyOf": [page, form]}
    assert (is_list, keys) == (True, None)


def test_an_object_that_may_have_more_keys_may_have_them_in_its_pieces() -> None:
    basket = {"type": "object", "properties": {"items": {"type": "array"}}}
    for more in ({}, {"additionalProperties": True}, {"additionalProperties": {"type": "string"}}):
        schema, _, _ = published_data({**basket, **more}, "t")
        assert schema is not None
        assert schema["anyOf"][1]["additionalProperties"] == more.get("additionalProperties", True)


@pytest.mark.parametrize(
    "whole",
    [
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "string"},
        {"anyOf": [{"type": "array", "items": {}}, {"type": "null"}]},
        {"type": "array", "prefixItems": [{"type": "string"}], "minItems": 1},
        {"type": "object", "properties": {"items": {"type": "object"}}},
    ],
)
def test_what_is_no_list_is_cut_as_text(whole: dict[str, Any]) -> None:
    schema, is_list, keys = published_data(whole, "t")
    assert schema is not None
    assert set(schema["anyOf"][1]["properties"]) == {"text", "piece"}
    assert (schema.get("type") == "object") == (whole.get("type") == "object")
    assert (is_list, keys) == (False, None)


def test_what_may_be_anything_may_be_a_piece() -> None:
    assert published_data(None, "t") == (None, False, None)
    assert published_data({}, "t") == (None, False, None)


def test_the_token_is_published_and_the_rest_stays() -> None:
    found = published_input(CONTACT, has_filters=False)
    assert list(found["properties"]) == ["id", "continuation_token"]
    assert list(published_input(CONTACT, has_filters=True)["properties"]) == ["filters", "id", "continuation_token"]
    assert (found["required"], found["additionalProperties"]) == (["id"], False)


def test_with_a_token_nothing_else_is_required_and_nothing_undeclared_is_taken() -> None:
    found = continuing_input(CONTACT)
    assert found["required"] == ["continuation_token"]
    assert found["additionalProperties"] is False
    assert {"id", "page", "filters", "continuation_token"} <= set(found["properties"])
