"""A body while it arrives: however it is cut, it ends where it ends, and what follows it is given back."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.edge.request_body import ArrivingBody, BadFraming, ChunkedBody, SizedBody

AFTER = b"GET / HTTP/1.1\r\n\r\n"
PIECES = st.lists(st.binary(max_size=20) | st.sampled_from([b"\r\n\r\n", b"0\r\n\r\n", b"\r\n0\r\n\r\n"]), max_size=5)
CUTS = st.lists(st.integers(1, 12), min_size=1, max_size=60)


def fed(body: ArrivingBody, data: bytes, cuts: list[int]) -> bytes:
    """What the body gives back when the data comes cut like this."""
    rest = b""
    while data:
        size = cuts.pop(0) if cuts else len(data)
        piece, data = data[:size], data[size:]
        rest += piece if body.is_whole else feed(body, piece)
    return rest


def feed(body: ArrivingBody, data: bytes) -> bytes:
    """In as many steps as it takes."""
    rest = body.feed(data)
    while body.has_unread:
        rest = body.feed(b"")
    return rest


@given(PIECES, CUTS, st.sampled_from([b"", b"X-A: b\r\n"]), st.sampled_from([b"", b";a=b"]))
def test_chunks_are_joined_and_nothing_beyond_their_end_is_taken(
    pieces: list[bytes], cuts: list[int], trailer: bytes, extension: bytes
) -> None:
    chunks = b"".join(b"%x%b\r\n%b\r\n" % (len(piece), extension, piece) for piece in pieces if piece)
    body = ChunkedBody()
    assert fed(body, chunks + b"0\r\n" + trailer + b"\r\n" + AFTER, cuts) == AFTER
    whole = b"".join(pieces)
    assert (body.is_whole, body.received, body.take()) == (True, len(whole), whole)


@given(st.binary(min_size=1, max_size=60), CUTS)
def test_a_body_with_a_length_is_as_long_as_it_says(content: bytes, cuts: list[int]) -> None:
    body = SizedBody(len(content))
    assert fed(body, content + AFTER, cuts) == AFTER
    assert (body.is_whole, body.received, body.take()) == (True, len(content), content)


def test_whether_a_body_is_too_large_is_known_as_soon_as_it_can_be() -> None:
    sized, chunked = SizedBody(5), ChunkedBody()
    chunked.feed(b"5\r\nabc")
    assert [sized.size, chunked.size] == [5, 5]


@pytest.mark.parametrize("chunk", [b"z\r\n", b"1\r\nab", b"1\nx", b"fffffffffffffffff\r\n"])
def test_what_are_no_chunks_is_refused(chunk: bytes) -> None:
    with pytest.raises(BadFraming):
        ChunkedBody().feed(chunk)


@pytest.mark.parametrize(
    "beside",
    [
        b"1\r\nx\r\n" * 100_000,
        (b"1;" + b"e" * 1000 + b"\r\nx\r\n") * 100,
        b"0\r\n" + b"a: b\r\n" * 20_000,
        b"0" * 100_000,
    ],
    ids=["a chunk for each byte", "extensions", "trailers", "a size without end"],
)
def test_what_comes_beside_the_body_is_bounded(beside: bytes) -> None:
    body = ChunkedBody()
    feed(body, b"1\r\nx\r\n" * 10_000)  # a chunk for each byte is odd, and within the rules
    assert body.received == 10_000
    with pytest.raises(BadFraming):
        feed(body, beside)


@pytest.mark.requirement("F4")
def test_many_chunks_are_read_some_at_a_time() -> None:
    """Ten thousand of a byte took thirty milliseconds, in which everybody else waited."""
    body = ChunkedBody()
    steps = [body.feed(b"1\r\nx\r\n" * 1000 + b"0\r\n\r\n" + AFTER)]
    assert (body.received, body.is_whole, body.has_unread) == (128, False, True)
    while body.has_unread:
        steps.append(body.feed(b""))
    assert (body.is_whole, body.take(), len(steps), steps[-1]) == (True, b"x" * 1000, 8, AFTER)


def test_nothing_is_left_to_read_of_a_body_that_was_dropped() -> None:
    body = ChunkedBody()
    body.feed(b"1\r\nx\r\n" * 1000)
    body.drop()
    assert not body.has_unread


@pytest.mark.parametrize(
    "framing",
    [
        b"1\r\nx\n0\r\n\r\n",
        b"0\r\n\n",
        b"1;a\rb\r\nx\r\n",
        b"-1\r\n",
        b"0x1\r\n",
        b" 1\r\n",
        b"1 \r\n",
        b"\r\n",
        b"0\r\nno field\r\n",
    ],
)
def test_a_line_that_two_readers_could_end_elsewhere_is_refused(framing: bytes) -> None:
    with pytest.raises(BadFraming):
        ChunkedBody().feed(framing)


@pytest.mark.requirement("F4")
def test_what_a_chunk_holds_is_not_looked_at() -> None:
    """A million empty lines in a chunk were a million steps."""
    content = b"\r\n" * 2_000_000
    body = ChunkedBody()
    began = time.thread_time()
    assert body.feed(b"%x\r\n" % len(content) + content + b"\r\n0\r\n\r\n" + AFTER) == AFTER
    assert time.thread_time() - began < 0.5  # some milliseconds; it was three seconds
    assert body.take() == content
