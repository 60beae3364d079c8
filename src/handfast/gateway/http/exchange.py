"""One HTTP request from a client and its answer."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.gateway.http.response_head import render_head
from handfast.wire.codes import INVALID_REQUEST
from handfast.wire.sse import KEEP_ALIVE

if TYPE_CHECKING:
    from handfast.gateway.http.request_head import RequestHead

Headers = list[tuple[bytes, bytes]]

T = TypeVar("T")

JSON = (b"content-type", b"application/json")
# With its charset: clients that read text without one as Latin-1 may take a byte of a letter for a line end.
EVENT_STREAM = (b"content-type", b"text/event-stream; charset=utf-8")
# Proxies in between must neither keep a stream back nor change it.
STREAM_HEADERS: Headers = [EVENT_STREAM, (b"cache-control", b"no-cache, no-transform"), (b"x-accel-buffering", b"no")]

_UNREAD_SECONDS = 60.0  # as long as the official clients wait for anything
# Answers up to here are written in one piece with their head; copying a larger one costs more than a second write.
_ONE_PIECE = 64 * 1024


class HttpProblem(Exception):
    """A request that is answered with a status and one line, and goes no further."""

    def __init__(
        self,
        status: int,
        text: str,
        *,
        code: int = INVALID_REQUEST,
        rule: str = rules.REQUEST_REFUSED,
        headers: Headers | None = None,
    ) -> None:
        """`rule` is the rule that the refusal is recorded under; empty if it is on record already."""
        super().__init__(text)
        self.status = status
        self.text = text
        self.code = code
        self.rule = rule
        self.headers = headers or []


class ClientLeft(Exception):
    """The client closed the connection before its request was whole."""


class ClientSide(Protocol):
    """The connection, as far as one exchange needs it."""

    caller: Caller
    is_write_paused: bool

    def write(self, data: bytes) -> None: ...

    def write_event(self, data: bytes) -> None:
        """Writes a part of a stream of events. If none follows for a while, the connection calls `keep_alive`."""

    def end_of_head(self, http: "HttpExchange") -> bytes:
        """The headers with the date and whether the connection goes on, with the empty line."""

    async def read_body(self, limit: int) -> bytes:
        """Waits for the rest of a body. Raises: HttpProblem, ClientLeft."""

    async def wait_for_room(self) -> None:
        """Returns once the client has read enough of what was written, or is gone."""


class HttpExchange:
    _is_event_stream = False  # becomes True when such a stream starts

    def __init__(self, connection: ClientSide, head: "RequestHead") -> None:
        self._connection = connection
        self.head = head
        self.method, self.path, self.query, self.headers, self.by_name, self._is_version_1_0 = head
        self.has_repeated_headers = len(self.by_name) != len(self.headers)
        self.caller = connection.caller  # as far as it is known before the request is read
        self.body: bytes | None = None  # once it is whole
        self.has_started = False
        self.is_complete = False  # the whole answer was written
        self.is_refused = False  # the answer has an error status
        self.has_left = False  # the client closed its end
        self._on_left: Callable[[], None] | None = None
        self._is_chunked = False

    def header(self, name: bytes) -> bytes | None:
        return self.by_name.get(name)

    async def read_body(self, limit: int) -> bytes:
        """The whole body. Raises: HttpProblem 408 and 413, ClientLeft."""
        body = self.body
        if body is None:
            body = await self._connection.read_body(limit)
        if len(body) > limit:
            raise body_too_large(limit)
        return body

    async def respond(self, status: int, headers: Headers, body: bytes = b"") -> None:
        self.has_started = self.is_complete = True
        self.is_refused = status >= 400
        length = b"" if status == 204 else b"content-length: %d\r\n" % len(body)
        head = render_head(status, tuple(headers)) + length + self._connection.end_of_head(self)
        if self.method == "HEAD":
            self._connection.write(head)
        elif len(body) <= _ONE_PIECE:
            self._connection.write(head + body)
        else:
            self._connection.write(head)
            self._connection.write(body)

    def start_stream(self, status: int, headers: Headers) -> None:
        self.has_started = True
        self._is_event_stream = EVENT_STREAM in headers
        # An HTTP/1.0 client does not know chunks: for it the stream ends with the connection.
        self._is_chunked = not (self._is_version_1_0 or status == 204 or self.method == "HEAD")
        framing = b"transfer-encoding: chunked\r\n" if self._is_chunked else b""
        self._write(render_head(status, tuple(headers)) + framing + self._connection.end_of_head(self))

    async def send_chunk(self, chunk: bytes) -> None:
        if await self._has_room():
            self.write_chunk(chunk)

    def write_chunk(self, chunk: bytes) -> None:
        """Writes a chunk without waiting for a client that is slow to read."""
        if chunk and self.method != "HEAD":
            self._write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if self._is_chunked else chunk)

    def _write(self, data: bytes) -> None:
        if self._is_event_stream:
            self._connection.write_event(data)
        else:
            self._connection.write(data)

    def keep_alive(self) -> None:
        """Sends a comment on a stream that was silent for a while. Called by the connection."""
        is_silent = self._is_event_stream and not (self.is_complete or self.has_left)
        if is_silent and not self._connection.is_write_paused:
            self.write_chunk(KEEP_ALIVE)

    async def end_stream(self) -> None:
        if await self._has_room():
            self.is_complete = True
            if self._is_chunked:
                self._connection.write(b"0\r\n\r\n")

    async def _has_room(self) -> bool:
        """Waits for room. A client that reads nothing for a minute counts as gone, or its call would never end."""
        if self._connection.is_write_paused and not self.has_left:
            try:
                async with asyncio.timeout(_UNREAD_SECONDS):
                    await self._connection.wait_for_room()
            except TimeoutError:
                self.leave()
        return not self.has_left

    # --- noticing that the client leaves ---------------------------------------------------------------------------

    def watch(self, on_left: Callable[[], None]) -> None:
        """Calls `on_left` once if the client goes away before `unwatch`, or has gone already."""
        self._on_left = on_left
        if self.has_left:
            asyncio.get_running_loop().call_soon(self.leave)

    async def while_present(self, work: Coroutine[Any, Any, T]) -> T:  # Any: a coroutine's send types
        """Waits for work that is cancelled when the client leaves. Raises: ClientLeft."""
        task = asyncio.create_task(work)
        self.watch(partial(_cancel, task))
        try:
            return await task
        except asyncio.CancelledError:
            task.cancel()
            if self.has_left:
                raise ClientLeft from None
            raise
        finally:
            self.unwatch()

    def unwatch(self) -> None:
        self._on_left = None

    def leave(self) -> None:
        """The client is gone, or is taken for gone. Called by the connection."""
        self.has_left = True
        on_left, self._on_left = self._on_left, None
        if on_left is not None:
            on_left()


def body_too_large(limit: int) -> HttpProblem:
    text = f"The body is over the limit of {limit} bytes. Send a smaller one."
    return HttpProblem(413, text, rule=rules.REQUEST_BODY_TOO_LARGE)


def _cancel(task: "asyncio.Task[T]") -> None:
    task.cancel()
