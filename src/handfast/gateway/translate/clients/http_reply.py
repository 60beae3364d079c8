"""The answer to one POST in front of a Backend, and the bounded messages that come before it."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine
from typing import Any

from handfast.gateway.calls.flow import Flow
from handfast.gateway.http.event_log import EventLog
from handfast.gateway.http.event_stream import OPEN_AFTER_SECONDS, StreamedAnswer
from handfast.gateway.http.exchange import HttpExchange
from handfast.wire.codes import INTERNAL_ERROR, INVALID_REQUEST
from handfast.wire.message import RequestId
from handfast.wire.replies import error_reply

# What may wait for one request's client: a burst of progress, or a large answer's worth of log.
_WAITING = 1000
_WAITING_BYTES = 8 * 1024 * 1024
# Past this much, sources that can wait are paused; the rest is for those that cannot.
_ENOUGH = _WAITING // 2
_ENOUGH_BYTES = _WAITING_BYTES // 2

Work = Coroutine[Any, Any, bytes | None]  # Any: a coroutine's send types


class HttpReply:
    def __init__(
        self,
        http: HttpExchange,
        request_id: RequestId | None,
        log: EventLog | None,
        *,
        cancels_on_leave: bool,
    ) -> None:
        self._http = http
        self._answer = StreamedAnswer(http, log)
        self._is_resumable = log is not None
        self._request_id = request_id
        self._cancels_on_leave = cancels_on_leave
        self.status = 200  # of an answer that is plain JSON
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self.flow = Flow()
        self._bell = asyncio.Event()
        self._work: asyncio.Task[bytes | None] | None = None
        self._instead: bytes | None = None

    def send(self, message: bytes) -> None:
        """Queues a message that belongs to the request and comes before its answer."""
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
        """Cancels the work and answers with this instead, unless the work is done."""
        if self._work is not None and self._work.done():
            return
        if self._instead is None:
            self._instead = answer
        if self._work is not None:
            self._work.cancel()

    async def run(self, work: Work) -> None:
        """Sends what comes, then the answer; work without an answer was cancelled by the client."""
        self._work = asyncio.create_task(work)
        self._work.add_done_callback(lambda _work: self._bell.set())
        self._http.watch(self._bell.set)
        early = None
        if self._is_resumable:
            early = asyncio.get_running_loop().call_later(OPEN_AFTER_SECONDS, self._answer.open_early)
        try:
            while await self._relay_next():
                pass
            if not (self._http.has_left and self._cancels_on_leave):
                answer = self._take_answer()
                await self._answer.finish(answer, status=200 if self._answer.is_open else self.status)
        finally:
            if early is not None:
                early.cancel()
            self._http.unwatch()
            self._work.cancel()

    async def _relay_next(self) -> bool:
        """Sends one message, or waits for one; False once only the answer is left."""
        assert self._work is not None
        if self._http.has_left and self._cancels_on_leave:
            return False
        if self._waiting:
            message = self._waiting.popleft()
            self._waiting_bytes -= len(message)
            if len(self._waiting) < _ENOUGH // 2 and self._waiting_bytes < _ENOUGH_BYTES // 2:
                self.flow.hold(False)
            await self._answer.write(message)
            return True
        if self._work.done():
            return False
        self._bell.clear()
        await self._bell.wait()
        return True

    def _take_answer(self) -> bytes:
        assert self._work is not None
        if self._instead is not None:
            with contextlib.suppress(asyncio.CancelledError):
                self._work.exception()  # retrieved, so that asyncio does not report it
            return self._instead
        answer = None if self._work.cancelled() else self._work.result()
        # A cancelled request is owed no answer, but a stream that ends without one makes clients ask again.
        return answer or error_reply(self._request_id, INVALID_REQUEST, "The request was cancelled.")
