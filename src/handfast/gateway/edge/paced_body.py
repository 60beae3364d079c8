"""Reads the body of a request within bounds: only as fast as there is room, a turn and a place for it."""

import asyncio
import select
import sys
from functools import partial
from math import inf

from handfast.core.call import rules
from handfast.core.call.caller import ANYONE
from handfast.gateway.edge.connection_owner import PIECE_BYTES, ListenerSide
from handfast.gateway.edge.request_body import ArrivingBody, BadFraming, ChunkedBody, SizedBody
from handfast.gateway.http.exchange import ClientLeft, HttpExchange, HttpProblem, body_too_large
from handfast.gateway.http.request_head import bad_request, expects_go_ahead, read_length

# Bytes of further requests that a client sends before it has its answer, and of a body that has no reader yet.
_AHEAD_LIMIT = 64 * 1024
# Bytes that a client may still send on a closing connection. With less, one that only writes would never read why.
_IGNORED_LIMIT = 16 * 1024 * 1024
# The system buffers 56 KiB and more of what a waiting client sends; less than half of that shows a slow client.
_READY_BYTES = 16 * 1024
# Why nothing is read from a client; there may be several reasons at once.
AHEAD, _TURN, PLACE, REST = 1, 2, 4, 8
RETRY_AFTER = (b"retry-after", b"5")  # seconds; what a slow client holds is free again after ten


class PacedBody(asyncio.BufferedProtocol):
    """The half of a connection that reads bodies. A large one waits for a place, and for turns between its pieces."""

    __slots__ = (
        "_arriving",
        "_body_began",
        "_body_limit",
        "_has_place",
        "_http",
        "_ignored",
        "_is_parting",
        "_loop",
        "_owner",
        "_problem",
        "_reader",
        "_stopped",
        "_transport",
        "_unplaced",
        "_unread",
        "_waits_since",
        "caller",
        "deadline",
    )

    def __init__(self, owner: ListenerSide) -> None:
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._http: HttpExchange | None = None
        self._arriving: ArrivingBody | None = None
        self._body_began = 0.0
        self._body_limit: int | None = None  # of the reader that waits for the body
        self._reader: asyncio.Future[bytes] | None = None
        self._problem: HttpProblem | ClientLeft | None = None  # raised instead of the body
        self._unread = b""  # of the next request
        self._ignored = 0
        self._is_parting = False  # what the client sends is ignored from here on
        self._stopped = 0  # reasons to read nothing
        self._has_place = False  # for a large body
        self._unplaced = 0  # bytes that came without one
        self._waits_since = 0.0  # for such a place
        self.deadline = inf
        self.caller = ANYONE  # as far as the connection shows; large bodies take turns by address

    # --- the body --------------------------------------------------------------------------------------------------

    def _begin_body(self, http: HttpExchange, rest: bytes) -> bytes:
        """Takes the body, as far as it has arrived, and returns what follows it. Raises: HttpProblem 400."""
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
        """Feeds the body and returns what follows it. Raises: HttpProblem 400."""
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
        """Counts the bytes of the body, which give way if it has no place. A first piece in line is not counted."""
        assert self._arriving is not None
        size = self._arriving.received
        if self._stopped & PLACE and size <= PIECE_BYTES:
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
        self._read_on(AHEAD)
        if self._stopped & PLACE:
            self._ask_for_place()
        return await self._reader

    def _give_up_body(self) -> None:
        text = "Too many unfinished bodies arrive at once, and this one for longest. Send it again, in one go."
        self._fail_body(HttpProblem(503, text, rule=rules.REQUEST_SLOW, headers=[RETRY_AFTER]))

    def _fail_body(self, problem: HttpProblem | ClientLeft) -> None:
        """Gives up the rest of the body; the connection closes after the answer, because `_arriving` stays set."""
        if self._arriving is None:
            return
        self._arriving.drop()
        self._owner.arriving.release(self)
        self.deadline = inf
        self._is_parting = True
        self._problem = problem
        self._leave_place()
        self._read_on(AHEAD | PLACE)
        if self._reader is not None and not self._reader.done():
            self._reader.set_exception(problem)

    # --- writing and leaving ------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _ignore(self, size: int) -> None:
        self._ignored += size
        if self._ignored > _IGNORED_LIMIT:
            self.abort()

    # --- reading no faster than there is room and time ----------------------------------------------------------------

    def _pause_reading(self, held: int) -> None:
        if held > _AHEAD_LIMIT:
            self._stop_reading(AHEAD)

    def _stop_reading(self, why: int) -> None:
        if not self._stopped and self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()
        self._stopped |= why

    def _read_on(self, why: int) -> None:
        """Removes reasons not to read; resumes reading when none are left."""
        was_stopped, self._stopped = self._stopped, self._stopped & ~why
        if was_stopped and not self._stopped and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _wait_for_turn(self) -> None:
        """Reads a fast client one piece at a time, with the other connections in between."""
        if self._stopped & _TURN or self._transport is None or self._transport.is_closing():
            return
        self._stop_reading(_TURN)
        if self._is_parting:
            self._owner.ignored.wait(self, partial(self._read_on, _TURN), address=self.caller.address)
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
        """Stops reading a large body until it has a place, and asks for one if the body has a reader."""
        self._stop_reading(PLACE)
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
        if self._has_place or self._stopped & PLACE:
            self._has_place = False
            self._owner.places.leave(self)

    # --- what its place for a large body calls ------------------------------------------------------------------------

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
        """Whether the rest of the body has arrived."""
        body, transport = self._arriving, self._transport
        assert body is not None
        assert transport is not None
        return body.length is not None and count_arrived(transport) >= body.length - body.received

    def send_on(self) -> None:
        self._has_place = True
        self._wait_for_turn()  # otherwise bodies would be read faster than they are judged
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
        if self._stopped & PLACE:
            self._body_began += self._owner.now - self._waits_since
            self.deadline = self._owner.now + self._owner.patience.body
            self._read_on(PLACE)
        self._hold_body()

    def turn_away(self) -> None:
        text = "Too many large requests arrive at once. Try again later, or send smaller ones."
        self._fail_body(HttpProblem(503, text, rule=rules.REQUEST_REFUSED, headers=[RETRY_AFTER]))


# Each event loop reports in its own way that a connection is closed.
_CLOSED = (OSError, ValueError, AttributeError)

if sys.platform == "linux":
    from fcntl import ioctl
    from termios import FIONREAD

    def count_arrived(transport: asyncio.Transport) -> float:
        """Bytes that can be read at once."""
        try:
            found = ioctl(transport.get_extra_info("socket").fileno(), FIONREAD, bytes(4))
        except _CLOSED:
            return inf
        return int.from_bytes(found, sys.byteorder)

    def has_closed(transport: asyncio.Transport) -> bool:
        """Whether the client has closed its side, also where there is something left to read."""
        try:
            asked = select.poll()
            asked.register(transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
            return bool(asked.poll(0))
        except _CLOSED:
            return True
else:

    def count_arrived(transport: asyncio.Transport) -> float:  # noqa: ARG001 - nothing tells it here
        """Returns more than any body needs: the count is not available here."""
        return inf

    def has_closed(transport: asyncio.Transport) -> bool:  # noqa: ARG001
        """Returns False: only reading shows it here."""
        return False
