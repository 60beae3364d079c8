"""Narrowing and cutting: whatever the items and the size, the pieces together are the whole."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.answers.pieces import cut_list, cut_text, is_same, narrow
from handfast.core.call.protocol_arguments import ProtocolArguments

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=40), st.integers(4, 200))
def test_all_pieces_of_a_list_are_the_list_and_each_keeps_to_the_size(items: list[Any], most: int) -> None:
    texts = [json.dumps(item).encode() for item in items]
    pieces = cut_list(texts, most)
    assert [item for piece in pieces for item in json.loads(piece)] == items
    assert all(len(piece) <= most or len(json.loads(piece)) == 1 for piece in pieces)
    # No piece could have taken the first item of the next one.
    for one, next_ in pairwise(pieces):
        first = json.dumps(json.loads(next_)[0]).encode()
        assert len(one) + 1 + len(first) > most


@given(st.text(max_size=300), st.integers(4, 50))
def test_all_pieces_of_a_text_are_the_text_and_each_is_text(text: str, most: int) -> None:
    pieces = cut_text(text.encode(), most)
    assert "".join(piece.decode() for piece in pieces) == text
    assert all(0 < len(piece) <= most for piece in pieces)


ITEMS: list[Any] = [{"id": 1, "a": True}, {"id": 2, "a": 1}, {"id": 3}, {"id": 4, "a": True, "b": None}, 5]


@pytest.mark.parametrize(
    ("wishes", "found", "total"),
    [
        (ProtocolArguments(), ITEMS, 5),
        (ProtocolArguments(filters={"a": True}), [ITEMS[0], ITEMS[3]], 2),
        (ProtocolArguments(filters={"a": 1.0}), [ITEMS[1]], 1),
        (ProtocolArguments(filters={"b": None}), [ITEMS[3]], 1),
        (ProtocolArguments(filters={}), ITEMS[:4], 4),
        (ProtocolArguments(filter_keys=("b", "id")), [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4, "b": None}, 5], 5),
        (ProtocolArguments(page=2, page_size=2), ITEMS[2:4], 5),
        (ProtocolArguments(page_size=2), ITEMS[:2], 5),
        (ProtocolArguments(page=2), [], 5),
        (ProtocolArguments(page=3, page_size=2, filters={"a": True}), [], 2),
    ],
)
def test_items_are_chosen_by_equality_then_paged_then_trimmed(
    wishes: ProtocolArguments, found: list[Any], total: int
) -> None:
    assert narrow(ITEMS, wishes) == (found, total)


@given(st.lists(JSON, max_size=30), st.integers(1, 7))
def test_all_pages_are_the_list(items: list[Any], size: int) -> None:
    pages = [narrow(items, ProtocolArguments(page=page, page_size=size))[0] for page in range(1, 32)]
    assert [item for page in pages for item in page] == items


@given(JSON, JSON)
def test_two_values_are_the_same_where_their_json_is(one: Any, other: Any) -> None:
    assert is_same(one, one)
    assert is_same(one, other) == (json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True))
