"""Events are read as the standard says whatever the chunks, and what is written is one event to every reader."""

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.wire.event_readers import READERS, read_by_standard, read_leniently, read_line_by_line

from handfast.wire.message import BadMessage, read_message
from handfast.wire.sse import KEEP_ALIVE, OverlongEvent, SseAssembler, SseEvent, render_event

LINE_ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])
PIECES = st.sampled_from(
    [b"\xef\xbb\xbf", b"data: {}", b"data:x", b"data", b": c", b"id: 7", b"id:\0", b"event: message", b"retry: 10"]
) | st.sampled_from([b"retry: x", b"other: y", b":", b" ", b"\xff"])
LINES = st.tuples(PIECES, LINE_ENDS).map(b"".join)
STREAMS = st.lists(LINES | LINE_ENDS | PIECES, max_size=20).map(b"".join) | st.binary(max_size=40)


def cut(text: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def feed_all(chunks: list[bytes], limit: int = 10_000) -> list[SseEvent | OverlongEvent]:
    """What is found, without the events that say only that the server is there: their number is that of the chunks."""
    assembler = SseAssembler(limit)
    return [event for chunk in chunks for event in assembler.feed(chunk) if event != SseEvent()]


# --- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("B6")
@given(STREAMS, st.lists(st.integers(0)))
@example(b"data:x\r\n\r\ndata:y\r\n\r\n", [7, 9])
@example(b"data:x\r\ndata:y\r\n\r\n", [7])
@example(b"data:x\r\r\n\ndata:y\n\n", [8])
@example(b"data:x\rdata:y\n\n", [])
@example(b"\xef\xbb\xbf", [1])
def test_the_events_are_what_a_client_would_dispatch_whatever_the_chunks(text: bytes, places: list[int]) -> None:
    whole = feed_all([text])
    for chunks in (cut(text, places), cut(text, list(range(len(text))))):
        assert feed_all(chunks) == whole
    data = [event.data for event in whole if isinstance(event, SseEvent) and event.data is not None]
    assert [text.decode(errors="replace") for text in data] == read_by_standard(text)


@pytest.mark.parametrize("ending", [b"\n", b"\r", b"\r\n"])
@pytest.mark.requirement("B6")
def test_every_field_is_read_with_every_line_end(ending: bytes) -> None:
    raw = ending.join([b"event: message", b"id:7", b"retry: 10", b": note", b"data: {", b"data:  }", b"data", b"", b""])
    assert feed_all([raw]) == [SseEvent(b"{\n }\n", b"7", b"10", has_lines=True)]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    "head", [[], [b"event: message"], [b"id: 7"], [b"event: message", b"id: 7"], [b"id:7", b"event:x"]]
)
@pytest.mark.requirement("B6")
def test_the_usual_event_in_one_chunk_is_read_like_any_other(head: list[bytes], ending: bytes) -> None:
    raw = ending.join([*head, b"data: {}", b"", b""])
    event = SseEvent(b"{}", b"7" if b"7" in raw else None)
    assert feed_all([raw, raw]) == [event, event]
    assert feed_all([raw[:5], raw[5:]]) == [event]


@pytest.mark.requirement("B6")
def test_an_event_leaves_with_its_blank_line_though_that_may_be_half_of_a_crlf() -> None:
    assembler = SseAssembler(1000)
    assert assembler.feed(b"data: 1\r\n\r") == [SseEvent(b"1")]
    assert assembler.feed(b"\ndata: 2\r\n\r\n") == [SseEvent(b"2")]


@pytest.mark.requirement("B6")
def test_a_byte_order_mark_opens_the_stream_only() -> None:
    assembler = SseAssembler(1000)
    assert assembler.feed(b"\xef") == []
    assert assembler.feed(b"\xbb\xbfdata: 1\n\n") == [SseEvent(b"1")]
    assert assembler.feed(b"\xef\xbb\xbfdata: 2\n\n") == [SseEvent()]


@pytest.mark.parametrize(
    ("raw", "event"),
    [
        (b"data:\n\n", SseEvent(b"")),
        (b"data\n\n", SseEvent(b"")),
        (b"id: 3\n\n", SseEvent(None, b"3")),
        (b"id\n\n", SseEvent(None, b"")),
        (b"retry: 3\n\n", SseEvent(None, None, b"3")),
        (b"id: a\0b\ndata: 1\n\n", SseEvent(b"1")),
        (b"retry: soon\ndata: 1\n\n", SseEvent(b"1")),
        (b"data:  1\n\n", SseEvent(b" 1")),
        (b"event: x\n\n", SseEvent()),
        (b"Data: 1\n\n", SseEvent()),
        (b"data : 1\n\n", SseEvent()),
        (b" data: 1\n\n", SseEvent()),
        (b": ping\n\n", SseEvent()),
    ],
)
@pytest.mark.requirement("B6")
@pytest.mark.requirement("S4")
def test_odd_events_are_read_as_the_specification_says(raw: bytes, event: SseEvent) -> None:
    assert SseAssembler(1000).feed(raw) == [event]


@pytest.mark.requirement("S4")
@pytest.mark.parametrize("kept", ["7", "", " 7", "a b", "ü", "x" * 4096, "\u00a0", "{}:,"])
def test_an_id_that_every_reader_reads_alike_is_kept_exactly(kept: str) -> None:
    for head in (b"", b"retry: 5\n"):
        (event,) = feed_all([head + b"id: " + kept.encode() + b"\ndata: 1\n\n"])
        assert isinstance(event, SseEvent)
        assert event.id == kept.encode()
        assert b"id: " + kept.encode() + b"\n" in render_event(b"1", event)


@pytest.mark.requirement("S4")
@pytest.mark.parametrize(
    "dropped", [b"a\x0bb", b"\x0c", b"\x1c", b"\t", b"\x7f", b"\xc2\x85", b"\xe2\x80\xa8", b"\xff", b"x" * 4097]
)
def test_an_id_that_readers_would_take_differently_is_dropped(dropped: bytes) -> None:
    assert feed_all([b"id: 1\nid: " + dropped + b"\ndata: 1\n\n"]) == [SseEvent(b"1")]
    assert feed_all([b"id: " + dropped + b"\ndata: 1\n\n"]) == [SseEvent(b"1")]


@pytest.mark.requirement("S4")
def test_a_retry_is_a_bounded_number() -> None:
    assert feed_all([b"retry: 999999999\n\n"]) == [SseEvent(retry=b"999999999")]
    assert feed_all([b"retry: 1000000000\n\n", "retry: \u0661\n\n".encode(), b"retry: -1\n\n"]) == []


def test_a_chunk_with_nothing_but_comments_and_blank_lines_is_one_sign_of_life() -> None:
    assembler = SseAssembler(1000)
    assert assembler.feed(b": ping\n: ping\n") == [SseEvent()]
    assert assembler.feed(b"\n\n") == [SseEvent()]
    assert assembler.feed(b"id: 1\n") == []
    assert assembler.feed(b"data: 2\n\n: ping\n") == [SseEvent(b"2", b"1")]
    assert assembler.feed(b": a comment without an e") == []


@pytest.mark.requirement("B6")
@given(st.lists(st.integers(0)), st.sampled_from([b"\n", b"\r\n", b"\r"]))
@example([], b"\n")
def test_an_event_over_the_limit_is_reported_once_and_the_next_one_is_whole(places: list[int], end: bytes) -> None:
    text = b"data: " + b"x" * 60 + end + b"data: y" + end * 2
    events = feed_all(cut(text + b"data: 1" + end * 2, places), limit=40)
    assert [event.data if isinstance(event, SseEvent) else "overlong" for event in events] == ["overlong", b"1"]


@pytest.mark.requirement("B6")
@given(st.lists(st.integers(0)), st.sampled_from([b"\n\n", b"\r\n\r\n"]))
@example([], b"\n\n")
def test_the_limit_is_that_of_the_events_lines_whatever_the_chunks(places: list[int], ending: bytes) -> None:
    line = b"data: 1234"
    raw = b": not counted, however long it is\n" + line + ending
    assert feed_all(cut(raw, places), limit=len(line) + 1) == [SseEvent(b"1234")]
    (found,) = feed_all(cut(raw, places), limit=len(line))
    assert isinstance(found, OverlongEvent)


# --- writing ---------------------------------------------------------------------------------------------------------


def test_a_message_is_named_as_one_and_keeps_the_id_and_retry_of_its_event() -> None:
    assert render_event(b"{}") == b"event: message\ndata: {}\n\n"
    assert render_event(b"{}", SseEvent(None, b"7", b"10")) == b"event: message\nid: 7\nretry: 10\ndata: {}\n\n"


@pytest.mark.requirement("B6")
@given(st.sampled_from([None, b""]), st.sampled_from([None, b"", b"7"]), st.sampled_from([None, b"10"]))
@example(b"", b"7", None)
def test_an_event_without_a_message_keeps_its_id_and_retry(
    data: bytes | None, event_id: bytes | None, retry: bytes | None
) -> None:
    event = SseEvent(data, event_id, retry)
    assert feed_all([render_event(data, event)]) == ([event] if event != SseEvent() else [])


def messages(*, raw: bool) -> st.SearchStrategy[bytes]:
    """JSON-RPC messages with characters that some reader splits at, in strings; with newlines between tokens or not."""
    texts = st.text(st.sampled_from('a\u0085\u2028\u2029\x0b\x1c\x1e\\"ü\u20ac\U0001f600'), max_size=6)
    spaces = st.text(" \t\r\n" if raw else " ", max_size=3)
    quoted = texts.map(lambda text: json.dumps(text, ensure_ascii=False))
    return st.builds(
        lambda text, one, two: f'{{"jsonrpc":"2.0",{one}"method":"m",{two}"params":{{"x":{text}}}}}'.encode(),
        quoted,
        spaces,
        spaces,
    )


@pytest.mark.requirement("S4")
@pytest.mark.requirement("004-3")
@given(messages(raw=True), st.sampled_from([SseEvent(), SseEvent(None, b"7"), SseEvent(None, b"", b"1")]))
def test_a_message_is_one_event_that_says_the_same_to_every_reader(message: bytes, like: SseEvent) -> None:
    rendered = render_event(message, like)
    for reader in READERS:
        (text,) = reader(rendered)
        assert json.loads(text) == json.loads(message), reader.__name__
        if reader is not read_leniently and not {"\r", "\u0085", "\u2028", "\u2029"} & {*message.decode()}:
            assert text == message.decode()
    assert rendered.isascii() or not any(character in rendered.decode() for character in "\u0085\u2028\u2029")


@pytest.mark.requirement("S4")
@pytest.mark.parametrize(
    "inner", [b'{"jsonrpc":"2.0","id":1,"result":{}}', b' {"\\u006dethod":"m"} ', b'[{"method":"m"}]']
)
def test_no_line_of_a_message_is_a_message_of_its_own(inner: bytes) -> None:
    message = b'{"jsonrpc":"2.0","method":"m","params":{"x":\n' + inner + b"\n}}"
    (line,) = read_line_by_line(render_event(message))
    assert json.loads(line) == json.loads(message)
    kept = b'{"jsonrpc":"2.0","method":"m","params":{"x":[\n{"a":1},\n{}\n]}}'
    assert render_event(kept).count(b"data: ") == 4


# --- from one end to the other ---------------------------------------------------------------------------------------

ODD = st.sampled_from(
    [*(chr(code).encode() for code in (0xB, 0xC, 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029)), b"\xff", b""]
)
NAMES = st.sampled_from(
    [b"data:", b"data: ", b"data :", b"DATA:", b"\xef\xbb\xbfdata:", b":", b"id:", b"event:", b"retry:"]
)
HIDING = st.builds(
    lambda name, one, odd, inner, end: name + one + odd * 2 + b"data: " + inner + odd * 2 + end,
    NAMES | st.just(b"x:"),
    messages(raw=False) | st.just(b"1"),
    ODD,
    messages(raw=False),
    st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\r\r", b""]),
)
HOSTILE = st.lists(HIDING | LINES | LINE_ENDS | st.binary(max_size=8), max_size=8).map(b"".join)


def relay(chunks: list[bytes]) -> tuple[list[bytes], bytes]:
    """The messages that were judged, and what leaves."""
    assembler = SseAssembler(10_000)
    judged: list[bytes] = []
    sent = b""
    for event in (event for chunk in chunks for event in assembler.feed(chunk)):
        assert isinstance(event, SseEvent)
        if event.data:
            try:
                judged.append(read_message(event.data).raw)
            except BadMessage:
                continue
        sent += KEEP_ALIVE if event == SseEvent() else render_event(event.data, event)
    return judged, sent


@pytest.mark.requirement("S4")
@pytest.mark.requirement("B6")
@given(HOSTILE, st.lists(st.integers(0)))
@example(b": x\x0b\x0bdata: {}\x0b\x0b\n\n", [])
def test_every_reader_reads_the_judged_messages_and_nothing_else(text: bytes, places: list[int]) -> None:
    judged, sent = relay(cut(text, places))
    expected = [json.loads(message) for message in judged]
    for reader in READERS:
        assert [json.loads(found) for found in reader(sent) if found] == expected, reader.__name__
    for line in filter(is_message, read_line_by_line(sent)):
        assert json.loads(line) in expected


def is_message(text: str) -> bool:
    try:
        return isinstance(found := json.loads(text), dict) and "method" in found
    except ValueError:
        return False


CONTROLS = [chr(code) for code in range(0x20) if chr(code) not in "\t\n\r"]


@pytest.mark.requirement("S4")
@given(st.data(), st.sampled_from(CONTROLS))
def test_no_message_holds_a_raw_control_character_anywhere(data: st.DataObject, control: str) -> None:
    """In strings, between tokens, in parts that are skipped, and in what only the careful reader reads."""
    deep = "[" * 1100 + '"deep"' + "]" * 1100
    odd = data.draw(st.sampled_from(['"\\ud800"', "1e999", "NaN", deep, '"plain"', '{"a":["b"]}']))
    text = f'{{"jsonrpc" : "2.0", "id": 1, "x": [{odd}, {{"y" :"z"}}], "result": {{"content": [{odd}], "n": true}}}}'
    read_message(text.encode())
    place = data.draw(st.integers(0, len(text)))
    with pytest.raises(BadMessage):
        read_message((text[:place] + control + text[place:]).encode())


@pytest.mark.requirement("S4")
@given(st.data(), st.sampled_from("\u0085\u2028\u2029"))
def test_characters_to_escape_stand_only_where_an_escape_says_the_same(data: st.DataObject, character: str) -> None:
    odd = data.draw(st.sampled_from(['"\\ud800"', '"a\\\\"', '"\\""', "1e400", '{"a":["\\u2028"]}']))
    text = f'{{"jsonrpc" : "2.0", "id": 1, "x": [{odd}, {{"y" :"z"}}], "result": {{"content": [{odd}], "n": true}}}}'
    place = data.draw(st.integers(0, len(text)))
    changed = (text[:place] + character + text[place:]).encode()
    try:
        read_message(changed)
    except BadMessage:
        return
    (found,) = read_by_standard(render_event(changed))
    assert json.loads(found) == json.loads(changed)
