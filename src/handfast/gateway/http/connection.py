"""One upstream connection: writes a request, reads its answer, and says when it is free again."""

import asyncio
import select
from math import inf
from typing import Protocol, cast

import httptools

from handfast.gateway.http.response import (
    Headers,
    IncomingBody,
    Response,
    UpstreamFailed,
    UpstreamHungUp,
    UpstreamProtocolError,
    UpstreamTimeout,
)

# Far above any real head; also the most a server may send between two pieces of body (trailers, chunk extensions).
HEAD_LIMIT = 64 * 1024
# Beyond this, reading pauses. One read may bring as much again, so twice this is the most we hold.
BODY_BUFFER = 256 * 1024
# Bodies up to here go out in one write with the head; longer ones in pieces, each when the one before has drained.
WRITE_PIECE = 64 * 1024

_FRAMING = frozenset({b"content-length", b"transfer-encoding", b"content-encoding"})


class PoolSide(Protocol):
    """The pool that lends the connection."""

    def freed(self, connection: "Connection", *, is_reusable: bool) -> None:
        """The exchange is over. Called once for each `send`."""

    def lost(self, connection: "Connection") -> None:
        """The socket is gone."""


class Connection(asyncio.Protocol):
    """One exchange at a time. `_answer` is set until the head has arrived, `_body` from then until its end."""

    __slots__ = (
        "_answer",
        "_body",
        "_ends_at_close",
        "_has_body",
        "_headers",
        "_is_complete",
        "_is_held",
        "_is_informational",
        "_is_read_paused",
        "_is_write_paused",
        "_keeps_alive",
        "_loop",
        "_must_close",
        "_origin",
        "_owner",
        "_parser",
        "_poller",
        "_problem",
        "_response",
        "_transport",
        "_unsent",
        "_waits_for_pairing",
        "_without_progress",
        "deadline",
        "idle_since",
    )

    def __init__(
        self, origin: str, owner: PoolSide, loop: asyncio.AbstractEventLoop, *, waits_for_pairing: bool = False
    ) -> None:
        """`waits_for_pairing`: the end of a body does not free the connection, only `give_back` does."""
        self._origin = origin
        self._waits_for_pairing = waits_for_pairing
        self._is_held = False  # the answer is whole, but `give_back` has not confirmed it yet
        self._owner = owner
        self._loop = loop
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._poller: select.poll | None = None
        self._answer: asyncio.Future[Response] | None = None
        self._body: IncomingBody | None = None
        self._unsent: memoryview | None = None
        self._is_read_paused = self._is_write_paused = False
        self.idle_since = 0.0
        self.deadline = inf  # of the head we wait for
        self._begin(has_body=True)

    def _begin(self, *, has_body: bool) -> None:
        self._headers: Headers = []
        self._response: Response | None = None
        self._problem: UpstreamFailed | None = None
        self._has_body = has_body
        self._without_progress = 0
        self._ends_at_close = False
        self._is_complete = self._is_informational = self._keeps_alive = False
        self._must_close = False  # the peer is out of step with us, though this answer may still be good

    # What the pool and the client call

    def is_closing(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def is_quiet(self) -> bool:
        """False when the peer has closed or sent something unasked, even before the loop has noticed it."""
        return not self.is_closing() and (self._poller is None or not self._poller.poll(0))

    def send(self, head: bytes, body: bytes, *, has_body: bool, deadline: float) -> asyncio.Future[Response]:
        """Writes a request; the future holds its answer's head. `has_body` is False where none may follow (HEAD)."""
        assert self._transport is not None
        self._begin(has_body=has_body)
        self.deadline = deadline
        answer: asyncio.Future[Response] = self._loop.create_future()
        self._answer = answer
        if len(body) <= WRITE_PIECE:
            self._transport.write(head + body)
            return answer
        self._transport.write(head)
        self._unsent = memoryview(body)
        self._write_more()
        return answer

    def abandon(self, answer: asyncio.Future[Response]) -> None:
        """Drops the connection if it still waits for this answer; by now it may serve another one, untouched here."""
        if self._answer is answer:
            self.drop()

    def expire(self) -> None:
        """Fails the answer whose head did not arrive in time."""
        if self._answer is not None:
            self.fail(UpstreamTimeout(f"{self._origin} did not answer in time. Check its load, or allow it longer."))

    def drop(self) -> None:
        """Closes at once, without failing the answer or the body that is waited for."""
        was_busy = self._is_held or self._answer is not None or self._body is not None
        self._is_held = False
        self._answer = self._body = self._response = self._unsent = None
        self.deadline = inf
        if self._transport is not None:
            self._transport.abort()
        if was_busy:
            self._owner.freed(self, is_reusable=False)

    def give_back(self) -> None:
        """Frees a held connection whose answer fits its request. Does nothing if it was dropped meanwhile."""
        if self._is_held:
            self._is_held = False
            assert self._transport is not None
            self._owner.freed(self, is_reusable=not self._transport.is_closing())

    def close(self) -> None:
        """Closes an idle connection in order."""
        if self._transport is not None:
            self._transport.close()

    def resume_body(self) -> None:
        if self._is_read_paused and self._transport is not None:
            self._is_read_paused = False
            self._transport.resume_reading()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's streams are not declared as such
        if hasattr(select, "poll"):  # not on Windows, where the loop's own view must do
            self._poller = select.poll()
            self._poller.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        if self._answer is None and self._body is None:
            self.drop()  # unasked
            return
        self._without_progress += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._must_close = True
            if not self._is_complete and self._problem is None:
                self._problem = self._protocol_error("sent an answer that is not HTTP/1.1. Check the url and its port")
        if self._problem is not None:
            self.fail(self._problem)
            return
        if self._response is not None and not self._deliver_head(self._response):
            return
        self._after_feed()

    def _deliver_head(self, response: Response) -> bool:
        """Hands the head over, once. Returns False, and drops the connection, if nothing waits for it any longer."""
        answer, self._answer, self._response = self._answer, None, None
        self.deadline = inf
        if answer is None or answer.done():
            self.drop()
            return False
        answer.set_result(response)
        return True

    def _after_feed(self) -> None:
        body = self._body
        if self._is_complete:
            self._finish()
        elif self._without_progress > HEAD_LIMIT:
            self.fail(self._head_too_large())
        elif body is not None and body.buffered:
            body.wake()
            if body.buffered > BODY_BUFFER and not self._is_read_paused and self._transport is not None:
                self._is_read_paused = True
                self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unsent = None
        if self._body is not None and self._ends_at_close and exc is None:
            self._finish()
        elif self._body is not None:
            self.fail(self._protocol_error("closed the connection in the middle of its answer"))
        elif self._answer is not None:
            problem = self._protocol_error("closed the connection before it answered")
            self.fail(problem if self._without_progress else UpstreamHungUp(str(problem)))
        elif self._is_held:
            self.drop()
        self._owner.lost(self)

    def pause_writing(self) -> None:
        self._is_write_paused = True

    def resume_writing(self) -> None:
        self._is_write_paused = False
        self._write_more()

    def _write_more(self) -> None:
        while self._unsent and not self._is_write_paused and self._transport is not None:
            piece, self._unsent = self._unsent[:WRITE_PIECE], self._unsent[WRITE_PIECE:] or None
            self._transport.write(piece)

    # What the parser calls. Nothing is released in these methods: more of the same read may still be to come.

    def on_message_begin(self) -> None:
        if self._is_complete:
            self._must_close = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._body is None:  # otherwise a trailer, which is not used
            self._headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        if self._body is not None:
            return  # surplus
        status = self._parser.get_status_code()
        if status < 200:
            self._skip_informational(status)
            return
        length = self._read_framing()
        if self._without_progress > HEAD_LIMIT and self._head_size() > HEAD_LIMIT:
            self._problem = self._head_too_large()
        may_have_body = self._has_body and status not in (204, 304)  # RFC 9112 6.3: whatever length they declare
        self._body = IncomingBody(self, self._loop, self._origin, length if may_have_body else None)
        self._response = Response(status, self._headers, self._body)
        self._is_complete = not self._has_body

    def on_body(self, chunk: bytes) -> None:
        self._without_progress = 0
        if self._body is not None and not self._is_complete:
            self._body.feed(chunk)

    def on_message_complete(self) -> None:
        if self._is_informational:
            self._is_informational = False
            return
        self._is_complete = True
        self._keeps_alive = self._parser.should_keep_alive()  # after this callback the parser no longer knows

    def _skip_informational(self, status: int) -> None:
        if status < 100:  # 101 never comes this far: the parser stops at an upgrade
            self._problem = self._protocol_error("sent an answer with an impossible status")
        self._is_informational = True
        self._headers = []

    def _read_framing(self) -> int | None:
        """Returns the declared length of the body, and refuses framing that the parser lets pass but we do not know."""
        length: int | None = None
        transfer_encoding: bytes | None = None
        for name, value in self._headers:
            if name not in _FRAMING:
                continue
            if name == b"content-length":
                length = int(value)
            elif name == b"content-encoding":
                self._require_identity(value)
            else:
                transfer_encoding = value.lower() if transfer_encoding is None else b""
        if transfer_encoding not in (None, b"chunked"):
            self._problem = self._protocol_error("sent its answer in an unknown transfer encoding")
        self._ends_at_close = length is None and transfer_encoding is None
        return length

    def _require_identity(self, encoding: bytes) -> None:
        if encoding.lower() not in (b"identity", b""):
            self._problem = self._protocol_error("sent an encoded answer though asked not to. Switch compression off")

    # How an exchange ends

    def _finish(self) -> None:
        transport, body = self._transport, self._body
        assert transport is not None
        assert body is not None
        self._body = None
        is_reusable = (
            self._keeps_alive
            and not self._must_close
            and self._unsent is None
            and not transport.is_closing()
            and transport.get_write_buffer_size() == 0
        )
        if is_reusable:
            self.resume_body()
        else:
            transport.abort()
        if is_reusable and self._waits_for_pairing:
            self._is_held = True
            body.finish(self)
            return
        self._owner.freed(self, is_reusable=is_reusable)
        body.finish()

    def fail(self, error: UpstreamFailed) -> None:
        answer, body = self._answer, self._body
        self.drop()
        if answer is not None and not answer.done():
            answer.set_exception(error)
        if body is not None:
            body.fail(error)

    def _head_size(self) -> int:
        return sum(len(name) + len(value) + 4 for name, value in self._headers)

    def _head_too_large(self) -> UpstreamProtocolError:
        return self._protocol_error(f"sent more than {HEAD_LIMIT} bytes of headers")

    def _protocol_error(self, what: str) -> UpstreamProtocolError:
        return UpstreamProtocolError(f"{self._origin} {what}. The request was not repeated, as it may have run.")
