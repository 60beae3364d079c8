"""The answer to one POST, plain or as a stream of events, and the resumption of such a stream by its client.

A stream that is silent is kept alive by its connection.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from handfast.gateway.http.event_log import EventLog, KeptStream, UnknownEvent
from handfast.gateway.http.exchange import JSON, STREAM_HEADERS, HttpExchange
from handfast.wire.sse import render_event

# Earlier clients take an event without data for a broken message.
_FIRST_PRIMED = b"2025-11-25"
# How long a client waits before it comes back: short beside a call that is worth resuming, long beside a reconnection.
_RETRY_MS = 1000
# An answer that takes longer than this comes on a stream, which a client can resume if the connection breaks.
OPEN_AFTER_SECONDS = 1.0


def is_primed(http: HttpExchange) -> bool:
    """Whether a stream for this client begins with an id, so that it can be resumed before its first message."""
    return (http.header(b"mcp-protocol-version") or b"") >= _FIRST_PRIMED


def may_open_early(http: HttpExchange) -> bool:
    """Whether this client can use a stream without messages so far: it knows what an id alone is for."""
    return is_primed(http) and b"text/event-stream" in (http.header(b"accept") or b"").lower()


def prime(log: EventLog, stream: KeptStream) -> bytes:
    """Adds the event with an id and no data that comes first (2025-11-25, Sending Messages to the Server, 6)."""
    return log.add(stream, b"", retry=_RETRY_MS)


class StreamedAnswer:
    """Sends plain JSON when nothing precedes the answer, else a stream. Without a log events have no ids of ours."""

    __slots__ = ("_http", "_kept", "_log", "is_open")

    def __init__(self, http: HttpExchange, log: EventLog | None = None) -> None:
        self._http = http
        self._log = log
        self._kept: KeptStream | None = None
        self.is_open = False

    def open(self, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        """Starts the answer as a stream."""
        self.is_open = True
        self._http.start_stream(200, [*STREAM_HEADERS, *headers])
        if self._log is not None:
            self._kept = self._log.open()
            if is_primed(self._http):
                self._http.write_chunk(prime(self._log, self._kept))

    def open_early(self) -> None:
        """Opens the stream of a silent call, which is easily cut off, for a client that can come back with an id."""
        is_waiting = not self._http.has_started and not self._http.has_left
        if self._log is not None and is_waiting and may_open_early(self._http):
            self.open()

    async def write(self, data: bytes) -> None:
        """Sends a message that comes before the answer, or the answer on a stream."""
        if not self.is_open:
            self.open()
        if self._log is None or self._kept is None:
            await self._http.send_chunk(render_event(data))
            return
        event = self._log.add(self._kept, data)
        if self._kept.on_change is None:
            await self._http.send_chunk(event)  # else the reader that came back was woken to send it

    async def finish(self, answer: bytes, *, status: int = 200) -> None:
        """Sends the answer. The status is for a plain one: a stream has had its own."""
        if not self.is_open:
            await self._http.respond(status, [JSON], answer)
            return
        await self.write(answer)
        await self.end()

    async def end(self) -> None:
        """Ends the stream, when no answer is due or it was written."""
        if self._log is not None and self._kept is not None:
            if self._kept.on_change is None and not self._http.has_left:
                self._log.delivered(self._kept)
            self._log.end(self._kept)
        await self._http.end_stream()


async def follow(http: HttpExchange, log: EventLog, stream: KeptStream, *, position: int) -> None:
    """Sends what follows this position, until the stream ends or a newer connection takes over."""
    if stream.is_over and position == stream.sent:
        # Version 1 of the TypeScript client does not take an error for an answer: it comes back, and to an empty stream
        # it would come back for ever. 204 ends that, there and in the standard of server-sent events.
        http.start_stream(204, [])
        await http.end_stream()
        return
    async with reading(http, stream) as (bell, is_current):
        while is_current():
            bell.clear()
            position = await send_since(http, stream, position)
            if stream.is_over and position == stream.sent:
                log.delivered(stream)
                break
            await bell.wait()


@asynccontextmanager
async def reading(http: HttpExchange, stream: KeptStream) -> AsyncIterator[tuple[asyncio.Event, Callable[[], bool]]]:
    """Makes this connection the only reader of the stream; yields what wakes it, and whether it still is the reader."""
    bell = asyncio.Event()
    wake = bell.set
    stream.changed()  # an older reader sees that it has been replaced
    stream.on_change = wake
    http.watch(wake)
    http.start_stream(200, STREAM_HEADERS)
    try:
        yield bell, lambda: stream.on_change is wake and not http.has_left
    except UnknownEvent:
        pass  # the client fell so far behind that the rest is gone: the stream ends, and to resume it is an error
    finally:
        if stream.on_change is wake:
            stream.on_change = None
        http.unwatch()
        await http.end_stream()


async def send_since(http: HttpExchange, stream: KeptStream, position: int) -> int:
    """Sends what follows this position, and returns the new position. Raises: UnknownEvent."""
    for event in stream.since(position):
        if http.has_left:
            break
        await http.send_chunk(event)
        position += 1
    return position
