"""Clients that send exact bytes and keep exact bytes: over HTTP on a kept connection, and over lines."""

import asyncio
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

SECONDS = 5.0  # for what takes milliseconds; the machine may be busy

Headers = tuple[tuple[bytes, bytes], ...]


class Silence(Exception):
    """The gateway owes an answer."""


@dataclass(frozen=True, slots=True)
class Received:
    """What a client got for one request: a response with its head, or lines without one."""

    pieces: tuple[bytes, ...]
    status: int = 0
    headers: Headers = ()

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def is_http(self) -> bool:
        return self.status > 0

    def values(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key.lower() == name]


class HttpClient:
    """One connection, opened again where the gateway closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    def close(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
            self._writer = self._reader = None

    async def send(self, method: str, path: str, headers: Headers, body: bytes = b"") -> Received:
        """Raises: Silence."""
        head = f"{method} {path} HTTP/1.1\r\n".encode()
        if not any(name.lower() == b"host" for name, _ in headers):
            head += b"Host: 127.0.0.1:%d\r\n" % self._port
        head += b"".join(b"%b: %b\r\n" % header for header in headers)
        raw = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        try:
            async with asyncio.timeout(SECONDS):
                return await self._exchange(raw)
        except TimeoutError:
            self.close()
            raise Silence("no whole response") from None

    async def _exchange(self, raw: bytes) -> Received:
        for attempt in (1, 2):
            is_kept = self._writer is not None
            if self._writer is None:
                self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
            try:
                self._writer.write(raw)
                assert self._reader is not None
                return await self._read(self._reader)
            except (ConnectionError, asyncio.IncompleteReadError) as problem:
                self.close()
                has_begun = isinstance(problem, asyncio.IncompleteReadError) and problem.partial
                if attempt == 2 or not is_kept or has_begun:
                    raise Silence("the connection was closed before the response was whole") from None
        raise AssertionError

    async def _read(self, reader: asyncio.StreamReader) -> Received:
        head = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        status = int(head[0].split(b" ")[1])
        headers = tuple((name, value.strip()) for name, _, value in (line.partition(b":") for line in head[1:] if line))
        received = Received((), status, headers)
        length = received.values(b"content-length")
        if b"chunked" in received.values(b"transfer-encoding"):
            pieces = await self._read_chunks(reader)
        elif length:
            pieces = (await reader.readexactly(int(length[0])),)
        else:
            pieces = () if status in (204, 304) else (await reader.read(),)
        if b"close" in received.values(b"connection") or not (length or pieces or status == 204):
            self.close()
        return Received(pieces, status, headers)

    async def _read_chunks(self, reader: asyncio.StreamReader) -> tuple[bytes, ...]:
        pieces: list[bytes] = []
        while size := int(await reader.readuntil(b"\r\n"), 16):
            pieces.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readexactly(2)
        return tuple(pieces)


@dataclass(slots=True)
class LineClient:
    """The client of a wrapper that runs in this process: two pipes, and every byte that came."""

    stdin: asyncio.WriteTransport
    stdout: asyncio.ReadTransport
    reader: asyncio.StreamReader
    heard: bytearray = field(default_factory=bytearray)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _reading: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, to_wrapper: int, from_wrapper: int) -> "LineClient":
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        heard = os.fdopen(from_wrapper, "rb", buffering=0)
        stdout, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), heard)
        said = os.fdopen(to_wrapper, "wb", buffering=0)
        stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, said)
        client = cls(stdin, stdout, reader)
        client._reading = asyncio.create_task(client._read())
        return client

    async def _read(self) -> None:
        while data := await self.reader.read(65536):
            self.heard += data
            self._news.set()

    def write(self, data: bytes) -> None:
        self.stdin.write(data)

    async def wait_for(self, mark: bytes) -> None:
        """Until this was heard. Raises: Silence."""
        await self._wait_until(lambda: mark in self.heard)

    async def wait_for_answer(self, request_id: bytes) -> None:
        """Until the request of this id was answered: every server here answers in the end. Raises: Silence."""
        named = re.compile(rb'"id"\s*:\s*' + re.escape(request_id))
        await self._wait_until(
            lambda: any(named.search(line) and b'"method"' not in line for line in self.heard.split(b"\n"))
        )

    async def _wait_until(self, is_heard: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                while not is_heard():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise Silence("no answer on the line") from None

    def take(self) -> bytes:
        heard = bytes(self.heard)
        self.heard.clear()
        return heard

    def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        self.stdin.close()
        self.stdout.close()


class _Standard:
    """Stands where the process's own stdin or stdout is while a wrapper opens them."""

    def __init__(self, buffer: IO[bytes]) -> None:
        self.buffer = buffer

    def fileno(self) -> int:
        return self.buffer.fileno()

    def isatty(self) -> bool:
        return False


class StandardPipes:
    """`with StandardPipes() as pipes`: what opens stdin and stdout meanwhile gets our pipes."""

    def __enter__(self) -> "StandardPipes":
        read_in, self.to_wrapper = os.pipe()
        self.from_wrapper, write_out = os.pipe()
        self._kept = sys.stdin, sys.stdout
        sys.stdin = _Standard(os.fdopen(read_in, "rb", buffering=0))
        sys.stdout = _Standard(os.fdopen(write_out, "wb", buffering=0))
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout.buffer.close()  # who opened it has a copy of its own
        sys.stdin, sys.stdout = self._kept
