"""One legacy client's session, and the stream for messages that belong to no request."""

from collections.abc import Callable
from secrets import token_urlsafe

from handfast.core.call.caller import Caller
from handfast.gateway.http.event_log import EventLog, EventShelf, KeptStream, UnknownEvent
from handfast.gateway.http.event_stream import follow, is_primed, prime, reading, send_since
from handfast.gateway.http.exchange import HttpExchange, HttpProblem
from handfast.wire.sse import KEEP_ALIVE

_NOTHING_THERE = "There is nothing to resume after this Last-Event-ID: it is unknown here, or what followed is gone."


class ListeningSession:
    """The common part of sessions; each kind adds whether requests are under way, and messages judged when heard."""

    def __init__(self, shelf: EventShelf, opener: Caller, *, now: Callable[[], float]) -> None:
        name = token_urlsafe(24)
        self.id = name.encode()
        self.caller = opener.in_session(name)  # other callers may not use it
        self.address = self.caller.address  # the address whose room it counts towards
        self.opened = self.last_used = now()
        self.has_called = False
        self.log = EventLog(shelf, now=now)
        self.is_closed = False
        self._stream: KeptStream | None = None  # for messages that belong to no request
        self._heard = 0  # how many of its events were sent to a client that seemed present

    @property
    def is_busy(self) -> bool:
        """Whether requests are under way."""
        raise NotImplementedError

    @property
    def is_idle(self) -> bool:
        return not self.is_busy and (self._stream is None or self._stream.on_change is None)

    def say(self, message: bytes) -> None:
        """Sends a message that belongs to no request. If the log has no room for it, its oldest events are dropped."""
        self.log.add(self._open_stream(), message)

    async def take_next(self) -> bool:
        """Sends the next message that waits for a listener; returns False if there is none."""
        return False

    def wake_listener(self) -> None:
        if self._stream is not None:
            self._stream.changed()

    def stop_listening(self) -> None:
        self.is_closed = True
        self.wake_listener()

    def close(self, reason: str = "") -> None:
        """Ends the session; requests under way are answered with the `reason`, if there is one."""
        self.stop_listening()
        self._end_requests(reason)
        self.log.close()

    def _end_requests(self, reason: str) -> None:
        """Ends requests under way, in sessions where nothing else does."""

    async def listen(self, http: HttpExchange) -> None:
        """Serves the client's GET stream, or the one it resumes, until either side ends it. Raises: HttpProblem."""
        own = self._open_stream()
        last_event = http.header(b"last-event-id")
        if last_event is None:
            await self._listen(http, own, max(self._heard, own.sent - len(own.events)), is_new=True)
            return
        try:
            stream, position = self.log.find(last_event)
        except UnknownEvent:
            # Not 404: to a client that would mean the end of the session.
            raise HttpProblem(400, _NOTHING_THERE) from None
        if stream is own:
            await self._listen(http, stream, position, is_new=False)
        else:
            await follow(http, self.log, stream, position=position)

    async def _listen(self, http: HttpExchange, stream: KeptStream, position: int, *, is_new: bool) -> None:
        """Sends the stream until the session ends or a newer connection takes over."""
        async with reading(http, stream) as (bell, is_current):
            await http.send_chunk(KEEP_ALIVE)
            if is_new and position == stream.sent and is_primed(http):
                prime(self.log, stream)

            def is_heard() -> bool:
                return is_current() and not self.is_closed

            while is_heard():
                bell.clear()
                position = await send_since(http, stream, position)
                self._heard = max(self._heard, position)  # a newer connection may have heard more by now
                if not (is_heard() and await self.take_next()):
                    await bell.wait()

    def _open_stream(self) -> KeptStream:
        if self._stream is None:
            self._stream = self.log.open()
        return self._stream
