"""Every way an answer can be framed, cut short or malformed."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handfast.gateway.http.client import (
    UpstreamProtocolError,
)
from handfast.gateway.http.connection import HEAD_LIMIT
from tests.gateway.http_servers import (
    CHUNKED,
    OK,
    Run,
    Visit,
    answering,
    calling,
    post,
    post_and_read,
    serving,
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK, (200, b"ok")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"")),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", (304, b"")),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", (200, b"")),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: Identity\r\nContent-Length: 1\r\n\r\na", (200, b"a")),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1;x=y\r\na\r\n2\r\nbc\r\n0\r\nT: 1\r\n\r\n",
            (200, b"abc"),
        ),
    ],
)
def test_answers_of_every_framing_are_read_and_the_connection_is_used_again(
    answer: bytes, expected: tuple[int, bytes], run: Run[None]
) -> None:
    async def scenario() -> None:
        async with serving(answering(answer, answer, OK)) as server, calling(server.url) as client:
            for _ in range(2):
                response = await post(client)
                assert (response.status, await response.read(len(expected[1]))) == expected
            assert await post_and_read(client) == (200, b"ok")
            assert server.visits == 1

    run(scenario())


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", (200, b"until the end")),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", (200, b"until the end")),
    ],
)
def test_a_body_without_a_declared_length_lasts_until_the_connection_ends(
    answer: bytes, expected: tuple[int, bytes], run: Run[None]
) -> None:
    async def scenario() -> None:
        async with serving(answering(answer)) as server, calling(server.url) as client:
            assert await post_and_read(client) == expected
            assert await post_and_read(client) == expected
            assert server.visits == 2

    run(scenario())


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        OK + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsurplus",
        OK + b"HTTP/1.1 200",
        OK + b"garbage",
    ],
)
def test_a_connection_about_to_close_or_with_too_much_said_is_not_used_again(answer: bytes, run: Run[None]) -> None:
    async def script(visit: Visit) -> None:
        await visit.read_request()
        await visit.write(answer)
        await visit.until_closed()

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            for _ in range(2):
                assert await post_and_read(client) == (200, b"ok")
            assert server.visits == 2

    run(scenario())


def test_the_answer_to_head_has_no_body_whatever_it_declares(run: Run[None]) -> None:
    async def scenario() -> None:
        declared = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
        async with serving(answering(declared)) as server, calling(server.url) as client:
            response = await client.request("HEAD", [], response_timeout=10)
            assert (response.status, response.header(b"content-length"), await response.read(1)) == (200, b"99", b"")

    run(scenario())


def test_headers_keep_their_order_without_those_of_hints_and_trailers(run: Run[None]) -> None:
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nSet-Cookie: b \t\r\nX-EMPTY:\r\nset-cookie: A\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def scenario() -> None:
        trailer = b"0\r\nTrailer: x\r\n\r\n"
        async with serving(answering(hint + head + trailer)) as server, calling(server.url) as client:
            response = await post(client)
            assert await response.read(0) == b""
            assert response.headers == [
                (b"set-cookie", b"b"),
                (b"x-empty", b""),
                (b"set-cookie", b"A"),
                (b"transfer-encoding", b"chunked"),
            ]
            assert (response.header(b"set-cookie"), response.header(b"absent")) == (b"b", None)

    run(scenario())


@pytest.mark.requirement("B7")
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x16",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\nsecret",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nsecret",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Length: 7\r\n\r\nsecret",
        b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsecret",
        b"HTTP/1.1 200 OK\r\nX: secret\nY: z\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: secret\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 099 What\r\nContent-Length: 0\r\n\r\n" + OK,
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + OK,
        b"HTTP/1.1 100 Continue\r\n\r\n",
        CHUNKED,
        CHUNKED + b"9\r\nsecret",
        CHUNKED + b"6\r\nsecret\r\n",
        CHUNKED + b"6\r\nsecret\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"s" * HEAD_LIMIT + b"\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: secret\r\n" * 8_000 + b"Content-Length: 0\r\n\r\n",
    ],
)
def test_a_malformed_cut_or_encoded_answer_is_an_error_and_the_request_is_not_repeated(
    answer: bytes, run: Run[None]
) -> None:
    async def scenario() -> None:
        async with serving(answering(answer)) as server, calling(server.url) as client:
            with pytest.raises(UpstreamProtocolError) as failed:
                await (await post(client)).read(1 << 20)
            message = str(failed.value)
            assert message.startswith(client.origin)
            assert "secret" not in message
            assert "\n" not in message
            assert server.visits == 1
            assert client._pool._free_places == 256

    run(scenario())


@pytest.mark.requirement("B6")
@pytest.mark.parametrize(
    ("opening", "more"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 1000),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 100),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 10),
        (CHUNKED + b"1\r\na\r\n0\r\n", b"X: y\r\n" * 100),
        (CHUNKED + b"1\r\na\r\n0\r\nX: ", b"x" * 1000),
        (CHUNKED + b"1;x=", b"x" * 1000),
    ],
)
def test_a_server_that_never_stops_sending_anything_but_a_body_is_cut_off(
    opening: bytes, more: bytes, run: Run[None]
) -> None:
    async def script(visit: Visit) -> None:
        await visit.read_request()
        await visit.write(opening)
        while True:
            await visit.write(more)

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            with pytest.raises(UpstreamProtocolError):
                await (await post(client)).read(1 << 20)
            await server.ended(1)

    run(scenario())


@pytest.mark.parametrize("opening", [b"HTTP/1.1 200 OK\r\n\r\npart", CHUNKED + b"4\r\npart\r\n"])
def test_a_reset_in_the_middle_of_a_body_is_never_taken_for_its_end(opening: bytes, run: Run[None]) -> None:
    may_reset = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.read_request()
        await visit.write(opening)
        await may_reset.wait()
        visit.reset()

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            chunks = (await post(client)).chunks()
            assert await anext(chunks) == b"part"
            may_reset.set()
            with pytest.raises(UpstreamProtocolError):
                await anext(chunks)

    run(scenario())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(st.binary(min_size=1, max_size=300), max_size=8), cuts=st.sets(st.integers(0, 3000), max_size=12)
)
def test_any_body_in_any_chunks_cut_anywhere_comes_out_the_same(
    pieces: list[bytes], cuts: set[int], run: Run[None]
) -> None:
    wire = CHUNKED + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    marks = [0, *sorted(cut for cut in cuts if cut < len(wire)), len(wire)]

    async def script(visit: Visit) -> None:
        await visit.read_request()
        for start, end in pairwise(marks):
            await visit.write(wire[start:end])
            await asyncio.sleep(0)
        await visit.until_closed()

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            assert await post_and_read(client) == (200, b"".join(pieces))

    run(scenario())
