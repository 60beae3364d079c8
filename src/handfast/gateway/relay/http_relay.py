"""An MCP server over Streamable HTTP behind `/mcp/<server>`: bytes relayed, answers judged wherever they appear."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from secrets import randbelow

from handfast.catalog.listing import ListingSessionLost
from handfast.gateway.admission.request_places import LISTENING as LISTENING_TEXTS
from handfast.gateway.admission.request_places import REQUESTS as REQUEST_TEXTS
from handfast.gateway.admission.request_places import PlacesRefused, RequestPlaces
from handfast.gateway.admission.server_era import EraRefused, ServerEra
from handfast.gateway.admission.server_health import ServerHealth, State, UpstreamResting
from handfast.gateway.callers.identity import opener_of
from handfast.gateway.calls.call_time import CallTime
from handfast.gateway.calls.conversation import Conversation
from handfast.gateway.calls.param_headers import refuse_mismatch, refuse_param_mismatch
from handfast.gateway.calls.repeats import note_repeat
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.http.client import (
    Response,
    UpstreamFailed,
    UpstreamHungUp,
    UpstreamProtocolError,
    UpstreamRefused,
    UpstreamTimeout,
)
from handfast.gateway.http.exchange import JSON, STREAM_HEADERS, Headers, HttpExchange, HttpProblem
from handfast.gateway.http.headers import Form, UpstreamHeaders, form_of, has_extensions, to_client
from handfast.gateway.http.upstream_clients import LISTENING, REQUESTS, UpstreamClients
from handfast.gateway.relay.event_relay import EventRelay
from handfast.gateway.relay.post_relay import PostRelay, without_answer
from handfast.gateway.relay.server_sessions import ServerSessions
from handfast.gateway.sessions.session_table import ENDED, refuse_initialize, refuse_unknown
from handfast.gateway.settings.blocks import Limits
from handfast.wire.codes import UPSTREAM_FAILED
from handfast.wire.eras import META_VERSION
from handfast.wire.message import BadMessage, Message, RequestId, read_message
from handfast.wire.methods import Purpose
from handfast.wire.replies import error_reply, notification
from handfast.wire.sse import OverlongEvent, SseAssembler

_RECONNECT_SECONDS = 0.2  # a restarting server may be back by then, and clients hardly notice the wait
_NOTICE_SECONDS = 10.0  # for the server to acknowledge a notification
_ACCEPT = (b"accept", b"application/json, text/event-stream")


class HttpRelay:
    is_process = False

    def __init__(
        self,
        server: ServerSide,
        url: str,
        headers: UpstreamHeaders,
        *,
        health: ServerHealth,
        limits: Callable[[], Limits],
    ) -> None:
        self.server = server
        self._clients = UpstreamClients(url)
        self._headers = headers
        self.health = health
        self._limits = limits
        # At most as many clients can listen as may have connections; a session between two requests has none.
        note = partial(server.journal.diagnose, server.name)
        self.listening_places = RequestPlaces(
            lambda: min(limits().connections, LISTENING // 2), LISTENING_TEXTS, on_refusal=note
        )
        self.request_places = RequestPlaces(lambda: REQUESTS, REQUEST_TEXTS, on_refusal=note)
        self._era: ServerEra | None = None
        self.sessions = ServerSessions(server, limits)
        # A random start, unlike the ids of any other process; below 2**53, so exact where numbers are doubles.
        self.next_id: Callable[[], int] = count(10**13 + randbelow(8 * 10**13)).__next__
        self._listening: set[Response] = set()
        self._reason = "The gateway stopped before the answer came."
        self._telling: set[asyncio.Task[None]] = set()
        self.is_closed = False

    @property
    def is_busy(self) -> bool:
        """Whether the server has requests to answer."""
        return self._clients.is_busy

    def attach_era(self, era: ServerEra) -> None:
        """Sets the object that knows the server's era; it probes the server through this relay."""
        self._era = era

    def quiesce(self) -> None:
        """The gateway is about to stop: streams that only listen end now, calls under way may finish."""
        for response in self._listening:
            response.abort()

    def dismiss(self, text: str) -> None:
        """Called before `close`: requests under way end with this text, which says why."""
        self.is_closed = True
        self._reason = text
        self._clients.dismiss(text)

    def stop(self) -> None:
        """Stops the periodic sweep of sessions."""
        self.sessions.stop()

    async def close(self) -> None:
        self.is_closed = True
        await self._clients.close()
        self.sessions.close(self._reason)

    # --- the three methods -----------------------------------------------------------------------------------------

    async def post(self, http: HttpExchange, message: Message, *, may_refuse: bool = False) -> None:
        """Relays a POST. Raises: EraRefused, with `may_refuse`, for a handshake that the server does not accept."""
        if may_refuse and message.method == "initialize" and await self._is_only_modern():
            raise EraRefused
        conversation = self._conversation(http)
        mismatch = refuse_mismatch(self.server, http, message)
        if mismatch is not None:
            await http.respond(400, [JSON], mismatch)
            return
        if message.method == "initialize":
            if conversation.session is not None or conversation.open_requests:
                refused = refuse_initialize(self.server.journal, self.server.name, message)
                await http.respond(200, [JSON], refused)
                return
            conversation.caller = opener_of(http, message)
        step = await conversation.from_client(message, http)
        if step.to_client is not None:
            # Only a 404 tells a client to open another session, where its tools can be listed again.
            await http.respond(404 if conversation.has_lost_session else 200, [JSON], step.to_client)
            return
        body = step.to_server
        if message.method == "notifications/cancelled":
            body = conversation.cancellation(message)  # None for a request that never reached the server
        if body is None:
            await http.respond(202, [])
            return
        has_others = has_extensions(http.by_name)
        headers = self._headers.choose(http.headers, has_others=has_others)
        if has_others:
            mismatch = refuse_param_mismatch(self.server, conversation, headers, message)
            if mismatch is not None:
                await http.respond(400, [JSON], mismatch)
                return
        relay = PostRelay(self, http, conversation, message)
        if message.method == "tools/call":
            await relay.run(headers, body)
            return
        places = self.listening_places if message.method == "subscriptions/listen" else self.request_places
        try:
            with places.hold(conversation.caller.address):
                await relay.run(headers, body)
        except PlacesRefused as problem:
            await http.respond(503, [JSON], error_reply(message.id, UPSTREAM_FAILED, str(problem)))

    async def refuse(self, http: HttpExchange, message: Message, _text: str) -> None:
        """Posts the message although the server was unreachable just now: it fails likewise, judged and on record."""
        await self.post(http, message)

    def abandon(self, http: HttpExchange, message: Message) -> None:
        """Records a call whose client left before the call could reach the server."""
        self._new_conversation(http).abandon(message)

    async def _is_only_modern(self) -> bool:
        assert self._era is not None
        try:
            return await self._era.is_only_modern()
        except UpstreamFailed:
            return False  # relaying the request fails too, and says why

    async def get(self, http: HttpExchange) -> None:
        """Serves the client's listening stream, or one that it resumes; answers on it are judged like any other."""
        conversation = self._conversation(http)
        known = self.sessions.peek(http.header(b"mcp-session-id") or b"")
        if known is not None:
            known.streams += 1
        try:
            with self.listening_places.hold(conversation.caller.address):
                await self._listen(http, conversation)
        except PlacesRefused as problem:
            raise HttpProblem(503, str(problem), code=UPSTREAM_FAILED) from None
        finally:
            if known is not None:
                known.streams -= 1

    async def _listen(self, http: HttpExchange, conversation: Conversation) -> None:
        response = await self._request_or_explain(http, "GET", Purpose.LISTENING)
        if form_of(response.headers) is not Form.EVENTS or response.status != 200:
            raise without_answer(response, status_of_success=405)  # no stream is offered, and clients go on without
        http.watch(response.abort)
        self._listening.add(response)
        http.start_stream(200, [*STREAM_HEADERS, *to_client(response.headers)])
        try:
            await EventRelay(http, conversation, self.message_limit()).run(response)
        except UpstreamFailed:
            pass  # the stream ends; clients resume or reconnect
        finally:
            self._listening.discard(response)
            response.abort()  # its messages cannot be paired with requests, so its connection is not used again
            http.unwatch()
            await http.end_stream()

    async def delete(self, http: HttpExchange) -> None:
        conversation = self._conversation(http)  # only the caller that opened the session may end it
        is_over = False
        # Streams that the server ends with the session cannot be resumed.
        session, conversation.session = conversation.session, None
        try:
            with self.request_places.hold(conversation.caller.address):
                response = await self._request_or_explain(http, "DELETE", Purpose.REQUEST)
            # A server may refuse to end sessions (405), and then the session goes on.
            is_over = response.status < 400 or response.status == 404
        except PlacesRefused as problem:
            raise HttpProblem(503, str(problem), code=UPSTREAM_FAILED) from None
        finally:
            if not is_over:
                conversation.session = session
        if is_over:
            self.sessions.forget(http.header(b"mcp-session-id") or b"")
            conversation.close(ENDED)
        if response.status >= 300:
            raise without_answer(response)
        response.dismiss()  # the status says it all
        await http.respond(response.status, to_client(response.headers))

    async def _request_or_explain(self, http: HttpExchange, verb: str, purpose: Purpose) -> Response:
        """Raises: HttpProblem 502."""
        try:
            return await self.send(verb, self._headers.choose_without_body(http.headers), purpose=purpose)
        except UpstreamFailed as problem:
            raise HttpProblem(502, str(problem), code=UPSTREAM_FAILED, rule="") from None

    # --- conversations ---------------------------------------------------------------------------------------------

    def _conversation(self, http: HttpExchange) -> Conversation:
        """The conversation of the caller's session. Raises: HttpProblem where another caller opened the session."""
        session = http.header(b"mcp-session-id")
        if session is None:
            return self._new_conversation(http)
        known = self.sessions.get(session, http)
        if known is not None:
            return known.conversation
        if http.caller.actor:
            # The opener is unknown, for example after a restart. Anonymous callers count as one and may go on.
            refuse_unknown()
        return self.sessions.under_way(session, http.caller) or self._new_conversation(http)

    def _new_conversation(self, http: HttpExchange) -> Conversation:
        # Only these two headers of the request are kept: the session may last for hours.
        session, revision = http.by_name.get(b"mcp-session-id"), http.by_name.get(b"mcp-protocol-version")
        conversation = Conversation(self.server, partial(self._list_page, session, revision), http.caller)
        if session is not None:
            self.sessions.attend(session, conversation)
        return conversation

    async def _list_page(
        self, session: bytes | None, revision: bytes | None, conversation: Conversation, cursor: bytes | None
    ) -> Message:
        """Requests a page of the tools for handfast itself, in the session and era of the client that needs it."""
        request_id = self.next_id()
        body = conversation.list_request(request_id, cursor)
        session = session if session is not None else conversation.session
        said = ((b"mcp-session-id", session), (b"mcp-protocol-version", revision))
        kept = [(name, value) for name, value in said if value is not None]
        if META_VERSION.encode() in body:
            kept.append((b"mcp-method", b"tools/list"))
        try:
            response = await self.send(
                "POST",
                self._headers.choose([*kept, _ACCEPT]),
                body,
                purpose=Purpose.CALL,
                timeout=self.server.learner.timeout,
                repeats=self._repeats_own,
            )
            if response.status >= 400:  # an error is not an empty list
                response.abort()
                if response.status == 404 and session is not None:
                    conversation.has_lost_session = True
                    raise ListingSessionLost
                raise ConnectionError(f"the server answered tools/list with HTTP status {response.status}")
            try:
                return await self._find_answer(response, request_id)
            finally:
                response.abort()  # has no effect where the answer was paired
        except (UpstreamFailed, BadMessage) as problem:
            raise ConnectionError(str(problem)) from problem

    async def _find_answer(self, response: Response, request_id: RequestId) -> Message:
        form, limit = form_of(response.headers), self.message_limit("tools/list")
        if form is Form.JSON:
            return self._paired(response, read_message(await response.read(limit)), request_id)
        if form is Form.OTHER:
            raise ConnectionError("the server answered tools/list with neither JSON nor a stream of it")
        events = SseAssembler(limit)
        async for chunk in response.chunks():
            for event in events.feed(chunk):
                if isinstance(event, OverlongEvent) or not event.data:
                    continue
                message = read_message(event.data)
                if message.is_answer:
                    return self._paired(response, message, request_id)
        raise ConnectionError("the server closed its answer to tools/list early")

    def _paired(self, response: Response, message: Message, request_id: RequestId) -> Message:
        if not message.is_answer or message.id != request_id:
            raise ConnectionError("the server answered a request that was not asked")
        if response.has_arrived:
            response.release()
        return message

    async def request(
        self, verb: str, headers: Headers, body: bytes = b"", *, purpose: Purpose, is_harmless: bool = False
    ) -> Response:
        """A request of handfast's own, with the operator's headers. Raises: UpstreamFailed."""

        def repeats(problem: UpstreamFailed) -> bool:
            """Whether to repeat: always where nothing was sent, else only where a repeat does no harm."""
            return (is_harmless or isinstance(problem, UpstreamRefused)) and self._repeats_own(problem)

        return await self.send(verb, self._headers.choose(headers), body, purpose=purpose, repeats=repeats)

    async def send(
        self,
        verb: str,
        headers: Headers,
        body: bytes = b"",
        *,
        purpose: Purpose,
        timeout: float | None = None,
        repeats: Callable[[UpstreamFailed], bool] = lambda _problem: False,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> Response:
        """Sends, unless the server is being left alone; once more where `repeats` says so. Raises: UpstreamFailed."""
        if verb == "POST":
            headers = [*headers, JSON]  # our own Content-Type: handfast has read the bytes as JSON
        health = self.health
        health.check_admission()
        seconds = timeout or (_NOTICE_SECONDS if purpose is Purpose.NOTICE else self.call_timeout)
        try:
            client = self._clients.choose(purpose)
            try:
                response = await client.request(verb, headers, body, response_timeout=seconds)
            except (UpstreamHungUp, UpstreamRefused) as problem:
                send = partial(client.request, verb, headers, body, response_timeout=seconds)
                response = await self._try_again(problem, send, repeats)
        except UpstreamFailed as problem:
            self._note_failure(problem, is_cancelled)
            raise
        except BaseException:
            health.release()
            raise
        if health.state is not State.UP:
            health.succeeded()
        if response.status >= 500:
            health.note_error(f"It answered with HTTP status {response.status}.")
        return response

    def _note_failure(self, problem: UpstreamFailed, is_cancelled: Callable[[], bool]) -> None:
        health = self.health
        if isinstance(problem, UpstreamProtocolError) and is_cancelled():
            health.release()  # a server may end a cancelled request without an answer
        elif isinstance(problem, UpstreamTimeout | UpstreamHungUp):
            # A slow tool looks like a server that hangs, and a server that crashes may do so over one request: neither
            # must make the other tools unavailable.
            health.note_error(str(problem))
            health.release()
        elif not self.is_closed:
            health.failed(str(problem))

    async def _try_again(
        self,
        problem: UpstreamHungUp | UpstreamRefused,
        send: Callable[[], Awaitable[Response]],
        repeats: Callable[[UpstreamFailed], bool],
    ) -> Response:
        """Sends once more, if that does no harm and the server is not being left alone. Raises: UpstreamFailed."""
        try:
            self.health.check_admission()
        except UpstreamResting:
            raise problem from None
        if self.is_closed or not repeats(problem):
            raise problem
        if isinstance(problem, UpstreamRefused):
            await asyncio.sleep(_RECONNECT_SECONDS)
        try:
            return await send()
        except UpstreamHungUp:
            text = f"{self._clients.origin} closed the connection before it answered, and again when asked once more."
            raise UpstreamHungUp(text) from None

    def _repeats_own(self, problem: UpstreamFailed) -> bool:
        note_repeat(None, self.server, str(problem))
        return True

    def message_limit(self, method: str | None = None) -> int:
        """The limit of the answer to a request, or of a message that answers none."""
        return self._limits().answer_bytes(method)

    @property
    def call_timeout(self) -> float:
        """How many seconds an answer may take to begin."""
        limits = self._limits()
        return min(limits.call_timeout_s, limits.call_total_s)

    def call_time(self, began: float) -> CallTime:
        """`began` is in the loop's time."""
        return CallTime(self._limits(), began)

    def tell_cancelled(self, headers: Headers, number: int) -> None:
        """Sends notifications/cancelled: a legacy server goes on with a call when its connection is closed."""
        body = notification("notifications/cancelled", {"requestId": number, "reason": "timeout"})
        task = asyncio.create_task(self._send_quietly(headers, body))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _send_quietly(self, headers: Headers, body: bytes) -> None:
        with contextlib.suppress(UpstreamFailed):
            (await self.send("POST", headers, body, purpose=Purpose.NOTICE)).dismiss()
