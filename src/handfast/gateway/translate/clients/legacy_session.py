"""One legacy client's session over HTTP in front of a Backend, and its listening stream."""

import asyncio
from collections.abc import Callable
from secrets import token_urlsafe

from handfast.gateway.http.event_log import EventLog, EventShelf, UnknownEvent
from handfast.gateway.http.event_stream import follow, is_primed, prime, rest, send_since
from handfast.gateway.http.exchange import STREAM_HEADERS, HttpExchange, HttpProblem
from handfast.gateway.translate.backend import Backend
from handfast.gateway.translate.clients.legacy_client import Diagnose, LegacyClient, RecordRefused, record_nothing
from handfast.wire.sse import KEEP_ALIVE


class LegacySession:
    def __init__(
        self,
        backend: Backend,
        shelf: EventShelf,
        *,
        actor: str,
        address: str = "",
        now: Callable[[], float],
        diagnose: Diagnose,
        record_refused: RecordRefused = record_nothing,
        question_seconds: float,
    ) -> None:
        self.id = token_urlsafe(24)
        self.backend = backend
        self.chose: frozenset[str] | None = None  # the servers that it is for; None for all that the front has
        self.actor = actor  # who opened it, and nobody else may use it
        self.address = address  # whose room it counts towards
        self.opened = self.last_used = now()
        self.has_called = False
        self.log = EventLog(shelf, now=now)
        self._stream = self.log.open()  # for what belongs to no request
        self._heard = 0  # how much of it was sent to somebody who seemed to be there
        self._is_closed = False
        self.client = LegacyClient(
            backend,
            self._keep,
            caller=self.id,
            actor=actor,
            address=address,
            diagnose=diagnose,
            record_refused=record_refused,
            question_seconds=question_seconds,
        )

    @property
    def is_idle(self) -> bool:
        return not self.client.is_busy and self._stream.on_change is None

    def _keep(self, message: bytes) -> None:
        """Of more than the log has room for the oldest goes."""
        self.log.add(self._stream, message)

    def stop_listening(self) -> None:
        self._is_closed = True
        self._stream.changed()

    def close(self, reason: str = "") -> None:
        """With a `reason` requests under way are answered with it."""
        self.stop_listening()
        self.client.close(reason)
        self.log.close()

    async def listen(self, http: HttpExchange) -> None:
        """Serve the client's GET stream, or the one that it resumes, until either side ends it. Raises: HttpProblem."""
        stream = self._stream
        position = max(self._heard, stream.sent - len(stream.events))
        last_event = http.header(b"last-event-id")
        if last_event is not None:
            try:
                stream, position = self.log.find(last_event)
            except UnknownEvent:
                # Not 404: to a client that would mean the end of the session.
                text = (
                    "There is nothing to resume after this Last-Event-ID: it is unknown here, or what followed is gone."
                )
                raise HttpProblem(400, text) from None
        if stream is self._stream:
            await self._listen(http, position)
        else:
            await follow(http, self.log, stream, position=position)

    async def _listen(self, http: HttpExchange, position: int) -> None:
        """A newer connection takes over."""
        bell = asyncio.Event()
        wake = bell.set
        self._stream.changed()  # an older one sees that it has been replaced
        self._stream.on_change = wake
        http.watch(wake)
        await http.start_stream(200, STREAM_HEADERS)
        await http.send_chunk(KEEP_ALIVE)
        if position == self._stream.sent and is_primed(http):
            prime(self.log, self._stream)
        try:
            while self._stream.on_change is wake and not http.has_left and not self._is_closed:
                bell.clear()
                position = self._heard = await send_since(http, self._stream, position)
                await rest(http, bell)
        except UnknownEvent:
            pass  # it fell so far behind that the rest is gone; asking again says so
        finally:
            if self._stream.on_change is wake:
                self._stream.on_change = None
            http.unwatch()
            await http.end_stream()
