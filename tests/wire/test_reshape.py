"""Members set, added and taken out: what is meant changes, and not a byte beside it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.wire.reshape import drop, put
from handfast.wire.scan import NotJson

_KEYS = st.sampled_from(["a", "b", "_meta", 'q"', "\u00e9", "x y"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(_KEYS, _VALUES, max_size=4)
_PATHS = st.lists(_KEYS, min_size=1, max_size=3).map(tuple)


def test_a_value_that_is_there_is_replaced_where_it_stands() -> None:
    assert put(b'{ "a" : 1.0 , "b":"\\u00e9" }', {("a",): b"2"}) == b'{ "a" : 2 , "b":"\\u00e9" }'


def test_a_value_that_is_not_there_is_added_after_the_last_member() -> None:
    assert put(b'{"a": 1e400 }', {("b", "c"): b"[ ]"}) == b'{"a": 1e400,"b":{"c":[ ]} }'
    assert put(b"{ }", {("a",): b"1"}) == b'{"a":1 }'


def test_what_stands_in_the_way_of_an_object_gives_way() -> None:
    assert put(b'{"_meta": null}', {("_meta", "k"): b"1"}) == b'{"_meta": {"k":1}}'


def test_members_are_taken_out_first_middle_and_last() -> None:
    text = b'{"a": 1, "b": {"c": 2, "d": 1.0}, "e": 3}'
    assert drop(text, [("a",)]) == b'{"b": {"c": 2, "d": 1.0}, "e": 3}'
    assert drop(text, [("b",)]) == b'{"a": 1, "e": 3}'
    assert drop(text, [("b", "c"), ("e",)]) == b'{"a": 1, "b": {"d": 1.0}}'
    assert drop(text, [("b", "d"), ("b", "c"), ("a",)]) == b'{"b": {}, "e": 3}'
    assert drop(text, [("b",), ("e",)]) == b'{"a": 1}'
    assert drop(text, [("a",), ("b",), ("e",)]) == b"{}"


def test_an_object_that_has_none_of_them_keeps_every_byte() -> None:
    text = b'{ "a" :1 , "b" : {"c": 2}}'
    assert drop(text, [("x",), ("y", "z")]) == text


def test_text_that_is_no_object_is_refused() -> None:
    with pytest.raises(NotJson):
        put(b"[1]", {("a",): b"1"})


@given(_OBJECTS, _PATHS, _VALUES)
def test_a_value_that_was_put_is_read_at_its_path_and_all_others_stay(
    found: dict[str, Any], path: tuple[str, ...], value: object
) -> None:
    text = put(json.dumps(found).encode(), {path: json.dumps(value).encode()})
    expected = _copy(found)
    inner: dict[str, Any] = expected
    for name in path[:-1]:
        if not isinstance(inner.get(name), dict):
            inner[name] = {}
        inner = inner[name]
    inner[path[-1]] = value
    assert json.loads(text) == expected


@given(_OBJECTS, _PATHS)
def test_a_value_that_was_dropped_is_gone_and_all_others_stay(found: dict[str, Any], path: tuple[str, ...]) -> None:
    expected = _copy(found)
    inner: Any = expected
    for name in path[:-1]:
        inner = inner.get(name) if isinstance(inner, dict) else None
    if isinstance(inner, dict):
        inner.pop(path[-1], None)
    assert json.loads(drop(json.dumps(found).encode(), [path])) == expected


def _copy(found: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]  # JSON
