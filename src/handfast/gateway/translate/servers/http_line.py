"""A line to a server over Streamable HTTP: POSTs, streams that may be resumed, and messages outside requests."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import NamedTuple, Protocol

from handfast.gateway.calls.flow import HoldBack
from handfast.gateway.http.exchange import Headers
from handfast.gateway.http.headers import Form, form_of
from handfast.gateway.http.response import Response, UpstreamFailed, UpstreamTimeout
from handfast.gateway.translate.servers.line import Deliver, HttpRefused, Room, ServerSessionLost
from handfast.wire.alias import Alias, read_number, token_of
from handfast.wire.eras import META_SUBSCRIPTION
from handfast.wire.message import AmbiguousKeys, BadMessage, Message, read_message
from handfast.wire.methods import HARMLESS, INTERACTIVE, Purpose, purpose_of
from handfast.wire.replies import error_reply, notification
from handfast.wire.scan import NotJson
from handfast.wire.sse import OverlongEvent, SseAssembler

_ACCEPT = (b"accept", b"application/json, text/event-stream")
_ACCEPT_EVENTS = (b"accept", b"text/event-stream")
_SESSION = b"mcp-session-id"
_RETRY_SECONDS = 1.0  # where a server does not say when its stream may be resumed
_LONGEST_RETRY_SECONDS = 30.0
_GOODBYE_SECONDS = 2.0  # for a server to confirm the end of a session, which no client waits for
_LOST = "The server knows the session no more."
_LOST_UNDER_CALL = f"{_LOST} The call was not repeated; the next one begins another session."
_OF_THE_PROTOCOL = range(-32768, -31999)  # error numbers; a server may send any
_RESUMPTIONS = 100  # of one answer; a server that never gets further is not waited for


class Http(Protocol):
    """The server's address, as far as a line needs it."""

    async def request(
        self, verb: str, headers: Headers, body: bytes = b"", *, purpose: Purpose, is_harmless: bool = False
    ) -> Response:
        """`is_harmless`: it may be sent twice. Raises: UpstreamFailed."""

    @property
    def next_id(self) -> Callable[[], int]:
        """Numbers for requests, unlike any that the server was sent before."""

    def message_limit(self, method: str | None = None) -> int: ...

    @property
    def call_timeout(self) -> float: ...


class _OpenRequest(NamedTuple):
    alias: Alias
    deliver: Deliver


class HttpLine:
    def __init__(
        self,
        http: Http,
        headers_of: Callable[[Message], Headers],
        on_stray: Deliver | None = None,
        *,
        has_session: bool = True,
    ) -> None:
        """`headers_of` gives the headers that the era requires; `on_stray` takes what belongs to no request."""
        self._http = http
        self._headers_of = headers_of
        self._on_stray = on_stray
        self._has_session = has_session
        self._listening: asyncio.Task[None] | None = None
        self._sending: set[asyncio.Task[None]] = set()
        self._open: dict[int, _OpenRequest] = {}  # by the number the server knows the request by
        self.session: bytes | None = None
        self.version: bytes | None = None
        self.is_alive = True
        self.has_given_up = False

    @property
    def is_shared(self) -> bool:
        return not self._has_session

    @property
    def incarnation(self) -> tuple[str, ...]:
        return ()

    @property
    def hold_back(self) -> HoldBack:
        return _wait_by_itself

    async def exchange(
        self, message: Message, deliver: Deliver, headers: Headers | None = None, room: Room | None = None
    ) -> Message:
        own = self._headers_of(message)
        named = {name for name, _ in own}
        alias = Alias(self._http.next_id(), message, token_of(message))
        self._open[alias.number] = _OpenRequest(alias, deliver)
        is_answered = False
        try:
            sent = own + [other for other in headers or () if other[0] not in named]
            response = await self._post(
                alias.take_raw(),
                sent,
                purpose_of(message.method),
                is_harmless=message.method in HARMLESS,
            )
            answer = await self._read(response, alias, room)
            if message.method == "initialize" and self._has_session:
                self.session = response.header(_SESSION)  # only a paired answer proves that the session is ours
            is_answered = True
            return answer
        except (ServerSessionLost, HttpRefused) as problem:
            if self.session is None or (isinstance(problem, HttpRefused) and problem.status != 400):
                raise
            self.is_alive = False
            if message.method == "tools/call":  # whatever became of it, it is not made twice
                raise UpstreamFailed(_LOST_UNDER_CALL) from None
            raise ServerSessionLost(_LOST) from None
        except (asyncio.CancelledError, UpstreamTimeout) as problem:
            if self.version is not None:
                is_late = isinstance(problem, UpstreamTimeout)
                self._cancel(alias.number, "timeout" if is_late else "The client cancelled the request.")
            raise
        finally:
            del self._open[alias.number]
            if message.method in INTERACTIVE and not is_answered:
                self.has_given_up = True  # for as long as the line, which does not see an answer that comes later

    async def _read(self, response: Response, alias: Alias, room: Room | None) -> Message:
        try:
            form = form_of(response.headers)
            if form is Form.EVENTS and response.status < 300:
                answer = await _AnswerStream(self, alias, room).follow(response)
            elif form is Form.JSON and not 300 <= response.status < 400:
                answer = await self._read_body(response, alias)
            else:
                raise _unusable(response)
            alias.restore_answer(answer)
            return answer
        finally:
            response.abort()  # has no effect where the answer was paired and read whole

    def _cancel(self, number: int, reason: str) -> None:
        """Sends notifications/cancelled: a legacy server goes on when a connection is closed."""
        params = {"requestId": number, "reason": reason}
        task = asyncio.create_task(self._send_quietly(notification("notifications/cancelled", params)))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send_quietly(self, raw: bytes) -> None:
        with contextlib.suppress(UpstreamFailed):
            await self.send(raw)

    async def send(self, raw: bytes) -> None:
        (await self._post(raw, [], Purpose.NOTICE)).dismiss()  # only requests have answers

    def listen(self) -> None:
        """Reads what the server sends outside requests, where it has a stream for that."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())

    async def close(self) -> None:
        was_alive, self.is_alive = self.is_alive, False
        if self._listening is not None:
            self._listening.cancel()
        if self.session is not None and was_alive:
            with contextlib.suppress(UpstreamFailed, TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    response = await self._http.request("DELETE", self._in_session(), purpose=Purpose.NOTICE)
                response.dismiss()

    async def resume(self, last_id: bytes) -> Response:
        """Raises: UpstreamFailed."""
        headers = [*self._in_session(), _ACCEPT_EVENTS, (b"last-event-id", last_id)]
        response = await self._http.request("GET", headers, purpose=Purpose.LISTENING)
        if response.status != 200 or form_of(response.headers) is not Form.EVENTS:
            response.abort()
            raise UpstreamFailed("The server closed its answer early, and would not send the rest of it.")
        return response

    def message_limit(self, method: str | None) -> int:
        return self._http.message_limit(method)

    def deliver(self, alias: Alias, message: Message) -> None:
        """Delivers what came on the stream of a request."""
        if message.method == "notifications/progress":
            self._deliver_progress(message)
        elif self._restores(alias, message):
            self._open[alias.number].deliver(message)

    def stray(self, message: Message) -> None:
        if message.method == "notifications/progress":
            self._deliver_progress(message)
        elif self._on_stray is not None:
            self._on_stray(message)

    def _deliver_progress(self, message: Message) -> None:
        """Delivers progress to the request whose token it names, and nowhere else."""
        with contextlib.suppress(AmbiguousKeys, NotJson):
            found = self._open.get(read_number(message.params().get("progressToken")) or 0)
            if found is not None and found.alias.restore_progress(message):
                found.deliver(message)

    def _restores(self, alias: Alias, message: Message) -> bool:
        """Whether a message may belong to this request; restores the id in a subscription's notification."""
        if not message.is_notification or not message.may_mention(META_SUBSCRIPTION):
            return True
        try:
            number = read_number(message.meta().get(META_SUBSCRIPTION))
        except (AmbiguousKeys, NotJson):
            return False
        if number == alias.number:
            alias.restore_subscription(message)
        return number in (None, alias.number)

    async def _post(self, body: bytes, headers: Headers, purpose: Purpose, *, is_harmless: bool = False) -> Response:
        whole = [_ACCEPT, *self._in_session(), *headers]
        response = await self._http.request("POST", whole, body, purpose=purpose, is_harmless=is_harmless)
        if self.session is None:
            return response
        if response.header(_SESSION) not in (None, self.session):
            response.abort()
            raise UpstreamFailed("The server's answer could not be used: it is of another session.")
        if response.status == 404:
            self.is_alive = False
            response.abort()
            raise ServerSessionLost(_LOST)
        return response

    def _in_session(self) -> Headers:
        headers: Headers = []
        if self.session is not None:
            headers.append((_SESSION, self.session))
        if self.version is not None:
            headers.append((b"mcp-protocol-version", self.version))
        return headers

    async def _read_body(self, response: Response, alias: Alias) -> Message:
        body = await response.read(self._http.message_limit(alias.method))
        try:
            found = read_message(body)
        except BadMessage as problem:
            if response.status >= 400:
                raise HttpRefused(response.status) from None
            raise UpstreamFailed(f"The server's answer could not be used: {problem.reason}") from None
        if alias.is_answered_by(found):
            response.release()
            return found
        if response.status >= 400:
            code = found.error_code() if found.is_answer and found.id is None else None
            refused = HttpRefused(response.status)
            # In a session a 400 says more often than not that it is not known: the specification's 404 came later.
            if code is None or code not in _OF_THE_PROTOCOL or (self.session is not None and response.status == 400):
                raise refused
            # An error of the transport, which did not know the id: its code shows the server's era.
            return read_message(error_reply(alias.number, code, str(refused)))
        raise UpstreamFailed("The server answered a request that was not asked.")

    async def _listen(self) -> None:
        """Reads one stream after the other, for as long as the server offers one."""
        seconds = _RETRY_SECONDS
        while self.is_alive:
            with contextlib.suppress(UpstreamFailed):
                response = await self._http.request(
                    "GET", [*self._in_session(), _ACCEPT_EVENTS], purpose=Purpose.LISTENING
                )
                if response.status != 200 or form_of(response.headers) is not Form.EVENTS:
                    response.abort()
                    return  # most servers have none
                seconds = _RETRY_SECONDS
                try:
                    await self._take_strays(response)
                finally:
                    response.abort()  # its messages cannot be paired with requests, so its connection is not used again
            await asyncio.sleep(seconds)
            seconds = min(seconds * 2, _LONGEST_RETRY_SECONDS)

    async def _take_strays(self, response: Response) -> None:
        events = SseAssembler(self._http.message_limit())
        async for chunk in response.chunks():
            for event in events.feed(chunk):
                if not isinstance(event, OverlongEvent) and event.data:
                    with contextlib.suppress(BadMessage):
                        self.stray(read_message(event.data))


class _AnswerStream:
    """The answer to one request as a stream, on as many connections as it takes."""

    def __init__(self, line: HttpLine, alias: Alias, room: Room | None) -> None:
        self._line = line
        self._alias = alias
        self._room = room
        self._last_id: bytes | None = None
        self._retry = _RETRY_SECONDS
        self._has_spoilt = False  # an unusable message may have been the answer

    async def follow(self, response: Response) -> Message:
        """Raises: UpstreamFailed."""
        for _ in range(_RESUMPTIONS):
            try:
                answer = await self._read(response)
                if answer is not None:
                    if response.has_arrived:
                        response.release()
                    return answer
            finally:
                response.abort()  # nothing more is read from this connection
            if self._last_id is None or self._has_spoilt:
                break
            # The server closed the stream on purpose: it will have more to say later.
            await asyncio.sleep(self._retry)
            response = await self._line.resume(self._last_id)
        raise UpstreamFailed("The server closed its answer before it was complete.")

    async def _read(self, response: Response) -> Message | None:
        events = SseAssembler(self._line.message_limit(self._alias.method))
        try:
            async for chunk in response.chunks():
                for event in events.feed(chunk):
                    if isinstance(event, OverlongEvent):
                        self._has_spoilt = True
                        raise UpstreamFailed("The server's answer is over the limit for a message.")
                    self._note(event.id, event.retry)
                    answer = self._take(event.data) if event.data else None
                    if answer is not None:
                        return answer
                if self._room is not None:
                    await self._room()
        except UpstreamFailed:
            if self._last_id is None or self._has_spoilt:
                raise
        return None

    def _note(self, event_id: bytes | None, retry: bytes | None) -> None:
        if event_id:
            self._last_id = event_id
        if retry is not None and retry.isdigit():
            self._retry = min(int(retry[:6]) / 1000, _LONGEST_RETRY_SECONDS)

    def _take(self, data: bytes) -> Message | None:
        try:
            message = read_message(data)
        except BadMessage as problem:
            self._has_spoilt = True
            if problem.id == self._alias.number:
                raise UpstreamFailed(f"The server's answer could not be used: {problem.reason}") from None
            return None
        if not message.is_answer:
            self._line.deliver(self._alias, message)
            return None
        if self._alias.is_answered_by(message):
            return message
        self._has_spoilt = True
        raise UpstreamFailed("The server answered a request that was not asked.")


def _unusable(response: Response) -> UpstreamFailed:
    if response.status >= 400:
        return HttpRefused(response.status)
    return UpstreamFailed("The server's answer is neither application/json nor text/event-stream in UTF-8.")


def _wait_by_itself(_is_held: bool) -> None:
    """Does nothing: each request has a stream of its own, which is read on when there is room."""
