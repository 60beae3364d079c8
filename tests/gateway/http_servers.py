"""A raw server that follows a script, one connection at a time, and a client to call it with."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import uvloop

from handfast.gateway.http.client import (
    HttpClient,
    Response,
)

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, T]], T]  # Any: what a coroutine yields and is sent is the loop's affair
Script = Callable[["Visit"], Awaitable[None]]
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SECRET = (b"Authorization", b"Bearer secret")


class Visit:
    """One connection as the server sees it."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number = number
        self._reader = reader
        self._writer = writer

    async def read_head(self) -> bytes:
        return await self._reader.readuntil(b"\r\n\r\n")

    async def read_body(self, head: bytes) -> bytes:
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b": ")
            if name == b"Content-Length":
                return await self._reader.readexactly(int(value))
        return b""

    async def read_request(self) -> bytes:
        head = await self.read_head()
        return head + await self.read_body(head)

    async def write(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._writer.write(piece)
            await self._writer.drain()

    async def count_rest(self) -> int:
        """How many bytes still come before the client closes."""
        return len(await self._reader.read())

    async def until_closed(self) -> None:
        """Return when the client has closed: nothing more of it may arrive."""
        assert await self.count_rest() == 0

    async def hold(self) -> None:
        """Say nothing, whatever comes."""
        await self.count_rest()

    def reset(self) -> None:
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._writer.transport.abort()


class Server:
    """Runs one script per connection and remembers how many there were."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.visits = 0
        self.url = ""
        self.failures: list[BaseException] = []
        self._ended = asyncio.Condition()
        self._ends = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visits += 1
        try:
            await self._script(Visit(self.visits, reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client left, which most tests are about
        except AssertionError as failure:
            self.failures.append(failure)
        finally:
            writer.transport.abort()
            async with self._ended:
                self._ends += 1
                self._ended.notify_all()

    async def ended(self, count: int) -> None:
        """Return when so many scripts have run to their end."""
        async with self._ended:
            await self._ended.wait_for(lambda: self._ends >= count)


@asynccontextmanager
async def serving(
    script: Script, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    server = Server(script)
    listening = await asyncio.start_server(server.serve, host, 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/mcp"
    try:
        yield server
    finally:
        listening.close()
        await server.ended(server.visits)
    assert server.failures == []


@asynccontextmanager
async def calling(url: str, **options: Any) -> AsyncIterator[HttpClient]:  # Any: the constructor's own keywords
    client = HttpClient(url, **options)
    try:
        yield client
    finally:
        await client.close()


def answering(*answers: bytes) -> Script:
    """Each request on a connection gets the next answer; after the last, the connection is closed."""

    async def script(visit: Visit) -> None:
        for answer in answers:
            await visit.read_request()
            await visit.write(answer)

    return script


async def answer_always(visit: Visit) -> None:
    while True:
        await visit.read_request()
        await visit.write(OK)


async def say_one_thing(visit: Visit) -> None:
    await visit.read_request()
    await visit.write(CHUNKED + b"3\r\none\r\n")
    await visit.until_closed()


async def post(client: HttpClient, body: bytes = b"{}", *, seconds: float = 10) -> Response:
    return await client.request("POST", [SECRET], body, response_timeout=seconds)


async def post_and_read(client: HttpClient, body: bytes = b"{}") -> tuple[int, bytes]:
    response = await post(client, body)
    return response.status, await response.read(1 << 24)


async def turn_until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until something inside is so, where no message could tell."""
    for _ in range(1_000_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to be")
