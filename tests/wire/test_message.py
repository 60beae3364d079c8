"""The envelope: what is a message, what is ambiguous, and what odd but legal JSON still passes."""

import gc
import json
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.bounds import MOST_MEMBERS
from handfast.wire.codes import INVALID_REQUEST, PARSE_ERROR
from handfast.wire.message import AmbiguousKeys, BadMessage, id_in_head, read_level, read_message
from handfast.wire.scan import OverBound
from handfast.wire.splice import drop, put


def test_a_request_is_read_as_far_as_its_members() -> None:
    raw = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"x": 1.0}}}'
    message = read_message(raw)
    assert (message.is_request, message.id, message.method, message.raw) == (True, 7, "tools/call", raw)
    assert {name: bytes(value) for name, value in message.params().items()} == {
        "name": b'"a"',
        "arguments": b'{"x": 1.0}',
    }


@pytest.mark.requirement("B4")
@pytest.mark.parametrize(
    ("text", "value"), [(b'"\\u0041"', "A"), (b"1.0", 1), (b"1", 1), (b'"1"', "1"), (b"9007199254740993", 2**53 + 1)]
)
def test_ids_are_paired_by_value_and_type(text: bytes, value: object) -> None:
    found = read_message(b'{"jsonrpc":"2.0","id":' + text + b',"result":{}}').id
    assert {found: "pairs"}.get(value) == "pairs"  # type: ignore[call-overload]  # any hashable may be looked up


@pytest.mark.requirement("B4")
@pytest.mark.parametrize(
    ("text", "is_version_2"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"x"}', True),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', True),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\\ud800"}}', True),
        (b'{"jsonrpc":"1.0","id":1,"method":"x"}', False),
        (b'{"jsonrpc":2.0,"method":"notifications/x"}', False),
        (b'{"id":1,"result":{}}', False),
    ],
)
def test_a_message_that_does_not_name_the_version_is_read_and_can_be_told(text: bytes, is_version_2: bool) -> None:
    assert read_message(text).is_version_2 is is_version_2


def test_a_number_and_its_text_are_different_ids() -> None:
    assert read_message(b'{"id":"1","result":{}}').id != read_message(b'{"id":1,"result":{}}').id


@pytest.mark.requirement("B4")
@pytest.mark.parametrize("batch", [b'[{"jsonrpc":"2.0","method":"a"}]', b" \n[]", b"[" * 5000 + b"]" * 5000])
def test_a_batch_is_refused(batch: bytes) -> None:
    with pytest.raises(BadMessage) as refused:
        read_message(batch)
    assert refused.value.code == INVALID_REQUEST


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"3",
        b'"x"',
        b"{",
        b"{}{}",
        b'{"id":1,}',
        b"\xff",
        b'{"a":"\xff","method":"x"}',
        b'{"method":"notifications/x","a":NaN}',
        b'{"id":1,"method":"x","params":{"a":[-Infinity]}}',
        b"nope",
    ],
)
def test_what_is_no_json_object_is_a_parse_error(text: bytes) -> None:
    with pytest.raises(BadMessage) as refused:
        read_message(text)
    assert refused.value.code == PARSE_ERROR


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b'{"id":1}',
        b'{"id":null,"method":"x"}',
        b'{"id":true,"method":"x"}',
        b'{"id":{},"method":"x"}',
        b'{"id":1,"method":3}',
        b'{"id":1,"method":"x","params":[]}',
        b'{"id":1,"result":{},"error":{}}',
        b'{"id":1,"method":"x","result":{}}',
    ],
)
def test_json_that_is_no_message_is_refused(text: bytes) -> None:
    with pytest.raises(BadMessage) as refused:
        read_message(text)
    assert refused.value.code == INVALID_REQUEST


@pytest.mark.requirement("B2")
@pytest.mark.parametrize(
    "text",
    [
        b'{"id":1,"id":2,"method":"x"}',
        b'{"id":1,"method":"ping","method":"tools/call"}',
        b'{"id":1,"method":"x","params":{},"params":{}}',
        b'{"id":1,"method":"x","Params":{}}',
        b'{"id":1,"method":"x","params":{},"para\\u0000ms":{}}',
        b'{"id":1,"method":"x","PARAM\\u017f":{}}',
        b'{"id":1,"method":"x","extra":1,"EXTRA":2}',
        b'{"id":1,"result":{},"Result":{}}',
    ],
)
def test_keys_that_two_readers_take_differently_are_refused(text: bytes) -> None:
    with pytest.raises(BadMessage) as refused:
        read_message(text)
    assert (refused.value.code, refused.value.id) in [(INVALID_REQUEST, 1), (INVALID_REQUEST, 2)]


@pytest.mark.requirement("B2")
@pytest.mark.parametrize(
    "level",
    [
        b'{"name":"a","name":"b"}',
        b'{"name":"a","Arguments":{}}',
        b'{"isError":true,"iserror":false}',
        b'{"structuredContent":1,"structuredContent":2}',
        b'{"structured\\u0000Content":1}',
        b'{"name":"\\ud800","name":"b"}',
    ],
)
def test_duplicates_below_the_top_are_refused_where_the_level_is_read(level: bytes) -> None:
    for message in (b'{"id":1,"method":"x","params":%s}', b'{"id":1,"result":%s}'):
        read = read_message(message % level)
        with pytest.raises(AmbiguousKeys):
            read.params() if read.method else read.result()


@pytest.mark.requirement("D20")
def test_an_answer_that_holds_nan_is_read_so_that_it_can_be_judged() -> None:
    raw = b'{"result":{"structuredContent":{"a":NaN,"b":"NaN \\" Infinity"},"isError":false},"id":3,"x":-Infinity}'
    message = read_message(raw)
    result = message.result()
    assert result is not None
    assert (message.id, bytes(result["structuredContent"])) == (3, b'{"a":NaN,"b":"NaN \\" Infinity"}')


@pytest.mark.requirement("B5")
@pytest.mark.parametrize(
    "content",
    [b'{"text":"cut \\ud83d"}', b"[" * 500 + b"]" * 500, b'{"n":1e400}', b'{"a":{"b":"\\udfff"}}'],
    ids=["lone surrogate", "500 levels", "1e400", "nested surrogate"],
)
def test_what_the_fast_decoder_refuses_is_still_read(content: bytes) -> None:
    raw = b'{"jsonrpc":"2.0","result":{"content":' + content + b',"isError":false},"id":"q"}'
    message = read_message(raw)
    result = message.result()
    assert result is not None
    assert (message.id, bytes(result["content"]), bytes(result["isError"])) == ("q", content, b"false")


DEEP = b"[" * 600_000 + b"]" * 600_000
MANY = b",".join([b'"":0'] * (MOST_MEMBERS + 1))


@pytest.mark.requirement("F4")
@pytest.mark.parametrize(
    ("over", "reason"),
    [(b'"a":' + DEEP, "nested more than 512 levels deep"), (MANY, "more than 10000 members")],
    ids=["levels", "members"],
)
@pytest.mark.parametrize(
    "around",
    [
        b'{"id":7,"method":"ping","params":{%b}}',
        b'{"jsonrpc":"2.0","result":{%b},"id":7}',
        b'{"id":7,"method":"ping",%b}',
        b'{"id":7,"method":"ping","\\ud800":0,%b}',
        b'{%b,"result":{},"id":7}',
    ],
)
def test_what_is_over_a_bound_is_refused_for_the_one_who_waits(around: bytes, over: bytes, reason: str) -> None:
    with pytest.raises(BadMessage, match=reason) as refused:
        read_message(around % over)
    assert (refused.value.code, refused.value.id) == (INVALID_REQUEST, 7)


@pytest.mark.requirement("F4")
def test_a_level_that_only_the_careful_reader_takes_is_bounded_where_it_is_read() -> None:
    message = read_message(b'{"id":7,"method":"ping","params":{"\\ud800":0,%b}}' % MANY)
    with pytest.raises(OverBound, match="more than 10000 members"):
        message.params()
    with pytest.raises(OverBound, match="more than 10000 members"):
        read_level(b"{%b}" % MANY)


@pytest.mark.requirement("F4")
@pytest.mark.parametrize("large", [b"[%b0]" % (b"0," * 2_000_000), b'{"a":[%b0]}' % (b"[]," * 1_000_000)])
def test_large_content_is_skipped_and_made_nothing_of(large: bytes) -> None:
    """An object for each value would take seconds."""
    gc.collect()
    before = sys.getallocatedblocks()
    message = read_message(b'{"id":1,"result":%b}' % large)
    assert message.id == 1
    assert sys.getallocatedblocks() - before < 100


@pytest.mark.requirement("F4")
def test_a_reader_of_many_members_stops_at_the_first_one_too_many() -> None:
    """Counted, because how long it takes depends on the machine."""
    calls = 0

    def count(_frame: object, event: str, _what: object) -> None:
        nonlocal calls
        calls += event == "call"

    raw = b'{"id":1,"result":{%b}}' % b",".join(b'"k%d":{}' % number for number in range(500_000))
    sys.setprofile(count)
    try:
        with pytest.raises(BadMessage):
            read_message(raw)
    finally:
        sys.setprofile(None)
    assert calls < 3 * MOST_MEMBERS


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"a":"xxx', 7),
        (b'{"id": "a-1", "result"', "a-1"),
        (b'{"result":{"id":7,', None),
        (b'{"jsonrpc":"2.0","id":7', None),
        (b"garbage", None),
        (b'{"id":"a\x0bb","result":', None),
        (b'{"id":"\xff","result":', None),
    ],
)
def test_the_id_of_a_cut_message_is_found_only_where_it_surely_is_one(head: bytes, found: object) -> None:
    assert id_in_head(head) == found


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.tuples(st.text(max_size=6), json_values), max_size=6, unique_by=lambda pair: pair[0].casefold()))
def test_a_level_gives_every_members_exact_bytes(pairs: list[tuple[str, object]]) -> None:
    names = [name for name, _ in pairs if name.replace("\0", "").casefold() == name]
    if len({*names}) != len(pairs):
        return
    texts = {name: json.dumps(value, ensure_ascii=len(name) % 2 == 0).encode() for name, value in pairs}
    try:
        level = b"{" + b",".join(json.dumps(name).encode() + b" : " + text for name, text in texts.items()) + b"}"
        found = read_level(level)
    except (UnicodeEncodeError, AmbiguousKeys):
        return
    assert {name: bytes(value) for name, value in found.items()} == texts


@pytest.mark.requirement("F7")
def test_a_message_that_was_sent_can_be_let_go_of_and_still_pairs_its_answer() -> None:
    message = read_message(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","_meta":{"a":1}}}')
    assert message.meta()
    message.forget()
    assert (message.raw, message.id, message.method) == (b"", 7, "tools/call")
    assert (message.params(), message.meta(), message.result()) == ({}, {}, None)


@pytest.mark.requirement("F2")
@pytest.mark.parametrize(
    ("raw", "is_there"),
    [
        (b'{"id":1,"result":{"a":1,"taskId":"t"}}', True),
        (b'{"id":1,"result":{"task\\u0049d":"t"}}', True),
        (b'{"id":1,"result":{"a":{"taskId":"t"}}}', False),
        (b'{"id":1,"result":{}}', False),
        (b'{"id":1,"result":"taskId"}', True),
        (b'{"id":1,"error":{"code":1,"message":"m"}}', True),
    ],
)
def test_a_member_of_a_result_is_seen_without_reading_it(raw: bytes, is_there: bool) -> None:
    message = read_message(raw.replace(b"{", b'{"jsonrpc":"2.0",', 1))
    assert message.result_may_have(frozenset(("taskId",))) is is_there


@pytest.mark.parametrize("size", [10, 100_000])
@pytest.mark.parametrize(
    ("members", "is_there"),
    [
        (b'"_meta":{"progressToken":1}', True),
        (b'"\\u005fmeta":{"\\u0070rogressToken":1}', True),
        (b'"_meta":{},"_meta":{"progressToken":1}', True),
        (b'"progressToken":1', True),
        (b'"_meta":{"other":1}', False),
        (b'"other":1', False),
    ],
)
def test_a_glance_sees_every_key_that_may_be_there(members: bytes, is_there: bool, size: int) -> None:
    params = b'{"arguments":{"text":"%b"},%b}' % (b"x" * size, members)
    message = read_message(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}' % params)
    assert message.may_mention("progressToken") is is_there


@pytest.mark.requirement("F4")
def test_a_message_that_is_refused_is_freed_at_once() -> None:
    """An exception that stays in the frame it left keeps all that was read there, until a collection."""
    bad = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"%b" oops}}' % (b"x" * 100_000)
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(BadMessage):
            read_message(bad)
        assert gc.collect() < 5, "what pytest itself leaves"
    finally:
        gc.enable()


@pytest.mark.parametrize("raw", [b"x" * 100, b'{"a":1', b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', b"", b" "])
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(BadMessage, match="not a JSON object") as refused:
        read_message(raw)
    assert refused.value.code == -32700


_NAMES = st.sampled_from(["name", "arguments", "_meta", "requestState", "x y", 'q"', "\u00e9"])
_SOME_JSON = st.none() | st.integers() | st.text(max_size=3) | st.dictionaries(_NAMES, st.integers(), max_size=2)
_LAYOUTS = st.sampled_from(
    [
        b'{"jsonrpc":"2.0","id":1,"BODY":%b}',
        b'{ "BODY" : %b , "id" : 1 , "jsonrpc" : "2.0" }',
        b'{"x":[{"BODY":{}}],"id":1,"BODY":%b,"jsonrpc":"2.0"}',
        b'{"\\u006asonrpc":"2.0","id":1,"BODY":%b\n}',
    ]
)


@given(
    _LAYOUTS,
    st.booleans(),
    st.dictionaries(_NAMES, _SOME_JSON, max_size=4),
    st.dictionaries(_NAMES, _SOME_JSON, max_size=3),
    st.sets(_NAMES, max_size=2),
    st.sampled_from([None, 1]),
)
def test_changed_members_are_what_reading_the_changed_bytes_would_give(
    layout: bytes, is_answer: bool, body: Any, new: Any, gone: set[str], indent: int | None
) -> None:
    opening = b"{" if is_answer else b'{"method":"m",'
    text = layout.replace(b"{", opening, 1).replace(b"BODY", b"result" if is_answer else b"params")
    message = read_message(text % json.dumps(body, indent=indent).encode())
    values = {name: json.dumps(value).encode() for name, value in new.items() if name not in gone}
    changed = message.with_members(values | dict.fromkeys(gone))
    again = read_message(changed.raw)
    name = "result" if is_answer else "params"
    left = drop(message.raw, [(name, leaving) for leaving in gone])
    assert changed.raw == put(left, {(name, key): value for key, value in values.items()})
    assert (changed.id, changed.method, changed.is_version_2) == (again.id, again.method, again.is_version_2)
    read, kept = (again.result(), changed.result()) if is_answer else (again.params(), changed.params())
    assert [(key, bytes(value)) for key, value in (kept or {}).items()] == [
        (key, bytes(value)) for key, value in (read or {}).items()
    ]
    assert list(changed.meta()) == list(again.meta())


@pytest.mark.parametrize(
    ("params", "meta"),
    [
        (b',"params":{"name":"t","_meta":{"progressToken":1}}', b'{"progressToken":1,"k":1.0}'),
        (b',"params":{"name":"t","_meta":{ }}', b'{"k":1.0 }'),
        (b',"params":{"name":"t","_meta":null}', b'{"k":1.0}'),
        (b',"params":{"name":"t"}', b'{"k":1.0}'),
        (b"", b'{"k":1.0}'),
    ],
)
def test_a_request_gets_members_of_its_meta_and_keeps_its_own(params: bytes, meta: bytes) -> None:
    message = read_message(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"%b}' % params)
    changed = message.with_meta({"k": msgspec.Raw(b"1.0")})
    assert bytes(read_message(changed.raw).params()["_meta"]) == meta
    assert list(changed.meta()) == list(read_message(changed.raw).meta())
    assert "k" not in message.meta(), "the message itself stays as it was"


def test_a_message_under_another_id_keeps_every_other_byte() -> None:
    message = read_message(b'{ "id" : 7, "result":{"a": 1.0} }')
    changed = message.with_id("x")
    assert (changed.raw, changed.id, message.id) == (b'{ "id" : "x", "result":{"a": 1.0} }', "x", 7)
    assert message.with_id(7) is message


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}', "add"),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"add"}}', None),
    ],
)
def test_the_tool_of_a_call_is_told_where_it_has_one(text: bytes, tool: str | None) -> None:
    assert read_message(text).called_tool() == tool
