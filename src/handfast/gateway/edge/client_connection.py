"""One connection from a client: reads and answers one request at a time, and keeps the deadlines."""

import asyncio
from collections.abc import Callable
from typing import cast

from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.gateway.edge.connection_owner import PIECE_BYTES, ListenerSide
from handfast.gateway.edge.paced_body import AHEAD, PLACE, REST, RETRY_AFTER, PacedBody
from handfast.gateway.http.exchange import JSON, ClientLeft, HttpExchange, HttpProblem
from handfast.gateway.http.request_head import asks_to_close, read_head
from handfast.gateway.http.response_head import render_head
from handfast.turns import LARGE_BYTES
from handfast.wire.replies import error_reply

# Bytes of the request line and headers: four times what Node accepts, and far above any real request.
HEAD_LIMIT = 64 * 1024
# Longer heads count towards a shared bound: most have half a kilobyte, or one or two with a token.
_LONG_HEAD = 2048
# In a row, without a rest; a client of both eras has one or two of its first requests refused, and none after that.
_REFUSALS_AT_ONCE = 4


class ClientConnection(PacedBody):
    """One request at a time: `_task` answers it, and `_arriving` is its body until that is whole."""

    __slots__ = (
        "_is_silent",
        "_refusals",
        "_room",
        "_task",
        "_unflushed",
        "has_been_answered",
        "is_write_paused",
        "used_at",
    )

    def __init__(self, owner: ListenerSide) -> None:
        super().__init__(owner)
        self._task: asyncio.Task[None] | None = None
        self._room: asyncio.Event | None = None  # made when a writer first waits for room
        self._unflushed = 0
        self._refusals = 0  # since the last request that was not refused
        self._is_silent = False  # the client has closed its side
        self.is_write_paused = False
        self.has_been_answered = False
        self.used_at = owner.now  # when it was opened, or its last request was answered

    @property
    def task(self) -> asyncio.Task[None] | None:
        """The task that answers the request under way."""
        return self._task

    @property
    def may_make_way(self) -> bool:
        """Whether the connection may be closed: it has neither a whole request nor an answer that is being sent."""
        if self._task is not None and self._arriving is None:
            return False
        return self._transport is None or not self._transport.get_write_buffer_size()

    def is_answering(self, is_one: Callable[[Caller], bool]) -> bool:
        """Whether a request of such a caller is under way here."""
        return self._http is not None and is_one(self._http.caller)

    # --- what the event loop calls -----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's streams are not declared as such
        address = transport.get_extra_info("peername")
        if isinstance(address, tuple):
            self.caller = Caller(peer=address[0])
        self.deadline = self._owner.now + self._owner.patience.first_byte
        problem = self._owner.admit(self)
        if problem is not None:
            self._refuse(problem)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - a hint
        """Returns the buffer that all connections share: its content is copied out before anything else is read."""
        return self._owner.large_piece if self._has_place or self._is_parting else self._owner.piece

    def buffer_updated(self, nbytes: int) -> None:
        has_place = self._has_place or self._is_parting
        self._take(bytes((self._owner.large_piece if has_place else self._owner.piece)[:nbytes]))
        body = self._arriving
        if nbytes >= LARGE_BYTES or (body is not None and body.has_unread):
            self._wait_for_turn()
        elif body is not None and not has_place and body.size >= LARGE_BYTES:
            self._unplaced += nbytes
            if self._unplaced >= PIECE_BYTES:
                self._wait_for_place()

    def _take(self, data: bytes) -> None:
        if self._arriving is not None:
            self._read_body_on(data)
        elif self._is_parting:
            self._ignore(len(data))
        elif self._task is not None or self.is_write_paused:
            self._unread += data
            self._owner.arriving.hold(self, len(self._unread), self.abort)
            self._pause_reading(len(self._unread))
        else:
            self._read_head(self._unread + data if self._unread else data)

    def eof_received(self) -> bool:
        """Treats a client that closes its side as one that left. Its answer may still be written."""
        self._is_silent = True
        http = self._http
        if http is None:
            return False
        if self._arriving is not None:
            self._fail_body(ClientLeft())
        http.leave()
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why it is gone makes no difference
        self._owner.forget(self)
        self._owner.arriving.release(self)
        self._owner.unread.release(self)
        for line in (self._owner.ignored, self._owner.refused):
            line.forget(self, address=self.caller.address)
        self._owner.heads.release(self)
        self._unread = b""
        self.is_write_paused = False
        if self._room is not None:
            self._room.set()
        self._fail_body(ClientLeft())
        self._leave_place()
        if self._http is not None:
            self._http.leave()

    def pause_writing(self) -> None:
        self.is_write_paused = True

    def resume_writing(self) -> None:
        self.is_write_paused = False
        if self._room is not None:
            self._room.set()
        if self._is_parting:
            self._owner.unread.release(self)
            self.deadline = self._owner.now + self._owner.patience.farewell
        elif self._task is None and not self._stopped & REST:
            self._go_on()

    # --- reading -----------------------------------------------------------------------------------------------------

    def _read_head(self, data: bytes) -> None:
        if data[:1] in b"\r\n":  # RFC 9112 2.2: an empty line before a request is not part of it
            data = data.lstrip(b"\r\n")
        end = data.find(b"\r\n\r\n")
        if 0 <= end <= HEAD_LIMIT:
            try:
                self._begin(data[: end + 4], data[end + 4 :])
            except HttpProblem as problem:
                self._http = None
                self._owner.heads.release(self)
                self._refuse(problem)
        elif len(data) > HEAD_LIMIT:
            text = f"The request line and headers are over the limit of {HEAD_LIMIT} bytes. Send shorter ones."
            self._refuse(HttpProblem(431, text, rule=rules.REQUEST_HEAD_TOO_LARGE))
        elif data:
            if not self._unread:
                self.deadline = self._owner.now + self._owner.patience.head
            self._unread = data
            self._owner.arriving.hold(self, len(data), self.abort)
            if len(data) >= PIECE_BYTES:
                self._wait_for_turn()  # an ordinary head is one piece

    def _begin(self, head: bytes, rest: bytes) -> None:
        """Starts answering the request with this head. Raises: HttpProblem 400, 431 and 503."""
        if self._unread:
            self._owner.arriving.release(self)
        if len(head) > _LONG_HEAD:
            self._hold_head(len(head))
        http = HttpExchange(self, read_head(head))
        self._unread = self._begin_body(http, rest)
        if self._unread:  # of the next request
            self._owner.arriving.hold(self, len(self._unread), self.abort)
        http.has_left = self._is_silent
        self._http = http
        self._task = self._loop.create_task(self._answer(http))
        if self._arriving is not None and self._arriving.has_unread:
            self._wait_for_turn()

    def _hold_head(self, size: int) -> None:
        """Raises: HttpProblem 503."""
        self._owner.heads.hold(self, size, None)
        if self._owner.heads.is_over:
            self._owner.heads.release(self)
            text = "Too many requests with long headers are in progress. Try again later, or send shorter ones."
            raise HttpProblem(503, text, rule=rules.REQUEST_REFUSED, headers=[RETRY_AFTER])

    # --- writing -----------------------------------------------------------------------------------------------------

    def write_event(self, data: bytes) -> None:
        self.deadline = self._owner.now + self._owner.patience.keep_alive
        self.write(data)

    def end_of_head(self, http: HttpExchange) -> bytes:
        return self._owner.end_of_last_head if self._closes_after(http) else self._owner.end_of_head

    def _closes_after(self, http: HttpExchange) -> bool:
        return self._arriving is not None or self._owner.is_closing or asks_to_close(http.head)

    async def wait_for_room(self) -> None:
        if self._room is None:
            self._room = asyncio.Event()
        try:
            while self.is_write_paused and self._transport is not None:
                self._owner.unread.hold(self, self._transport.get_write_buffer_size(), self.abort)
                self._room.clear()
                await self._room.wait()
        finally:
            self._owner.unread.release(self)

    # --- one request after the other ---------------------------------------------------------------------------------

    async def _answer(self, http: HttpExchange) -> None:
        try:
            await self._owner.handle(http)
        finally:
            # A stored exception would keep its frames alive, and they keep this connection.
            self._task = self._http = self._reader = self._problem = None
            self._owner.heads.release(self)
            self._conclude(http)

    def _conclude(self, http: HttpExchange) -> None:
        transport = self._transport
        assert transport is not None
        if transport.is_closing():
            return
        if not http.is_complete:
            transport.abort()  # the client must not take an incomplete answer for a whole one
        elif self._closes_after(http):
            self._part()
        elif not http.is_refused:
            self._refusals = 0
            self._go_on()
        else:
            self._rest_or_go_on()

    def _rest_or_go_on(self) -> None:
        """Delays a client after several refusals in a row: they cost it next to nothing, and others time."""
        self._refusals += 1
        if self._refusals <= _REFUSALS_AT_ONCE:
            self._go_on()
            return
        self._stop_reading(REST)
        self._owner.refused.wait(self, self._end_rest, address=self.caller.address)

    def _end_rest(self) -> None:
        self._read_on(REST)
        if self._transport is not None and not self._transport.is_closing():
            self._go_on()

    def _go_on(self) -> None:
        """Reads the next request, unless the client has yet to take the answer to the last one."""
        self.has_been_answered = True
        self.used_at = self._owner.now
        self.deadline = self._owner.now + self._owner.patience.idle
        if self.is_write_paused:
            self._hold_answer()
            return
        self._owner.unread.release(self)
        if self._unread:
            self._owner.arriving.release(self)
            unread, self._unread = self._unread, b""
            self._read_head(unread)
        if self._task is None and self._is_silent:
            self._part()
        self._read_on(AHEAD)

    def _hold_answer(self) -> None:
        assert self._transport is not None
        self._unflushed = self._transport.get_write_buffer_size()
        self.deadline = self._owner.now + self._owner.patience.unread
        self._owner.unread.hold(self, self._unflushed, self.abort)

    def close(self) -> None:
        """Closes in order: at once where there is no whole request, else after the answer under way."""
        if (self._task is None or self._arriving is not None) and self._transport is not None:
            self._transport.close()

    def expire(self) -> None:
        """Acts on a deadline that has passed. Called by the owner."""
        transport = self._transport
        assert transport is not None
        if self._http is not None and self._arriving is None:
            self.deadline = self._owner.now + self._owner.patience.keep_alive
            self._http.keep_alive()
            return
        unflushed = transport.get_write_buffer_size()
        if unflushed and (not self._unflushed or unflushed < self._unflushed):
            self._unflushed = unflushed
            self.deadline = self._owner.now + self._owner.patience.unread
        elif self._is_parting or unflushed or transport.is_closing():
            transport.abort()
        elif self._task is not None:
            text = "The body did not arrive in time. Send it faster, or in smaller pieces of work."
            self._fail_body(HttpProblem(408, text, rule=rules.REQUEST_SLOW))
        elif self._unread:
            text = "The head of the request did not arrive in time. Send it in one piece."
            self._refuse(HttpProblem(408, text, rule=rules.REQUEST_SLOW))
        else:
            transport.close()

    def _refuse(self, problem: HttpProblem) -> None:
        """Answers with a problem when there is no request to hand on, and closes."""
        self._owner.note(problem)
        body = error_reply(None, problem.code, problem.text)
        head = render_head(problem.status, (JSON, *problem.headers))
        self.write(b"%bcontent-length: %d\r\n%b%b" % (head, len(body), self._owner.end_of_last_head, body))
        self._part()

    def _part(self) -> None:
        """Closes so that the client can read what was written: a reset, caused by data still to come, would drop it."""
        transport = self._transport
        assert transport is not None
        self._is_parting = True
        self._owner.arriving.release(self)
        self._leave_place()
        self._arriving = None
        self._unread = b""
        self._unflushed = 0
        self.deadline = self._owner.now + self._owner.patience.farewell
        if self.is_write_paused:
            self._hold_answer()
        if self._is_silent or not transport.can_write_eof():
            transport.close()
            return
        try:
            transport.write_eof()
        except OSError:  # asyncio's own loop reports here that the client has reset the connection
            transport.abort()
            return
        self._read_on(AHEAD | PLACE)
