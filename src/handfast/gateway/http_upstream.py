"""An MCP server over Streamable HTTP behind `/mcp/<server>`: bytes relayed, answers judged wherever they appear."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from itertools import count

from handfast.core.exchange import Status
from handfast.gateway.conversation import Conversation, Pending, ServerSide
from handfast.gateway.http_client import HttpClient, Response, UpstreamFailed, UpstreamTimeout
from handfast.gateway.http_exchange import JSON, Headers, HttpExchange
from handfast.gateway.http_headers import to_client, to_upstream
from handfast.wire.codes import UPSTREAM_FAILED, UPSTREAM_TIMEOUT
from handfast.wire.eras import META_VERSION
from handfast.wire.message import BadMessage, Message, RequestId, read_message
from handfast.wire.sse import OverlongEvent, SseAssembler, render_event

_SESSIONS = 10_000  # conversations remembered for streams that are resumed
_SWEEP_SECONDS = 30.0
_ACCEPT = (b"accept", b"application/json, text/event-stream")


class HttpUpstream:
    def __init__(
        self,
        server: ServerSide,
        url: str,
        headers: Headers,
        *,
        message_limit: Callable[[], int],
        call_timeout: Callable[[], float],
    ) -> None:
        self._server = server
        self._client = HttpClient(url)
        self._headers = headers
        self._message_limit = message_limit
        self._call_timeout = call_timeout
        self._conversations: OrderedDict[bytes, Conversation] = OrderedDict()
        self._ids = count()
        self._sweeper: asyncio.Task[None] | None = None

    async def close(self) -> None:
        self._server.learner.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
        await self._client.close()
        for conversation in self._conversations.values():
            conversation.close("The gateway stopped before the answer came.")

    # --- the three methods -----------------------------------------------------------------------------------------

    async def post(self, http: HttpExchange, message: Message) -> None:
        conversation = self._conversation(http)
        step = await conversation.from_client(message)
        if step.to_client is not None:
            await http.respond(200, [JSON], step.to_client)
            return
        if step.to_server is None:
            await http.respond(202, [])
            return
        relay = _PostRelay(self, http, conversation, message)
        await relay.run(to_upstream(http.headers, self._headers), step.to_server)

    async def get(self, http: HttpExchange) -> None:
        """The client's listening stream, or one that it resumes; answers on it are judged like any other."""
        response = await self._request_or_explain(http, "GET")
        if response is None:
            return
        conversation = self._conversation(http)
        if not _is_event_stream(response):
            await http.respond(response.status, to_client(response.headers), await response.read(self._message_limit()))
            return
        http.watch(response.abort, after=0)
        await http.start_stream(response.status, to_client(response.headers))
        try:
            await relay_events(response, http, conversation, self._message_limit())
        except UpstreamFailed:
            pass  # the stream ends; clients resume or reconnect
        finally:
            http.unwatch()
            await http.end_stream()

    async def delete(self, http: HttpExchange) -> None:
        response = await self._request_or_explain(http, "DELETE")
        if response is None:
            return
        ended = self._conversations.pop(http.header(b"mcp-session-id") or b"", None)
        if ended is not None:
            ended.close("The client ended the session before the answer came.")
        await http.respond(response.status, to_client(response.headers), await response.read(self._message_limit()))

    async def _request_or_explain(self, http: HttpExchange, method: str) -> Response | None:
        try:
            return await self._client.request(
                method, to_upstream(http.headers, self._headers), response_timeout=self._call_timeout()
            )
        except UpstreamFailed as problem:
            await http.respond(502, [(b"content-type", b"text/plain; charset=utf-8")], f"{problem}\n".encode())
            return None

    # --- conversations ---------------------------------------------------------------------------------------------

    def _conversation(self, http: HttpExchange) -> Conversation:
        session = http.header(b"mcp-session-id")
        known = self._conversations.get(session) if session is not None else None
        if known is not None and session is not None:
            self._conversations.move_to_end(session)
            return known
        return self.new_conversation(http.headers)

    def new_conversation(self, headers: Headers) -> Conversation:
        conversation = Conversation(self._server, lambda cursor: self._list_page(conversation, headers, cursor))
        return conversation

    def remember(self, session: bytes, conversation: Conversation) -> None:
        """Only after the server accepted the session: nobody can crowd others out with invented ids."""
        self._conversations[session] = conversation
        if len(self._conversations) > _SESSIONS:
            _, oldest = self._conversations.popitem(last=False)
            oldest.close("The session was idle for too long while others were busy.")
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep())

    async def _sweep(self) -> None:
        """A call whose stream broke off may be resumed, but not for ever."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            seconds = self._call_timeout()
            for conversation in list(self._conversations.values()):
                for request_id in conversation.overdue(self._server.now(), seconds):
                    pending = conversation.open_requests.pop(request_id)
                    text = f"The server neither answered nor reported progress for {seconds:g} s."
                    conversation.fail(request_id, pending, text, rule="upstream.timeout")

    async def _list_page(self, conversation: Conversation, headers: Headers, cursor: bytes | None) -> Message:
        """Ask for a page of the tools on our own account, in the session and era of the client that needs it."""
        request_id = f"handfast-{next(self._ids)}"
        body = conversation.list_request(request_id, cursor)
        kept = [(name, value) for name, value in headers if name in (b"mcp-session-id", b"mcp-protocol-version")]
        if conversation.session is not None and all(name != b"mcp-session-id" for name, _ in kept):
            kept.append((b"mcp-session-id", conversation.session))
        if META_VERSION.encode() in body:
            kept.append((b"mcp-method", b"tools/list"))
        try:
            response = await self._client.request(
                "POST", [*kept, JSON, _ACCEPT, *self._headers], body, response_timeout=self._server.learner.timeout
            )
            return await self._find_answer(response, request_id)
        except (UpstreamFailed, BadMessage) as problem:
            raise ConnectionError(str(problem)) from problem

    async def _find_answer(self, response: Response, request_id: RequestId) -> Message:
        if not _is_event_stream(response):
            return read_message(await response.read(self._message_limit()))
        events = SseAssembler(self._message_limit())
        async for chunk in response.chunks():
            for event in events.feed(chunk):
                if isinstance(event, OverlongEvent) or not event.data:
                    continue
                message = read_message(event.data)
                if message.is_answer and message.id == request_id:
                    response.abort()
                    return message
        raise ConnectionError("the server closed its answer to tools/list early")

    async def send(self, headers: Headers, body: bytes) -> Response:
        return await self._client.request("POST", headers, body, response_timeout=self._call_timeout())

    @property
    def message_limit(self) -> int:
        return self._message_limit()

    @property
    def call_timeout(self) -> float:
        return self._call_timeout()

    @property
    def server(self) -> ServerSide:
        return self._server


class _PostRelay:
    """One POST on its way up and its answer on its way down."""

    def __init__(
        self, upstream: HttpUpstream, http: HttpExchange, conversation: Conversation, message: Message
    ) -> None:
        self._upstream = upstream
        self._http = http
        self._conversation = conversation
        # An answer to a request of the server's has an id too, but of the server's making.
        self._request_id = message.id if message.is_request else None
        self._pending = self._open_pending()
        self._response: Response | None = None
        self._is_cancelled = False
        self._has_timed_out = False

    async def run(self, headers: Headers, body: bytes) -> None:
        self._task = asyncio.current_task()
        self._http.watch(self._client_left)
        try:
            self._response = await self._upstream.send(headers, body)
            await self._relay(self._response)
        except UpstreamFailed as problem:
            await self._explain(problem)
        except asyncio.CancelledError:
            if not self._is_cancelled:
                raise
        finally:
            self._http.unwatch()
            self._abandon()

    def _client_left(self) -> None:
        """A modern client cancels by leaving; a legacy one may come back for the answer, so its call runs on."""
        if self._pending is None or not self._pending.is_modern:
            return
        self._is_cancelled = True
        if self._pending.call is not None:
            self._upstream.server.path.conclude(
                self._pending.call, Status.CANCELLED, reason="The client closed the connection."
            )
        if self._response is not None:
            self._response.abort()
        elif self._task is not None:
            self._task.cancel()

    def _abandon(self) -> None:
        """Without a session nothing can be resumed: what is still open here ends here, on record."""
        pending = self._open_pending()
        if pending is None or self._request_id is None or (self._conversation.session and not self._is_cancelled):
            return
        del self._conversation.open_requests[self._request_id]
        if pending.call is not None:
            reason = "The call was given up before its answer came."
            self._upstream.server.path.conclude(pending.call, Status.CANCELLED, reason=reason)

    async def _relay(self, response: Response) -> None:
        session = response.header(b"mcp-session-id") or self._http.header(b"mcp-session-id")
        if session is not None and response.status < 400:
            self._conversation.session = session
            self._upstream.remember(session, self._conversation)
        if _is_event_stream(response):
            await self._relay_stream(response)
            return
        body = await response.read(self._upstream.message_limit)
        if self._pending is None:
            await self._http.respond(response.status, to_client(response.headers), body)
            return
        await self._relay_body(response, body)

    async def _relay_body(self, response: Response, body: bytes) -> None:
        headers = to_client(response.headers)
        try:
            message = read_message(body)
        except BadMessage as problem:
            if response.status >= 400:
                # An error of HTTP's own; the client knows how to read its status.
                self._give_up(f"The server answered with HTTP status {response.status}.")
                await self._http.respond(response.status, headers, body)
                return
            await self._answer(f"The server's answer could not be used: {problem.reason}")
            return
        if not message.is_answer or message.id != self._request_id:
            if response.status >= 400 and message.is_answer:
                self._give_up(f"The server answered with HTTP status {response.status}.")
                await self._http.respond(response.status, headers, body)
                return
            await self._answer("The server answered a request that was not asked.")
            return
        reply = await self._conversation.from_server(message)
        if reply is body:
            await self._http.respond(response.status, headers, body)
        elif reply is not None:
            await self._http.respond(200, [h for h in headers if h[0] != b"content-type"] + [JSON], reply)

    async def _relay_stream(self, response: Response) -> None:
        await self._http.start_stream(response.status, to_client(response.headers))
        timer = _IdleTimer(self._upstream.call_timeout, self._time_out) if self._is_call() else None
        is_resumable = False
        try:
            is_resumable = await relay_events(
                response,
                self._http,
                self._conversation,
                self._upstream.message_limit,
                on_event=timer.reset if timer else None,
            )
        finally:
            if timer is not None:
                timer.cancel()
        if not is_resumable and self._open_pending() is not None and not self._is_cancelled:
            await self._send_event("The server closed its answer before it was complete.")
        await self._http.end_stream()

    def _is_call(self) -> bool:
        return self._pending is not None and self._pending.call is not None

    def _time_out(self) -> None:
        self._has_timed_out = True
        if self._response is not None:
            self._response.abort()

    async def _explain(self, problem: UpstreamFailed) -> None:
        """The server failed us; the client gets one clear error in whatever form is still open."""
        seconds = self._upstream.call_timeout
        is_timeout = self._has_timed_out or isinstance(problem, UpstreamTimeout)
        text = (
            f"The server neither answered nor reported progress for {seconds:g} s. The call was given up."
            if is_timeout
            else str(problem)
        )
        code = UPSTREAM_TIMEOUT if is_timeout else UPSTREAM_FAILED
        if self._is_cancelled:
            return
        if not self._http.has_started:
            await self._answer(text, code=code)
            return
        if self._open_pending() is not None:
            await self._send_event(text, code=code)
        await self._http.end_stream()

    def _open_pending(self) -> Pending | None:
        return self._conversation.open_requests.get(self._request_id) if self._request_id is not None else None

    def _give_up(self, text: str, *, code: int = UPSTREAM_FAILED) -> bytes | None:
        pending, request_id = self._open_pending(), self._request_id
        if pending is None or request_id is None:
            return None
        del self._conversation.open_requests[request_id]
        rule = "upstream.timeout" if code == UPSTREAM_TIMEOUT else "upstream.failed"
        return self._conversation.fail(request_id, pending, text, code=code, rule=rule)

    async def _answer(self, text: str, *, code: int = UPSTREAM_FAILED) -> None:
        reply = self._give_up(text, code=code)
        if reply is None:
            await self._http.respond(502, [(b"content-type", b"text/plain; charset=utf-8")], f"{text}\n".encode())
            return
        await self._http.respond(200, [JSON], reply)

    async def _send_event(self, text: str, *, code: int = UPSTREAM_FAILED) -> None:
        reply = self._give_up(text, code=code)
        if reply is not None:
            await self._http.send_chunk(render_event(reply, None))


class _IdleTimer:
    """Fires when nothing came for a while; re-arming costs two list operations, not a task."""

    def __init__(self, seconds: float, on_idle: Callable[[], None]) -> None:
        self._seconds = seconds
        self._on_idle = on_idle
        self._handle = asyncio.get_running_loop().call_later(seconds, on_idle)

    def reset(self) -> None:
        self._handle.cancel()
        self._handle = asyncio.get_running_loop().call_later(self._seconds, self._on_idle)

    def cancel(self) -> None:
        self._handle.cancel()


async def relay_events(
    response: Response,
    http: HttpExchange,
    conversation: Conversation,
    limit: int,
    *,
    on_event: Callable[[], None] | None = None,
) -> bool:
    """Relay a stream event by event, each with its own bytes. True if the stream can be resumed (it had ids)."""
    events = SseAssembler(limit)
    has_ids = False
    async for chunk in response.chunks():
        for event in events.feed(chunk):
            if on_event is not None:
                on_event()
            if isinstance(event, OverlongEvent):
                conversation.note_overlong(limit)
                continue
            has_ids = has_ids or event.id is not None
            if not event.data:
                await http.send_chunk(event.raw)
                continue
            try:
                message = read_message(event.data)
            except BadMessage as problem:
                reply = await conversation.refuse_answer(problem)
            else:
                reply = await conversation.from_server(message)
                if reply is message.raw:
                    await http.send_chunk(event.raw)
                    continue
            if reply is not None:
                await http.send_chunk(render_event(reply, event))
    return has_ids


def _is_event_stream(response: Response) -> bool:
    return (response.header(b"content-type") or b"").split(b";")[0].strip().lower() == b"text/event-stream"
