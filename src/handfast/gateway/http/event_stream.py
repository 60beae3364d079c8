"""Events on their way to one client: down the connection that asked, and again to a client that comes back for them."""

import asyncio

from handfast.gateway.http.event_log import EventLog, KeptStream, UnknownEvent
from handfast.gateway.http.exchange import STREAM_HEADERS, Headers, HttpExchange
from handfast.wire.sse import KEEP_ALIVE, render_event

KEEP_ALIVE_SECONDS = 15.0
# Earlier clients take an event without data for a broken message.
_FIRST_PRIMED = b"2025-11-25"
# How long a client waits before it comes back: short beside a call that is worth resuming, long beside a reconnection.
_RETRY_MS = 1000
# An answer that takes longer than this comes on a stream, which a client can resume if the connection breaks.
OPEN_AFTER_SECONDS = 1.0


def is_primed(http: HttpExchange) -> bool:
    """Whether a stream for this client begins with an id, so that it can be resumed before anything was said on it."""
    return (http.header(b"mcp-protocol-version") or b"") >= _FIRST_PRIMED


def may_open_early(http: HttpExchange) -> bool:
    """Whether this client has a use for a stream on which nothing was said yet: it knows what an id alone is for."""
    return is_primed(http) and b"text/event-stream" in (http.header(b"accept") or b"").lower()


def prime(log: EventLog, stream: KeptStream) -> bytes:
    """2025-11-25, Sending Messages to the Server, 6: an event with an id and nothing in it comes first."""
    return log.add(stream, b"", retry=_RETRY_MS)


class EventStream:
    """The stream that answers one request. Without a log nothing is kept and events have no ids."""

    def __init__(self, http: HttpExchange, log: EventLog | None) -> None:
        self._http = http
        self._log = log
        self._kept = log.open() if log is not None else None

    async def start(self, headers: Headers) -> None:
        await self._http.start_stream(200, [*STREAM_HEADERS, *headers])
        if self._log is not None and self._kept is not None and is_primed(self._http):
            await self._http.send_chunk(prime(self._log, self._kept))

    async def write(self, data: bytes) -> None:
        if self._log is None or self._kept is None:
            await self._http.send_chunk(render_event(data))
            return
        event = self._log.add(self._kept, data)
        if self._kept.on_change is None:
            await self._http.send_chunk(event)  # else whoever came back has been woken to send it

    async def end(self) -> None:
        if self._log is not None and self._kept is not None:
            if self._kept.on_change is None and not self._http.has_left:
                self._log.delivered(self._kept)
            self._log.end(self._kept)
        await self._http.end_stream()


async def follow(http: HttpExchange, log: EventLog, stream: KeptStream, *, position: int) -> None:
    """Send what came after this position and what still comes, until the stream ends; a newer connection takes over."""
    if stream.is_over and position == stream.sent:
        # Version 1 of the TypeScript client takes no error for an answer: it comes back, and to an empty stream it
        # would come back for ever. 204 ends that, there and in the standard of server-sent events.
        await http.start_stream(204, [])
        await http.end_stream()
        return
    bell = asyncio.Event()
    wake = bell.set
    stream.changed()  # an older reader sees that it has been replaced
    stream.on_change = wake
    http.watch(wake)
    await http.start_stream(200, STREAM_HEADERS)
    try:
        while stream.on_change is wake and not http.has_left:
            bell.clear()
            position = await send_since(http, stream, position)
            if stream.is_over and position == stream.sent:
                log.delivered(stream)
                break
            await rest(http, bell)
    except UnknownEvent:
        pass  # it fell so far behind that the rest is gone: the stream ends here, and asking again says so
    finally:
        http.unwatch()
        await http.end_stream()


async def send_since(http: HttpExchange, stream: KeptStream, position: int) -> int:
    """Send what was written after this position, and give the new one. Raises: UnknownEvent."""
    for event in stream.since(position):
        if http.has_left:
            break
        await http.send_chunk(event)
        position += 1
    return position


async def rest(http: HttpExchange, bell: asyncio.Event) -> None:
    """Wait for news, or show that the connection is still there."""
    try:
        await asyncio.wait_for(bell.wait(), KEEP_ALIVE_SECONDS)
    except TimeoutError:
        await http.send_chunk(KEEP_ALIVE)
