"""Bodies as they arrive: back-pressure, limits, and leaving early."""

import asyncio
import gc

import pytest

from handfast.gateway.http.client import (
    BodyTooLarge,
    UpstreamProtocolError,
)
from handfast.gateway.http.connection import BODY_BUFFER
from tests.gateway.http_servers import (
    CHUNKED,
    OK,
    Run,
    Visit,
    answer_always,
    calling,
    post,
    post_and_read,
    say_one_thing,
    serving,
    turn_until,
)


async def stream_for_ever(visit: Visit) -> None:
    await visit.read_request()
    await visit.write(CHUNKED)
    while True:
        await visit.write(b"8000\r\n" + bytes(0x8000) + b"\r\n")


@pytest.mark.requirement("B6")
def test_a_slow_taker_slows_the_upstream_instead_of_filling_memory(run: Run[None]) -> None:
    async def scenario() -> None:
        async with serving(stream_for_ever) as server, calling(server.url) as client:
            largest = taken = 0
            async for chunk in (await post(client)).chunks():
                largest, taken = max(largest, len(chunk)), taken + len(chunk)
                if taken > 1 << 24:
                    break
                for _ in range(30):  # each turn of the loop could bring another read
                    await asyncio.sleep(0)
            assert largest <= 2 * BODY_BUFFER
            await server.ended(1)

    run(scenario())


def test_chunks_are_handed_over_as_they_arrive_and_the_end_gives_the_connection_back(run: Run[None]) -> None:
    turn = asyncio.Semaphore(0)

    async def script(visit: Visit) -> None:
        while True:
            await visit.read_request()
            await visit.write(CHUNKED)
            for piece in (b"1\r\na\r\n", b"2\r\nbc\r\n", b"0\r\n\r\n"):
                await turn.acquire()
                await visit.write(piece)

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            for _ in range(3):
                taken: list[bytes] = []
                response = await post(client)
                turn.release()
                async for chunk in response.chunks():
                    taken.append(chunk)
                    turn.release()
                assert taken == [b"a", b"bc"]
                assert await response.read(100) == b""
            assert server.visits == 1

    run(scenario())


def test_a_body_has_arrived_once_its_end_is_here_whether_or_not_it_was_taken(run: Run[None]) -> None:
    turn = asyncio.Semaphore(0)

    async def script(visit: Visit) -> None:
        await visit.read_request()
        await visit.write(OK[:-1])
        await turn.acquire()
        await visit.write(OK[-1:])
        await visit.read_request()
        await visit.write(OK)

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            response = await post(client)
            seen = [response.has_arrived]
            turn.release()
            assert await response.read(100) == b"ok"
            seen += [response.has_arrived, (await post(client)).has_arrived]
            assert seen == [False, True, True]

    run(scenario())


def test_leaving_an_iteration_early_closes_the_connection_and_says_so_to_a_later_read(run: Run[None]) -> None:
    async def scenario() -> None:
        async with serving(say_one_thing) as server, calling(server.url) as client:
            response = await post(client)
            async for _ in response.chunks():
                break
            await server.ended(1)
            with pytest.raises(UpstreamProtocolError):
                await response.read(100)
            assert client._pool._free_places == 256

    run(scenario())


def test_cancelling_aborting_or_forgetting_an_answer_closes_its_connection(run: Run[None]) -> None:
    async def scenario() -> None:
        async with serving(say_one_thing) as server, calling(server.url) as client:
            reading = asyncio.create_task((await post(client)).read(1 << 20))
            for _ in range(5):
                await asyncio.sleep(0)
            reading.cancel()
            await server.ended(1)

            (await post(client)).abort()
            await server.ended(2)

            await post(client)
            gc.collect()
            await server.ended(3)
            with pytest.raises(asyncio.CancelledError):
                await reading
            assert client._pool._free_places == 256

    run(scenario())


def test_cancelling_a_request_closes_its_connection_and_no_other(run: Run[None]) -> None:
    async def script(visit: Visit) -> None:
        while await visit.read_body(await visit.read_head()) != b"silence":
            await visit.write(OK)
        arrived.set()
        await visit.until_closed()

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            waiting = asyncio.create_task(post(client, b"silence"))
            await arrived.wait()
            waiting.cancel()
            await server.ended(1)
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await post_and_read(client) == (200, b"ok")
            assert (server.visits, client._pool._free_places) == (2, 256)

    arrived = asyncio.Event()
    run(scenario())


def test_an_answer_that_comes_in_the_moment_of_a_cancellation_leaks_nothing(run: Run[None]) -> None:
    async def scenario() -> None:
        async with serving(say_one_thing) as server, calling(server.url) as client:
            call = asyncio.create_task(post(client))
            await turn_until(lambda: len(client._pool._open) == 1)
            (connection,) = client._pool._open
            await turn_until(lambda: connection._body is not None)  # handed over, but not yet taken
            call.cancel()
            await asyncio.wait([call])
            assert call.cancelled()
            assert client._pool._free_places == 256
            await server.ended(1)

    run(scenario())


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", CHUNKED + b"65\r\n" + bytes(101)]
)
def test_a_body_over_the_limit_is_refused_and_not_read_on(answer: bytes, run: Run[None]) -> None:
    async def script(visit: Visit) -> None:
        await visit.read_request()
        await visit.write(answer)
        await visit.until_closed()

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            with pytest.raises(BodyTooLarge):
                await (await post(client)).read(100)
            await server.ended(1)

    run(scenario())


def test_a_body_of_exactly_the_limit_is_read(run: Run[None]) -> None:
    async def scenario() -> None:
        async with serving(answer_always) as server, calling(server.url) as client:
            assert await (await post(client)).read(2) == b"ok"
            with pytest.raises(BodyTooLarge):
                await (await post(client)).read(1)

    run(scenario())


@pytest.mark.requirement("F4")
def test_a_chunk_of_nothing_but_line_ends_comes_in_slices(run: Run[None]) -> None:
    """Each may be a line of an event, which takes a microsecond: others have their turn in between."""
    text = b"\n" * 60_000

    async def stream(visit: Visit) -> None:
        await visit.read_request()
        await visit.write(CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(text), text))

    async def scenario() -> None:
        async with serving(stream) as server, calling(server.url) as client:
            chunks = [chunk async for chunk in (await post(client)).chunks()]
        assert b"".join(chunks) == text
        assert max(map(len, chunks)) <= 4096

    run(scenario())
