"""One HTTP request from a client and its answer, as the gateway uses ASGI."""

import asyncio
import contextlib
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, MutableMapping
from functools import partial
from typing import Any, TypeVar

from handfast.wire.codes import INVALID_REQUEST

Scope = MutableMapping[str, Any]  # Any: ASGI's own shape
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]  # Any: as above
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]  # Any: as above
Headers = list[tuple[bytes, bytes]]

T = TypeVar("T")

JSON = (b"content-type", b"application/json")
# With its charset: to clients that take text without one for Latin-1, a byte of a letter may be a line end.
EVENT_STREAM = (b"content-type", b"text/event-stream; charset=utf-8")
# Proxies in between must neither keep a stream back nor change it.
STREAM_HEADERS: Headers = [EVENT_STREAM, (b"cache-control", b"no-cache, no-transform"), (b"x-accel-buffering", b"no")]

# Noticing that a client left costs a task, so it is only watched for once an answer takes longer than this.
_WATCH_AFTER = 0.05
_UNREAD_SECONDS = 60.0  # as long as the official clients wait for anything


class HttpProblem(Exception):
    """A request that is answered with a status and one line, and goes no further."""

    def __init__(
        self, status: int, text: str, *, code: int = INVALID_REQUEST, rule: str = "", headers: Headers | None = None
    ) -> None:
        """`rule` puts it on record under that name."""
        super().__init__(text)
        self.status = status
        self.text = text
        self.code = code
        self.rule = rule
        self.headers = headers or []


class HttpExchange:
    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: bytes = scope.get("query_string", b"")
        self.headers: Headers = [*scope["headers"]]  # uvicorn adds the trailers of a body to its own list later
        self.peer: str = (scope.get("client") or ("",))[
            0
        ]  # the address without its port, which every connection changes
        self.actor: str = scope.get("handfast.actor", "")  # whom authentication found; a client cannot write it
        self.by_name = dict(reversed(self.headers))  # the first of several wins
        self.has_repeated_headers = len(self.by_name) != len(self.headers)
        self.has_started = False
        self.has_left = False  # the client closed its end
        self._on_left: Callable[[], None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def header(self, name: bytes) -> bytes | None:
        return self.by_name.get(name)

    async def read_body(self, limit: int) -> bytes:
        """The whole body. Raises: HttpProblem 413, ClientLeft."""
        declared = self.by_name.get(b"content-length")
        if declared is not None and declared.isdigit() and int(declared) > limit:
            raise HttpProblem(413, f"The body is over the limit of {limit} bytes. Send a smaller one.")
        body = b""
        while True:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise ClientLeft
            body += bytes(event.get("body", b""))
            if len(body) > limit:
                raise HttpProblem(413, f"The body is over the limit of {limit} bytes. Send a smaller one.")
            if not event.get("more_body"):
                return body

    async def respond(self, status: int, headers: Headers, body: bytes = b"") -> None:
        self.has_started = True
        length = (b"content-length", b"%d" % len(body))
        await self._send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
        await self._send({"type": "http.response.body", "body": body})

    async def start_stream(self, status: int, headers: Headers) -> None:
        self.has_started = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def send_chunk(self, chunk: bytes) -> None:
        await self._send_in_time({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end_stream(self) -> None:
        await self._send_in_time({"type": "http.response.body", "body": b""})

    async def _send_in_time(self, event: MutableMapping[str, Any]) -> None:  # Any: ASGI's own shape
        """A client that keeps its connection and reads nothing counts as gone, or its call would never end."""
        if self.has_left:
            return
        sending = self._send(event).__await__()
        try:
            waits_for = next(sending)
        except StopIteration:
            return  # nearly always: there was room for it, so nothing had to be watched
        try:
            async with asyncio.timeout(_UNREAD_SECONDS):
                await _go_on(sending, waits_for)
        except TimeoutError:
            self.has_left = True
            if self._on_left is not None:
                self._on_left()

    # --- noticing that the client leaves ---------------------------------------------------------------------------

    def watch(self, on_left: Callable[[], None], *, after: float = _WATCH_AFTER) -> None:
        """Call `on_left` once if the client goes away before `unwatch`."""
        self._on_left = on_left
        self._timer = asyncio.get_running_loop().call_later(after, self._start_watching, on_left)

    def _start_watching(self, on_left: Callable[[], None]) -> None:
        self._watch = asyncio.create_task(self._wait_for_leave(on_left))

    async def _wait_for_leave(self, on_left: Callable[[], None]) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.has_left = True
        on_left()

    async def while_present(self, work: Coroutine[Any, Any, T]) -> T:  # Any: a coroutine's send types
        """Wait for something that is of no use to a client that has left. Raises: ClientLeft."""
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
        if self._timer is not None:
            self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()


def _cancel(task: "asyncio.Task[T]") -> None:
    task.cancel()


class ClientLeft(Exception):
    """The client closed the connection before its request was whole."""


@types.coroutine
def _go_on(
    steps: Generator[Any, Any, None], waits_for: Any
) -> Generator[Any, Any, None]:  # Any: between awaitable and loop
    """Go on with something that has begun and waits."""
    with contextlib.suppress(StopIteration):
        while True:
            try:
                found = yield waits_for
            except BaseException as problem:  # noqa: BLE001 - handed on to whom it concerns
                waits_for = steps.throw(problem)
            else:
                waits_for = steps.send(found)
