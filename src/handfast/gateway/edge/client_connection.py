"""One connection from a client: requests read within bounds and one at a time, answers written, deadlines kept."""

import asyncio
from functools import partial
from math import inf
from typing import cast

from handfast.gateway.edge.arrived_bytes import count_arrived, has_closed
from handfast.gateway.edge.connection_owner import PIECE_BYTES, ConnectionOwner, origin_of
from handfast.gateway.edge.request_body import ArrivingBody, BadFraming, ChunkedBody, SizedBody
from handfast.gateway.http.exchange import JSON, ClientLeft, HttpExchange, HttpProblem, body_too_large
from handfast.gateway.http.request_head import asks_to_close, bad_request, expects_go_ahead, read_head, read_length
from handfast.gateway.http.response_head import render_head
from handfast.turns import LARGE_BYTES
from handfast.wire.replies import error_reply

# Request line and headers. Four times what Node takes, and far above any real one.
HEAD_LIMIT = 64 * 1024
# Of further requests that a client sends before it has its answer, and of a body that is not asked for yet.
_AHEAD_LIMIT = 64 * 1024
# What a client may still send to a connection that is closing. Less, and one that only writes would never read why.
_IGNORED_LIMIT = 16 * 1024 * 1024
# A head from here on is counted: most are of half a kilobyte, and with a token of one or two.
_LONG_HEAD = 2048
# Of what a client sends while it waits the system keeps 56 KiB and more; less than half of it is no hurry.
_READY_BYTES = 16 * 1024
# Why nothing is read from a client; there may be several reasons at once.
_AHEAD, _TURN, _PLACE = 1, 2, 4
RETRY_AFTER = (b"retry-after", b"5")  # seconds; what a slow client holds is free again after ten


class ClientConnection(asyncio.BufferedProtocol):
    """One request at a time: `_task` answers it, and `_arriving` is its body until that is whole."""

    __slots__ = (
        "_arriving",
        "_body_began",
        "_body_limit",
        "_has_place",
        "_http",
        "_ignored",
        "_is_parting",
        "_is_silent",
        "_loop",
        "_owner",
        "_problem",
        "_reader",
        "_room",
        "_stopped",
        "_task",
        "_transport",
        "_unflushed",
        "_unplaced",
        "_unread",
        "_waits_since",
        "caller",
        "deadline",
        "has_been_answered",
        "is_write_paused",
        "peer",
        "used_at",
    )

    def __init__(self, owner: ConnectionOwner) -> None:
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._http: HttpExchange | None = None
        self._arriving: ArrivingBody | None = None
        self._body_began = 0.0
        self._body_limit: int | None = None  # of whoever waits for the body
        self._reader: asyncio.Future[bytes] | None = None
        self._problem: HttpProblem | ClientLeft | None = None  # with the body
        self._room: asyncio.Event | None = None  # where somebody ever waited for it
        self._unread = b""  # of the next request
        self._unflushed = 0
        self._ignored = 0
        self._is_silent = False  # the client has closed its side
        self._is_parting = False  # nothing it sends is read any more
        self._stopped = 0  # reasons to read nothing
        self._has_place = False  # for a large body
        self._unplaced = 0  # bytes that came without one
        self._waits_since = 0.0  # for such a place
        self.is_write_paused = False
        self.has_been_answered = False
        self.used_at = owner.now  # since it is open, or its last request was answered
        self.deadline = inf
        self.peer = ""
        self.caller = ""  # whose bodies take turns with those of others

    @property
    def task(self) -> asyncio.Task[None] | None:
        """What answers the request under way."""
        return self._task

    @property
    def may_make_way(self) -> bool:
        """Whether there is neither a whole request nor an answer that is still being sent."""
        if self._task is not None and self._arriving is None:
            return False
        return self._transport is None or not self._transport.get_write_buffer_size()

    # --- what the event loop calls -----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's streams are not declared as such
        address = transport.get_extra_info("peername")
        self.peer = address[0] if isinstance(address, tuple) else ""
        self.caller = origin_of(self.peer) or self.peer
        self.deadline = self._owner.now + self._owner.patience.first_byte
        problem = self._owner.admit(self)
        if problem is not None:
            self._refuse(problem)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - a hint
        """One for all connections: what is in it is taken out before anything else is read."""
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
        """A client that closes its side counts as one that left. What answers it may still be written."""
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
        self._owner.ignored.forget(self)
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
        elif self._task is None:
            self._go_on()

    # --- reading -----------------------------------------------------------------------------------------------------

    def _read_head(self, data: bytes) -> None:
        if data[:1] in b"\r\n":  # RFC 9112 2.2: an empty line before a request is no part of it
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
            self._refuse(HttpProblem(431, text, rule="request.head_too_large"))
        elif data:
            if not self._unread:
                self.deadline = self._owner.now + self._owner.patience.head
            self._unread = data
            self._owner.arriving.hold(self, len(data), self.abort)
            if len(data) >= PIECE_BYTES:
                self._wait_for_turn()  # an ordinary head is one piece

    def _begin(self, head: bytes, rest: bytes) -> None:
        """Start answering the request with this head. Raises: HttpProblem 400, 431 and 503."""
        if self._unread:
            self._owner.arriving.release(self)
        if len(head) > _LONG_HEAD:
            self._hold_head(len(head))
        http = HttpExchange(self, read_head(head))
        self._unread = self._begin_body(http, rest)
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
            raise HttpProblem(503, text, rule="request.refused", headers=[RETRY_AFTER])

    def _begin_body(self, http: HttpExchange, rest: bytes) -> bytes:
        """Take the body, or as much of it as is there, and give back what follows it. Raises: HttpProblem 400."""
        size = read_length(http.head)
        if size is not None and size <= len(rest):
            self.deadline = inf
            http.body = rest[:size]
            return rest[size:]
        self._arriving = ChunkedBody() if size is None else SizedBody(size)
        self._http = http
        self._body_began = self._owner.now
        self._body_limit = None
        self._unplaced = 0
        return self._feed_body(rest)

    def _feed_body(self, data: bytes) -> bytes:
        """Give back what follows the body. Raises: HttpProblem 400."""
        body, http = self._arriving, self._http
        assert body is not None
        assert http is not None
        try:
            rest = body.feed(data)
        except BadFraming:
            raise bad_request("its body is not in chunks") from None
        if body.is_whole:
            self._arriving = None
            self._owner.arriving.release(self)
            self._leave_place()
            self.deadline = inf
            http.body = body.take()
            if self._reader is not None and not self._reader.done():
                self._reader.set_result(http.body)
            return rest
        now, patience = self._owner.now, self._owner.patience
        in_all = self._body_began + patience.body + body.received / patience.body_rate
        self.deadline = min(now + patience.body, in_all)
        self._hold_body()
        return b""

    def _hold_body(self) -> None:
        """Who has a place keeps its room, and who waits for one with its first piece takes none: they are counted."""
        assert self._arriving is not None
        size = self._arriving.received
        if self._stopped & _PLACE and size <= PIECE_BYTES:
            self._owner.arriving.release(self)
        else:
            self._owner.arriving.hold(self, size, None if self._has_place else self._give_up_body)

    def _read_body_on(self, data: bytes) -> None:
        body = self._arriving
        assert body is not None
        if self._is_parting:
            self._ignore(len(data))
            return
        try:
            self._unread = self._feed_body(data)
        except HttpProblem as problem:
            self._fail_body(problem)
            return
        if self._body_limit is None:
            self._pause_reading(body.received)
        elif body.size > self._body_limit:
            self._fail_body(body_too_large(self._body_limit))

    async def read_body(self, limit: int) -> bytes:
        """Raises: HttpProblem 400, 408 and 413, ClientLeft."""
        body, http = self._arriving, self._http
        if self._problem is not None or body is None or http is None:
            raise self._problem or ClientLeft
        if body.size > limit:
            raise body_too_large(limit)
        if expects_go_ahead(http.head) and not body.received:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._body_limit = limit
        self._reader = self._loop.create_future()
        self._read_on(_AHEAD)
        if self._stopped & _PLACE:
            self._ask_for_place()
        return await self._reader

    def _give_up_body(self) -> None:
        text = "Too many unfinished bodies arrive at once, and this one for longest. Send it again, in one go."
        self._fail_body(HttpProblem(503, text, rule="request.slow", headers=[RETRY_AFTER]))

    def _fail_body(self, problem: HttpProblem | ClientLeft) -> None:
        """The rest of the body is not read; the connection closes after the answer, which `_arriving` stands for."""
        if self._arriving is None:
            return
        self._arriving.drop()
        self._owner.arriving.release(self)
        self.deadline = inf
        self._is_parting = True
        self._problem = problem
        self._leave_place()
        self._read_on(_AHEAD | _PLACE)
        if self._reader is not None and not self._reader.done():
            self._reader.set_exception(problem)

    # --- writing -----------------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

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
            # An exception that is kept here would hold the frames that hold this.
            self._task = self._http = self._reader = self._problem = None
            self._owner.heads.release(self)
            self._conclude(http)

    def _conclude(self, http: HttpExchange) -> None:
        transport = self._transport
        assert transport is not None
        if transport.is_closing():
            return
        if not http.is_complete:
            transport.abort()  # what was begun cannot be ended so that the client takes it for whole
        elif self._closes_after(http):
            self._part()
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Read the next request, unless the client has yet to take the answer to the last one."""
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
        self._read_on(_AHEAD)

    def _hold_answer(self) -> None:
        assert self._transport is not None
        self._unflushed = self._transport.get_write_buffer_size()
        self.deadline = self._owner.now + self._owner.patience.unread
        self._owner.unread.hold(self, self._unflushed, self.abort)

    def close(self) -> None:
        """Close in order: at once where there is no whole request, else after the answer under way."""
        if (self._task is None or self._arriving is not None) and self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def expire(self) -> None:
        """The deadline is over. Called by the owner."""
        transport = self._transport
        assert transport is not None
        unflushed = transport.get_write_buffer_size()
        if unflushed and (not self._unflushed or unflushed < self._unflushed):
            self._unflushed = unflushed
            self.deadline = self._owner.now + self._owner.patience.unread
        elif self._is_parting or unflushed or transport.is_closing():
            transport.abort()
        elif self._task is not None:
            text = "The body did not arrive in time. Send it faster, or in smaller pieces of work."
            self._fail_body(HttpProblem(408, text, rule="request.slow"))
        elif self._unread:
            text = "The head of the request did not arrive in time. Send it in one piece."
            self._refuse(HttpProblem(408, text, rule="request.slow"))
        else:
            transport.close()

    def _refuse(self, problem: HttpProblem) -> None:
        """Answer what is no request that could be handed on, and close."""
        self._owner.note(problem)
        body = error_reply(None, problem.code, problem.text)
        head = render_head(problem.status, (JSON, *problem.headers))
        self.write(b"%bcontent-length: %d\r\n%b%b" % (head, len(body), self._owner.end_of_last_head, body))
        self._part()

    def _part(self) -> None:
        """Close so that the client can read what was written: a reset, for data still to come, would take it."""
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
        except OSError:  # the client has reset the connection, which asyncio's own loop says here
            transport.abort()
            return
        self._read_on(_AHEAD | _PLACE)

    def _ignore(self, size: int) -> None:
        self._ignored += size
        if self._ignored > _IGNORED_LIMIT:
            self.abort()

    # --- reading no faster than there is room and time --------------------------------------------------------------

    def _pause_reading(self, held: int) -> None:
        if held > _AHEAD_LIMIT:
            self._stop_reading(_AHEAD)

    def _stop_reading(self, why: int) -> None:
        if not self._stopped and self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()
        self._stopped |= why

    def _read_on(self, why: int) -> None:
        """This is no reason any more."""
        was_stopped, self._stopped = self._stopped, self._stopped & ~why
        if was_stopped and not self._stopped and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _wait_for_turn(self) -> None:
        """Who sends as fast as it is read is read a piece at a time, with everybody else in between."""
        if self._stopped & _TURN or self._transport is None or self._transport.is_closing():
            return
        self._stop_reading(_TURN)
        if self._is_parting:
            self._owner.ignored.wait(self, partial(self._read_on, _TURN))
        else:
            self._owner.turns.ask(self._use_turn)

    def _use_turn(self) -> None:
        self._read_on(_TURN)
        body = self._arriving
        if body is not None and body.has_unread and not self._is_parting:
            self._read_body_on(b"")
            if body.has_unread:
                self._wait_for_turn()

    def _wait_for_place(self) -> None:
        """There is more of a large body. Before anybody waits for it there is nothing to ask for."""
        self._stop_reading(_PLACE)
        if self._reader is not None:
            self._ask_for_place()

    def _ask_for_place(self) -> None:
        assert self._arriving is not None
        assert self._body_limit is not None
        self._hold_body()
        self.deadline = inf  # it is not the client that is slow
        self._waits_since = self._owner.now
        length = self._arriving.length
        self._owner.places.ask(self, self._body_limit if length is None else length)

    def _leave_place(self) -> None:
        if self._has_place or self._stopped & _PLACE:
            self._has_place = False
            self._owner.places.leave(self)

    # --- what its place for a large body calls -----------------------------------------------------------------------

    @property
    def body_received(self) -> int:
        return self._arriving.received if self._arriving is not None else 0

    @property
    def is_waited_for(self) -> bool:
        return not self._stopped

    @property
    def is_ready(self) -> bool:
        assert self._transport is not None
        return self._has_rest or (count_arrived(self._transport) >= _READY_BYTES and not has_closed(self._transport))

    @property
    def _has_rest(self) -> bool:
        """Whether all that is missing of the body has arrived."""
        body, transport = self._arriving, self._transport
        assert body is not None
        assert transport is not None
        return body.length is not None and count_arrived(transport) >= body.length - body.received

    def send_on(self) -> None:
        self._has_place = True
        self._wait_for_turn()  # or bodies would be read faster than they are judged
        self._end_wait()

    def step_aside(self) -> None:
        self._has_place = False
        self._unplaced = 0
        assert self._transport is not None
        if has_closed(self._transport) and not self._has_rest:
            self.abort()  # it will never be whole
        else:
            self._end_wait()

    def _end_wait(self) -> None:
        if self._stopped & _PLACE:
            self._body_began += self._owner.now - self._waits_since
            self.deadline = self._owner.now + self._owner.patience.body
            self._read_on(_PLACE)
        self._hold_body()

    def turn_away(self) -> None:
        text = "Too many large requests arrive at once. Try again later, or send smaller ones."
        self._fail_body(HttpProblem(503, text, rule="request.refused", headers=[RETRY_AFTER]))
