"""Events come out whole with their exact bytes, whatever the line ends and the chunks."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handfast.wire.sse import OverlongEvent, SseAssembler, SseEvent, render_event

LINE_ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])
PIECES = st.sampled_from(
    [b"\xef\xbb\xbf", b"data: {}", b"data:x", b"data", b": c", b"id: 7", b"id:\0", b"event: message", b"retry: 10"]
) | st.sampled_from([b"retry: x", b"other: y", b":", b" ", b"\xff"])
LINES = st.tuples(PIECES, LINE_ENDS).map(b"".join)
STREAMS = st.lists(LINES | LINE_ENDS | PIECES, max_size=20).map(b"".join) | st.binary(max_size=40)


def cut(text: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def feed_all(chunks: list[bytes], limit: int = 10_000) -> tuple[list[SseEvent | OverlongEvent], bytes]:
    assembler = SseAssembler(limit)
    return [event for chunk in chunks for event in assembler.feed(chunk)], assembler.close()


def whole_events(text: bytes) -> list[SseEvent]:
    events, _ = feed_all([text])
    return [event for event in events if isinstance(event, SseEvent)]


def dispatched(text: bytes) -> list[tuple[bytes, bytes]]:
    """What a client dispatches, read from the whole stream at once as HTML section 9.2.6 says."""
    *lines, _ = re.split(rb"\r\n|\r|\n", text.removeprefix(b"\xef\xbb\xbf"))
    found: list[tuple[bytes, bytes]] = []
    kind, data = b"", b""
    for line in lines:
        name, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if line == b"":
            if data:
                found.append((kind, data[:-1]))
            kind, data = b"", b""
        elif name == b"data":
            data += value + b"\n"
        elif name == b"event":
            kind = value
    return found


@pytest.mark.requirement("B6")
@given(STREAMS, st.lists(st.integers(0)))
@example(b"data:x\r\n\r\ndata:y\r\n\r\n", [7, 9])
@example(b"data:x\r\ndata:y\r\n\r\n", [7])
@example(b"data:x\r\r\n\ndata:y\n\n", [8])
@example(b"data:x\rdata:y\n\n", [])
def test_no_byte_is_lost_and_the_events_are_what_a_client_would_dispatch(text: bytes, places: list[int]) -> None:
    for chunks in ([text], cut(text, places), cut(text, list(range(len(text))))):
        events, rest = feed_all(chunks)
        kept = [event for event in events if isinstance(event, SseEvent)]
        assert b"".join(event.raw for event in kept) + rest == text
        assert [(event.event, event.data) for event in kept if event.data is not None] == dispatched(text)


@pytest.mark.parametrize("ending", [b"\n", b"\r", b"\r\n"])
@pytest.mark.requirement("B6")
def test_every_field_is_read_with_every_line_end(ending: bytes) -> None:
    raw = ending.join([b"event: message", b"id:7", b"retry: 10", b": note", b"data: {", b"data:  }", b"data", b"", b""])
    assert whole_events(raw) == [SseEvent(raw, b"{\n }\n", b"message", b"7", b"10")]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.requirement("B6")
def test_the_usual_event_in_one_chunk_is_read_like_any_other(ending: bytes) -> None:
    raw = ending.join([b"event: message", b"id: 7", b"data: {}", b"", b""])
    event = SseEvent(raw, b"{}", b"message", b"7")
    assert feed_all([raw, raw]) == ([event, event], b"")
    assert feed_all([raw[:9], raw[9:]]) == ([event], b"")


@pytest.mark.requirement("B6")
def test_an_event_leaves_with_its_blank_line_though_that_may_be_half_of_a_crlf() -> None:
    assembler = SseAssembler(1000)
    assert assembler.feed(b"data: 1\r\n\r") == [SseEvent(b"data: 1\r\n\r", b"1")]
    assert assembler.feed(b"\ndata: 2\r\n\r\n") == [SseEvent(b"\ndata: 2\r\n\r\n", b"2")]


@pytest.mark.requirement("B6")
def test_a_byte_order_mark_opens_the_stream_only() -> None:
    assembler = SseAssembler(1000)
    assert assembler.feed(b"\xef") == []
    assert assembler.feed(b"\xbb\xbfdata: 1\n\n") == [SseEvent(b"\xef\xbb\xbfdata: 1\n\n", b"1")]
    assert assembler.feed(b"\xef\xbb\xbfdata: 2\n\n") == [SseEvent(b"\xef\xbb\xbfdata: 2\n\n", None)]


@pytest.mark.parametrize(
    ("raw", "event"),
    [
        (b"data:\n\n", SseEvent(b"data:\n\n", b"")),
        (b"data\n\n", SseEvent(b"data\n\n", b"")),
        (b"id: 3\n\n", SseEvent(b"id: 3\n\n", None, id=b"3")),
        (b"id\n\n", SseEvent(b"id\n\n", None, id=b"")),
        (b"id: a\0b\ndata: 1\n\n", SseEvent(b"id: a\0b\ndata: 1\n\n", b"1")),
        (b"retry: soon\ndata: 1\n\n", SseEvent(b"retry: soon\ndata: 1\n\n", b"1")),
        (b"Data: 1\n\n", SseEvent(b"Data: 1\n\n", None)),
        (b"data:  1\n\n", SseEvent(b"data:  1\n\n", b" 1")),
        (b": ping\n\n", SseEvent(b": ping\n\n", None)),
    ],
)
@pytest.mark.requirement("B6")
def test_odd_events_are_read_as_the_specification_says(raw: bytes, event: SseEvent) -> None:
    assert whole_events(raw) == [event]


def test_comments_and_blank_lines_between_events_are_not_held_back() -> None:
    assembler = SseAssembler(1000)
    assert assembler.feed(b": ping\n") == [SseEvent(b": ping\n")]
    assert assembler.feed(b"\n\n") == [SseEvent(b"\n\n")]
    assert assembler.feed(b"id: 1\n") == []
    assert assembler.feed(b"data: 2\n\n") == [SseEvent(b"id: 1\ndata: 2\n\n", b"2", id=b"1")]


@pytest.mark.requirement("B6")
@given(st.lists(st.integers(0)), st.sampled_from([b"\n", b"\r\n", b"\r"]))
@example([], b"\n")
def test_an_event_over_the_limit_is_reported_once_and_the_next_one_is_whole(places: list[int], end: bytes) -> None:
    text = b"data: " + b"x" * 60 + end + b"data: y" + end * 2
    events, rest = feed_all(cut(text + b"data: 1" + end * 2, places), limit=40)
    seen = [event.data if isinstance(event, SseEvent) else "overlong" for event in events]
    # The LF of a split CRLF may travel alone; it carries nothing.
    assert [data for data in seen if data is not None] == ["overlong", b"1"]
    assert rest == b""


@pytest.mark.requirement("B6")
@pytest.mark.parametrize("ending", [b"\n\n", b"\r\n\r\n"])
def test_the_limit_holds_for_an_event_in_one_chunk(ending: bytes) -> None:
    raw = b"data: 1234" + ending
    assert feed_all([raw], limit=len(raw)) == ([SseEvent(raw, b"1234")], b"")
    assert feed_all([raw, raw], limit=len(raw) - 1)[0] == [OverlongEvent(len(raw))] * 2


@pytest.mark.requirement("B6")
@given(
    st.lists(st.sampled_from([b"{", b"}", b" ", b"\n", b"\r", b"\r\n", b"x", b":"])).map(b"".join),
    st.sampled_from([b"", b"message"]),
    st.sampled_from([None, b"", b"7"]),
    st.sampled_from([None, b"10"]),
)
def test_a_replacement_keeps_id_event_and_retry(
    data: bytes, event: bytes, event_id: bytes | None, retry: bytes | None
) -> None:
    rendered = render_event(data, SseEvent(b"anything", b"old", event, event_id, retry))
    joined = re.sub(rb"\r\n|\r", b"\n", data)
    assert whole_events(rendered) == [SseEvent(rendered, joined, event, event_id, retry)]


def test_an_event_like_no_other_is_only_its_data() -> None:
    assert render_event(b"{}") == b"data: {}\n\n"
