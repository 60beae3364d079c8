"""MCP over this process's stdin and stdout for the SDK's server; answers lines that are not plain messages itself."""

import asyncio
import os
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import IO, Final, TextIO

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from handfast.pipes import InputPipe, OutputPipe
from handfast.toolkit.serve.misread_messages import OddAnswer, is_plain
from handfast.wire.codes import REQUEST_TOO_LARGE
from handfast.wire.lines import LineAssembler, OverlongLine
from handfast.wire.message import id_in_head
from handfast.wire.replies import error_reply

_LONGEST_LINE: Final = 16 * 1024 * 1024
_MOST_WAITING: Final = 256  # messages that the server has not taken yet; then reading pauses
_FLUSH_SECONDS: Final = 5.0

Answer = Callable[[bytes], Awaitable[OddAnswer | None]]  # answers a line that is not a plain message


class Incoming:
    """The SDK's ReadStream, from lines."""

    def __init__(self, answer: Answer, reply: Callable[[bytes], None]) -> None:
        self._answer = answer
        self._reply = reply
        self._lines = LineAssembler(_LONGEST_LINE)
        self._ready: deque[SessionMessage] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._has_ended = False
        self._answering: set[asyncio.Task[None]] = set()
        self.pipe = InputPipe(self._take_chunk, self.end)

    async def receive(self) -> SessionMessage:
        while not self._ready:
            if self._has_ended:
                raise anyio.EndOfStream
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if len(self._ready) == _MOST_WAITING:
            self.pipe.pause(False)
        return self._ready.popleft()

    def end(self) -> None:
        if not self._has_ended and (last := self._lines.close()):
            self._take(last)
        self._has_ended = True
        self._wake()

    def _take_chunk(self, chunk: bytes) -> None:
        for line in self._lines.feed(chunk):
            if isinstance(line, OverlongLine):
                text = f"The message is longer than {_LONGEST_LINE} bytes. Send a shorter one."
                self._reply(error_reply(id_in_head(line.head), REQUEST_TOO_LARGE, text))
            else:
                self._take(line)
        if len(self._ready) >= _MOST_WAITING:
            self.pipe.pause(True)

    def _take(self, line: bytes) -> None:
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False) if is_plain(line) else None
        except ValueError:
            message = None
        if message is not None:
            self._ready.append(SessionMessage(message))
            self._wake()
            return
        task = asyncio.get_running_loop().create_task(self._say(line))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _say(self, line: bytes) -> None:
        answer = await self._answer(line)
        if answer is not None:
            self._reply(answer.message)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def aclose(self) -> None:
        self.end()
        self.pipe.close()

    def __aiter__(self) -> "Incoming":
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> "Incoming":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Outgoing:
    """The SDK's WriteStream, to lines."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        self._is_free = asyncio.Event()
        self._is_free.set()
        self._on_lost = on_lost
        self._is_lost = False
        self.pipe = OutputPipe(self._slow_down, self._lose)

    async def send(self, item: SessionMessage, /) -> None:
        if self._is_lost:
            raise anyio.BrokenResourceError
        self.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode())
        if not self._is_free.is_set():
            await self._is_free.wait()  # the client reads more slowly than the server writes

    def write(self, line: bytes) -> None:
        if not self._is_lost:
            self.pipe.write_line(line)

    def _slow_down(self, is_congested: bool) -> None:
        if is_congested:
            self._is_free.clear()
        else:
            self._is_free.set()

    def _lose(self) -> None:
        self._is_lost = True
        self._is_free.set()
        self._on_lost()

    async def aclose(self) -> None:
        """Leaves the pipe open, because the client may not have read the last messages yet."""

    async def __aenter__(self) -> "Outgoing":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@asynccontextmanager
async def stdio_streams(answer: Answer) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Streams for the SDK's server until the client leaves; `answer` answers lines that are not plain messages."""
    outgoing = Outgoing(lambda: incoming.end())
    incoming = Incoming(answer, outgoing.write)
    await outgoing.pipe.open(_duplicate(sys.stdout, "wb"))
    await incoming.pipe.open(_duplicate(sys.stdin, "rb"))
    try:
        with _diverted():
            yield incoming, outgoing
    finally:
        await incoming.aclose()
        with suppress(TimeoutError):  # the client no longer reads
            async with asyncio.timeout(_FLUSH_SECONDS):
                await outgoing.pipe.flush()


def _duplicate(stream: TextIO, mode: str) -> IO[bytes]:
    return os.fdopen(os.dup(stream.fileno()), mode, buffering=0)


@contextmanager
def _diverted() -> Iterator[None]:
    """Keeps stdin and stdout for the protocol: tools print to stderr, and processes they start read nothing."""
    sys.stdout.flush()
    kept = [(number, os.dup(number)) for number in (0, 1)]
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        for number, own in kept:
            os.dup2(own, number)
            os.close(own)
