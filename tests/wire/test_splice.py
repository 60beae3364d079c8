"""Splicing changes the bytes of the values it is asked for, and no other: set, added and taken out."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handfast.wire.scan import NotJson
from handfast.wire.splice import drop, put, replace_plain, replace_values, swap_id

# Ids as clients and servers spell them, and what surrounds them, with the same digits again.
IDS = st.sampled_from([b"2", b"2.0", b'"2"', b'"\\u0032"', b'"a\\"id\\":2"', b"null", b"-0", b"9007199254740993"])
OTHERS = st.sampled_from(
    [b"2", b'{"id":2}', b'[2,"id",{"id":2}]', b'"\\"id\\":2"', b'"\\ud800 cut"', b"1e400", b"{}", b'"\xff"']
) | st.just(b"[" * 1500 + b"]" * 1500)
SPACES = st.sampled_from([b"", b" ", b"\n\t", b"\r\n  "])
ID_KEYS = st.sampled_from([b'"id"', b'"\\u0069d"'])
OTHER_KEYS = st.sampled_from([b'"jsonrpc"', b'"result"', b'"ID"', b'"i\\u0064x"', b'"\\"id"', b'""'])


@pytest.mark.requirement("B3")
@given(
    st.lists(st.tuples(OTHER_KEYS, OTHERS), max_size=4),
    st.lists(st.tuples(OTHER_KEYS, OTHERS), max_size=4),
    st.tuples(ID_KEYS, IDS, IDS),
    SPACES,
)
@example([(b'"result"', b'{"id":2}')], [], (b'"id"', b"2", b'"2"'), b"")
@example([(b'"result"', b'"\\ud800 cut"')], [], (b'"id"', b"2", b"null"), b" ")
def test_only_the_id_changes_wherever_it_stands_and_however_it_is_spelt(
    before: list[tuple[bytes, bytes]],
    after: list[tuple[bytes, bytes]],
    id_and_new: tuple[bytes, bytes, bytes],
    space: bytes,
) -> None:
    def render(value: bytes) -> bytes:
        members = [key + space + b":" + space + raw for key, raw in [*before, (id_key, value), *after]]
        return space + b"{" + space + (space + b"," + space).join(members) + space + b"}" + space

    id_key, old, new = id_and_new
    assert replace_values(render(old), {("id",): old}) == render(old)
    assert replace_values(render(old), {("id",): new}) == render(new)
    assert swap_id(render(old), new) == (render(new), old)


@pytest.mark.requirement("B3")
@pytest.mark.parametrize("odd", [b'"plain"', b'"\\ud800"', b"[" * 500 + b"]" * 500])
def test_every_place_that_carries_an_id_can_be_replaced(odd: bytes) -> None:
    text = (
        b'{"params" : {"x":%s, "_meta":{ "progressToken" : 1 , "y":1},"progressToken":1,\n"requestId": 1}, "id":1,'
        b'"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"n":1,"x":%s}}'
    ) % (odd, odd)
    expected = (
        b'{"params" : {"x":%s, "_meta":{ "progressToken" : 2 , "y":1},"progressToken":"3",\n"requestId": 4}, "id":55,'
        b'"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"6"},"n":1,"x":%s}}'
    ) % (odd, odd)
    replacements = {
        ("id",): b"55",
        ("params", "_meta", "progressToken"): b"2",
        ("params", "progressToken"): b'"3"',
        ("params", "requestId"): b"4",
        ("result", "_meta", "io.modelcontextprotocol/subscriptionId"): b'"6"',
    }
    assert replace_values(text, replacements) == expected


@pytest.mark.requirement("B3")
@given(st.dictionaries(st.text(), st.dictionaries(st.text(), st.integers(), min_size=1), min_size=1), st.data())
def test_a_value_replaced_by_itself_changes_nothing(value: dict[str, dict[str, int]], data: st.DataObject) -> None:
    text = json.dumps(value).encode()
    outer = data.draw(st.sampled_from(sorted(value)))
    inner = data.draw(st.sampled_from(sorted(value[outer])))
    raw = b"%d" % value[outer][inner]
    assert replace_values(text, {(outer, inner): raw}) == text
    assert json.loads(replace_values(text, {(outer, inner): b"[]"})) == value | {outer: value[outer] | {inner: []}}


def test_every_one_of_two_equal_keys_is_replaced() -> None:
    assert replace_values(b'{"id":1,"id":2}', {("id",): b"3"}) == b'{"id":3,"id":3}'


def test_nothing_to_replace_is_the_message_itself() -> None:
    assert replace_values(b'{"id":1}', {}) == b'{"id":1}'


@pytest.mark.parametrize("path", [("ID",), ("params", "id"), ("params", "list", "id"), ("id", "id")])
def test_a_path_that_leads_nowhere_is_never_passed_over_in_silence(path: tuple[str, ...]) -> None:
    with pytest.raises(LookupError):
        replace_values(b'{"id":1,"params":{"list":[]}}', {path: b"2"})


@pytest.mark.parametrize("text", [b"", b"[]", b'{"id":1', b'{"id":1}}', b'{"id":01}'])
def test_what_is_no_object_is_refused(text: bytes) -> None:
    with pytest.raises(NotJson):
        replace_values(text, {("id",): b"2"})


@pytest.mark.requirement("B3")
@pytest.mark.parametrize("old", [b"2", b"-2", b"2.0", b'"2"', b"9" * 19, b"9" * 30, b'"' + b"x" * 600 + b'"'])
@pytest.mark.parametrize(
    "text",
    [
        b'{"jsonrpc":"2.0","id":$,"result":{"id":2}}',
        b'{"jsonrpc": "2.0", "id": $, "result": {"id": 2}}',
        b'{"result":{"id":2},"jsonrpc":"2.0","id":$}',
        b'{"result":{"jsonrpc":"2.0","id":2},"jsonrpc":"2.0","id":$}',
        b'{"jsonrpc":"2.0","id":$}',
        b'{"id":$,"x":{"jsonrpc":"2.0","id":2}}',
        b'{"id":$,"result":{"x":[{"jsonrpc":"2.0","id":2}]} }\n',
        b'{"a":1,"id":$,"abc":345}',
    ],
)
def test_an_id_is_swapped_where_clients_and_servers_write_it(text: bytes, old: bytes) -> None:
    assert swap_id(text.replace(b"$", old), b"41") == (text.replace(b"$", b"41"), old)


def test_what_has_no_id_cannot_be_given_another() -> None:
    with pytest.raises(LookupError):
        swap_id(b'{"jsonrpc":"2.0","result":{"id":2}}', b"41")


@pytest.mark.parametrize(
    ("text", "outer"),
    [
        (b'{"a":{"k":1},"b":{"k":1}}', b'{"k":1}'),
        (b'{"a":{"k":1,"x":{"k":2}}}', b'{"k":1,"x":{"k":2}}'),
        (b'{"a":{"k":"\\u0031"}}', b'{"k":"\\u0031"}'),
        (b'{"a":{"k":[1]}}', b'{"k":[1]}'),
    ],
)
def test_a_value_that_is_not_plain_to_see_is_left(text: bytes, outer: bytes) -> None:
    assert replace_plain(text, outer, b'"k"', b"7") is None


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


def test_nothing_is_put_into_text_that_is_no_object() -> None:
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
