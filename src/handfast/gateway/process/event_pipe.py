"""A server over the HTTP transport of 2024-11-05: one stream of events brings its messages, each of ours is a POST.

The first event says where to post. That is taken only at the origin of the server's own url.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin

from handfast.gateway.http.client import RequestUnsafe, ServerUrl, UrlUnusable
from handfast.gateway.http.exchange import JSON, Headers
from handfast.gateway.http.headers import Form, UpstreamHeaders, form_of
from handfast.gateway.http.response import BodyTooLarge, Response, UpstreamFailed, UpstreamTimeout, describe_status
from handfast.gateway.http.upstream_clients import UpstreamClients
from handfast.gateway.process.pipe import PipeEnds, PipeFailed
from handfast.wire.lines import OverlongLine
from handfast.wire.message import id_in_head
from handfast.wire.methods import Purpose
from handfast.wire.sse import OverlongEvent, SseAssembler, SseEvent

_ACCEPT = (b"accept", b"text/event-stream")
_EVENTS_AT_ONCE: Final = 64  # as with lines: some milliseconds of work
_NOTICE_SECONDS: Final = 10.0  # for the server to take what has no answer, and for the rest of what it says to a POST
_MOST_POSTS: Final = 200  # not yet taken: fewer than there are connections, so that none waits for one
_MOST_BYTES: Final = 4 * 1024 * 1024
_BODY_BYTES: Final = 64 * 1024  # of an answer that is to be empty, or a word
_ON_POST_SECONDS: Final = 2.0  # some servers answer on both; the stream is waited for so long
_ON_POST = (
    "The server answered to the POST and not on its stream of events. Correct it, or set its type to http if it speaks"
    " Streamable HTTP."
)
_NO_ENDPOINT = "its first event does not name a path to post to. Correct the server"
_ELSEWHERE = "its first event names another origin to post to, and only that of its url is allowed. Correct the server"
_NO_STREAM = "Check the server's url, and its type: http if it speaks Streamable HTTP"


class EventAddress:
    """Where such a server is. The pipes to it share connections."""

    def __init__(self, url: str, headers: UpstreamHeaders) -> None:
        """Raises: UrlUnusable."""
        self._clients = UpstreamClients(url)
        self.headers = headers
        self.url = url

    def make_pipe(self, ends: PipeEnds) -> "EventPipe":
        return EventPipe(self, ends)

    async def request(
        self, verb: str, headers: Headers, body: bytes, purpose: Purpose, *, target: str | None, seconds: float
    ) -> Response:
        """Raises: UpstreamFailed, RequestUnsafe."""
        client = self._clients.choose(purpose)
        return await client.request(verb, headers, body, target=target, response_timeout=seconds)

    def find_target(self, endpoint: bytes) -> str:
        """What an endpoint event names, as the target of a POST. Raises: PipeFailed."""
        try:
            text = endpoint.decode()
            here = ServerUrl.parse(self.url)
            there = ServerUrl.parse(urljoin(self.url, text))
        except (ValueError, UrlUnusable):
            raise _not_opened(_NO_ENDPOINT) from None
        if not text or text.startswith(("{", "[")):  # a message: the event is missing
            raise _not_opened(_NO_ENDPOINT)
        if there.origin != here.origin:
            raise _not_opened(_ELSEWHERE)
        return there.target

    async def close(self) -> None:
        await self._clients.close()


class _Post(NamedTuple):
    message: bytes
    number: int | None
    headers: Headers


class EventPipe:
    is_process = False
    over = "the server's stream of events has ended"
    lost = "The server's stream of events ended before it answered. Repeat the call if that is safe."
    started = "Its stream of events was opened."

    def __init__(self, address: EventAddress, ends: PipeEnds) -> None:
        self._address = address
        self._ends = ends
        self._own_headers = self._forwarded(ends.headers)
        self._target = ""
        self._posts: asyncio.Queue[_Post] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._untaken = self._untaken_bytes = 0
        self._is_congested = False
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._response: Response | None = None
        self._reason = "Its stream of events ended."
        self.gone = asyncio.Event()

    async def open(self) -> None:
        """Raises: PipeFailed."""
        seconds = self._ends.limits.handshake_timeout_s
        try:
            async with asyncio.timeout(seconds):
                events = await self._listen(seconds)
                first = await anext(events, None)
        except (TimeoutError, UpstreamTimeout):
            self._abort()
            raise _not_opened(f"no event that says where to post came within {seconds:g} s. {_NO_STREAM}") from None
        except (UpstreamFailed, RequestUnsafe) as problem:
            raise _not_opened(str(problem).removesuffix(".")) from None
        except BaseException:
            self._abort()
            raise
        try:
            self._target = self._address.find_target((isinstance(first, SseEvent) and first.data) or b"")
        except PipeFailed:
            self._abort()
            raise
        self._spawn(self._read(events))
        self._spawn(self._write())

    async def stop(self) -> None:
        self.end()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def end(self) -> None:
        self._finish(0)

    def ended(self, _code: int) -> str:
        return self._reason

    # --- from the server -------------------------------------------------------------------------------------------

    async def _listen(self, seconds: float) -> AsyncGenerator[SseEvent | OverlongEvent]:
        """Raises: UpstreamFailed, RequestUnsafe, PipeFailed."""
        headers = self._address.headers.choose([_ACCEPT, *self._own_headers])
        response = await self._address.request("GET", headers, b"", Purpose.LISTENING, target=None, seconds=seconds)
        self._response = response
        if response.status != 200:
            self._abort()
            raise _not_opened(f"it answered with HTTP status {response.status}. {_NO_STREAM}")
        if form_of(response.headers) is not Form.EVENTS:
            self._abort()
            raise _not_opened(f"its answer is no text/event-stream in UTF-8. {_NO_STREAM}")
        return self._events(response)

    async def _events(self, response: Response) -> AsyncGenerator[SseEvent | OverlongEvent]:
        events = SseAssembler(self._ends.limits.message_bytes)
        async for chunk in response.chunks():
            for event in events.feed(chunk):
                if isinstance(event, OverlongEvent) or event.data is not None:
                    yield event

    async def _read(self, events: AsyncGenerator[SseEvent | OverlongEvent]) -> None:
        code = 1
        try:
            async with aclosing(events):
                taken = 0
                async for event in events:
                    await self._may_read.wait()
                    self._take(event)
                    taken += 1
                    if taken % _EVENTS_AT_ONCE == 0:
                        await asyncio.sleep(0)
            code = 0
        except UpstreamFailed as problem:
            self._reason = f"Its stream of events broke: {problem}"
        finally:
            self._finish(code)

    def _take(self, event: SseEvent | OverlongEvent) -> None:
        limit = self._ends.limits.message_bytes
        if isinstance(event, OverlongEvent):
            self._ends.on_line(OverlongLine(event.size_so_far, event.head, limit))
        elif event.data:
            self._ends.on_line(event.data)

    def pause_reading(self, is_paused: bool) -> None:
        if is_paused:
            self._may_read.clear()
        else:
            self._may_read.set()

    def _finish(self, code: int) -> None:
        if self.gone.is_set():
            return
        self.gone.set()
        self._abort()
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self._ends.on_exit(code)

    def _abort(self) -> None:
        if self._response is not None:
            self._response.abort()

    # --- to the server ---------------------------------------------------------------------------------------------

    def send(self, message: bytes, number: int | None = None, headers: Headers | None = None, /) -> None:
        if self.gone.is_set():
            return
        self._untaken += 1
        self._untaken_bytes += len(message)
        self._note_congestion()
        own = self._own_headers if headers is None else self._forwarded(headers)
        self._posts.put_nowait(_Post(message, number, own))

    async def _write(self) -> None:
        while True:
            post = await self._posts.get()
            sending = self._spawn(self._deliver(post))
            if post.number is None:  # nothing overtakes it: a handshake has to end before there are requests
                await asyncio.wait((sending,))

    async def _deliver(self, post: _Post) -> None:
        try:
            refusal, is_unknown = await self._post(post)
        finally:
            self._untaken -= 1
            self._untaken_bytes -= len(post.message)
            self._note_congestion()
        if post.number is None or not refusal:
            return
        if refusal is _ON_POST:
            await asyncio.sleep(_ON_POST_SECONDS)
            await self._may_read.wait()
        self._ends.on_refused(post.number, refusal, is_unknown)

    async def _post(self, post: _Post) -> tuple[str, bool]:
        """Why the server did not take a message, and whether it knows nothing of the stream any more."""
        is_request = post.number is not None
        seconds = self._ends.limits.call_timeout_s if is_request else _NOTICE_SECONDS
        headers = [*self._address.headers.choose(post.headers), JSON]
        purpose = Purpose.CALL if is_request else Purpose.NOTICE
        try:
            response = await self._address.request(
                "POST", headers, post.message, purpose, target=self._target, seconds=seconds
            )
        except UpstreamTimeout:
            return "", False  # it may be at work: how long a request may take is known to whoever waits for it
        except (UpstreamFailed, RequestUnsafe) as problem:
            return str(problem), False
        if not 200 <= response.status < 300:
            response.abort()
            return describe_status(response.status), response.status == 404
        return _ON_POST if await _is_answer(response, post.number) else "", False

    def _note_congestion(self) -> None:
        is_congested = self._untaken >= _MOST_POSTS or self._untaken_bytes >= _MOST_BYTES
        if is_congested is not self._is_congested:
            self._is_congested = is_congested
            self._ends.on_congestion(is_congested)

    def _forwarded(self, headers: Headers | None) -> Headers:
        return self._address.headers.choose_forwarded(headers or [])

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:  # Any: a coroutine's send types
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _is_answer(response: Response, number: int | None) -> bool:
    """Whether the answer to a POST is that to its message, which is to come on the stream. It is read to its end."""
    form = form_of(response.headers)
    if form is Form.EVENTS:
        response.abort()
        return True
    try:
        async with asyncio.timeout(_NOTICE_SECONDS):
            body = await response.read(_BODY_BYTES)
        response.release()
    except BodyTooLarge:
        return form is Form.JSON
    except (TimeoutError, UpstreamFailed):
        return False
    finally:
        response.abort()  # nothing happens where it was read whole
    return form is Form.JSON and number is not None and id_in_head(body) == number


def _not_opened(why: str) -> PipeFailed:
    return PipeFailed(f"did not open its stream of events: {why}.")
