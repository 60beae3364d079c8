"""The answer to one POST in front of a Backend: plain JSON when the answer is all there is, a stream otherwise."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from handfast.gateway.calls.flow import Flow
from handfast.gateway.http.event_log import EventLog
from handfast.gateway.http.event_stream import KEEP_ALIVE_SECONDS, OPEN_AFTER_SECONDS, EventStream, may_open_early
from handfast.gateway.http.exchange import JSON, Headers, HttpExchange
from handfast.wire.codes import INTERNAL_ERROR, INVALID_REQUEST
from handfast.wire.message import RequestId
from handfast.wire.replies import error_reply
from handfast.wire.sse import KEEP_ALIVE

# What may wait for one request's client: a burst of progress, or a large answer's worth of log.
_WAITING = 1000
_WAITING_BYTES = 8 * 1024 * 1024
# Past this much those who can wait do; whoever cannot has the rest.
_ENOUGH = _WAITING // 2
_ENOUGH_BYTES = _WAITING_BYTES // 2

Work = Coroutine[Any, Any, bytes | None]  # Any: a coroutine's send types


def _ok(_answer: bytes) -> int:
    return 200


class HttpReply:
    def __init__(
        self,
        http: HttpExchange,
        request_id: RequestId | None,
        log: EventLog | None,
        *,
        cancels_on_leave: bool,
        status_of: Callable[[bytes], int] = _ok,
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        self._http = http
        self._log = log  # None where nothing can be resumed
        self._request_id = request_id
        self._cancels_on_leave = cancels_on_leave
        self._status_of = status_of
        self._keep_alive = keep_alive_seconds
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self.flow = Flow()
        self._bell = asyncio.Event()
        self._work: asyncio.Task[bytes | None] | None = None
        self._instead: bytes | None = None
        self._stream: EventStream | None = None

    def send(self, message: bytes) -> None:
        """Something that belongs to the request and comes before its answer."""
        if self._instead is not None:
            return
        if len(self._waiting) >= _WAITING or self._waiting_bytes + len(message) > _WAITING_BYTES:
            text = (
                "The client reads more slowly than messages come, so its request was cancelled. Read them as they come."
            )
            self.give_up(error_reply(self._request_id, INTERNAL_ERROR, text))
            return
        self._waiting.append(message)
        self._waiting_bytes += len(message)
        if len(self._waiting) >= _ENOUGH or self._waiting_bytes >= _ENOUGH_BYTES:
            self.flow.hold(True)
        self._bell.set()

    def give_up(self, answer: bytes) -> None:
        """Stop the work, and answer with this instead, unless it is done."""
        if self._work is not None and self._work.done():
            return
        if self._instead is None:
            self._instead = answer
        if self._work is not None:
            self._work.cancel()

    async def run(self, work: Work, headers: Headers = ()) -> None:  # type: ignore[assignment]  # as good as a list
        """Send what comes, then the answer; None for an answer means that the client cancelled the request."""
        self._work = asyncio.create_task(work)
        self._work.add_done_callback(lambda _work: self._bell.set())
        self._http.watch(self._bell.set)
        try:
            while await self._relay_next(headers):
                pass
            if not (self._http.has_left and self._cancels_on_leave):
                await self._finish(headers)
        finally:
            self._http.unwatch()
            self._work.cancel()

    async def _relay_next(self, headers: Headers) -> bool:
        """Send one thing, or wait for one; False once there is nothing but the answer."""
        assert self._work is not None
        if self._http.has_left and self._cancels_on_leave:
            return False
        if self._waiting:
            message = self._waiting.popleft()
            self._waiting_bytes -= len(message)
            if len(self._waiting) < _ENOUGH // 2 and self._waiting_bytes < _ENOUGH_BYTES // 2:
                self.flow.hold(False)
            stream = self._stream or await self._open_stream(headers)
            await stream.write(message)
            return True
        if self._work.done():
            return False
        self._bell.clear()
        try:
            await asyncio.wait_for(self._bell.wait(), self._patience())
        except TimeoutError:
            await self._end_silence(headers)
        return True

    def _patience(self) -> float | None:
        """How long nothing may be said; None where there is nothing that could be said."""
        if self._stream is not None:
            return self._keep_alive
        can_open = self._log is not None and not self._http.has_left and may_open_early(self._http)
        return OPEN_AFTER_SECONDS if can_open else None

    async def _end_silence(self, headers: Headers) -> None:
        """A long silence is easily cut off: the client gets an id to come back with, then signs of life."""
        if self._stream is None:
            await self._open_stream(headers)
        else:
            await self._http.send_chunk(KEEP_ALIVE)

    async def _open_stream(self, headers: Headers) -> EventStream:
        self._stream = EventStream(self._http, self._log)
        await self._stream.start(headers)
        return self._stream

    async def _finish(self, headers: Headers) -> None:
        answer = self._answer()
        if self._stream is None:
            await self._http.respond(self._status_of(answer), [JSON, *headers], answer)
            return
        await self._stream.write(answer)
        await self._stream.end()

    def _answer(self) -> bytes:
        assert self._work is not None
        if self._instead is not None:
            with contextlib.suppress(asyncio.CancelledError):
                self._work.exception()  # whatever it was: somebody has looked
            return self._instead
        answer = None if self._work.cancelled() else self._work.result()
        # A cancelled request is owed no answer, but a stream that ends without one makes clients ask again.
        return answer or error_reply(self._request_id, INVALID_REQUEST, "The request was cancelled.")
