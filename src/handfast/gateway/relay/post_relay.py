"""One POST relayed to an HTTP server, and its answer relayed to the client."""

import asyncio
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING

from handfast.core.call import rules
from handfast.core.call.exchange import Status
from handfast.gateway.calls.call_time import CallTime, CallTimer, note_answer
from handfast.gateway.calls.conversation import Conversation, overlong_text
from handfast.gateway.calls.pending import Pending
from handfast.gateway.calls.repeats import is_repeatable, note_repeat
from handfast.gateway.http.client import Response, UpstreamFailed, UpstreamRefused, UpstreamTimeout
from handfast.gateway.http.event_stream import StreamedAnswer
from handfast.gateway.http.exchange import JSON, Headers, HttpExchange, HttpProblem
from handfast.gateway.http.headers import Form, form_of, to_client
from handfast.gateway.http.response import describe_status
from handfast.gateway.relay.event_relay import NOT_ASKED, EventRelay
from handfast.wire.alias import Alias, token_of
from handfast.wire.codes import INVALID_REQUEST, UPSTREAM_FAILED, UPSTREAM_TIMEOUT
from handfast.wire.message import BadMessage, Message, read_message
from handfast.wire.methods import purpose_of
from handfast.wire.replies import error_reply

if TYPE_CHECKING:
    from handfast.gateway.relay.http_relay import HttpRelay


# A server may send an answer on another stream of the session as well.
_ELSEWHERE = "The answer to this request was sent on another stream of its session."


class _Over(Enum):
    """Why the relay no longer waits for the server's answer."""

    NO = auto()
    WITHDRAWN = auto()  # cancelled by a client that is still there
    SESSION_ENDED = auto()
    CLIENT_LEFT = auto()  # nothing more is sent to it, whatever else happens


class PostRelay:
    """The answer is sent in the form it comes in: a body, or a stream."""

    def __init__(self, upstream: "HttpRelay", http: HttpExchange, conversation: Conversation, message: Message) -> None:
        self._upstream = upstream
        self._http = http
        self._conversation = conversation
        self._message = message
        # A client's answer to a request of the server's has an id too, but the server chose it.
        self._request_id = message.id if message.is_request else None
        self._pending = self._open_pending()
        self._limit = upstream.message_limit(message.method)
        self._answer = StreamedAnswer(http)
        self._events: EventRelay | None = None
        self._response: Response | None = None
        self._given: bytes | None = None  # a session that the server gives with its answer
        self._over = _Over.NO
        self._timeout = ""  # why the call was given up, where it took too long

    async def run(self, headers: Headers, body: bytes) -> None:
        """Sends `body` as it is, or a request under an id of ours, and relays the answer."""
        self._task = asyncio.current_task()
        self._http.watch(self._client_left)
        health = self._upstream.health
        health.in_progress += self._is_call()
        self._began = self._upstream.server.now()
        self._headers = headers
        self._attend(True)
        pending = self._pending
        if pending is not None:
            # A task's progress goes on after the request was answered, so it keeps the client's own token.
            has_token = pending.progress_token is not None and not pending.asks_for_task
            token = token_of(self._message) if has_token else None
            pending.alias = Alias(self._upstream.next_id(), self._message, token)
            body = pending.alias.take_raw()
        try:
            self._response = await self._upstream.send(
                "POST",
                headers,
                body,
                purpose=purpose_of(self._message.method),
                repeats=self._repeats,
                is_cancelled=self._has_been_cancelled,
            )
            await self._relay(self._response)
        except UpstreamFailed as problem:
            await self._explain(problem)
        except asyncio.CancelledError:
            if self._over is _Over.NO:
                raise
            if self._task is not None:
                self._task.uncancel()
            await self._end_early()
        finally:
            health.in_progress -= self._is_call()
            self._http.unwatch()
            self._attend(False)
            self._abandon()
            if self._response is not None:
                self._response.abort()  # has no effect where the answer was paired

    def _repeats(self, problem: UpstreamFailed) -> bool:
        """Whether to send an open request once more: where nothing was sent, or where a repeat does no harm."""
        pending, server = self._pending, self._upstream.server
        if self._has_been_cancelled() or (pending is not None and pending.call and pending.call.end):
            return False
        if not isinstance(problem, UpstreamRefused) and (pending is None or not is_repeatable(pending, server)):
            return False
        note_repeat(pending, server, str(problem))
        return True

    def _has_been_cancelled(self) -> bool:
        return self._pending is not None and (self._pending.is_cancelled or bool(self._pending.ended))

    def _has_ended(self) -> bool:
        """Whether the session ended under the request, so that no answer can come."""
        return self._pending is not None and bool(self._pending.ended)

    def _attend(self, is_attended: bool) -> None:
        if self._pending is not None:
            self._pending.when_over = self._stop if is_attended else None
            self._pending.is_attended = is_attended
            self._pending.touched = self._upstream.server.now()  # from here on it may be resumed for a while

    def _client_left(self) -> None:
        """A modern client cancels by leaving; a legacy one may come back for the answer, so its call runs on."""
        if self._pending is None or not (self._pending.is_modern or self._pending.is_cancelled):
            return
        self._over = _Over.CLIENT_LEFT
        if self._pending.call is not None:
            self._upstream.server.path.conclude(
                self._pending.call, Status.CANCELLED, reason="The client closed the connection."
            )
        self._stop_waiting()

    def _stop_waiting(self) -> None:
        if self._response is not None:
            self._response.abort()
        elif self._task is not None:
            self._task.cancel()

    def _stop(self) -> None:
        """Stops waiting for the answer: the session ended, or the client cancelled the request."""
        if self._over is _Over.CLIENT_LEFT:
            return
        if self._http.has_left and not self._has_ended():
            self._client_left()
            return
        self._over = _Over.SESSION_ENDED if self._has_ended() else _Over.WITHDRAWN
        self._stop_waiting()

    async def _end_early(self) -> None:
        """Answers with an error: clients repeat a request that ends without an answer, even one they cancelled."""
        if self._over is _Over.SESSION_ENDED:
            await self._fail(_ELSEWHERE)
        elif self._over is _Over.WITHDRAWN:
            if self._request_id is not None:
                self._conversation.open_requests.pop(self._request_id, None)
            reply = error_reply(self._request_id, INVALID_REQUEST, "The request was cancelled.")
            await self._answer.finish(reply)

    def _abandon(self) -> None:
        """Ends and records a request that is still open, unless its client can resume it in a session."""
        pending = self._open_pending()
        may_be_resumed = self._conversation.session and self._over is not _Over.CLIENT_LEFT
        if pending is None or self._request_id is None or may_be_resumed:
            return
        del self._conversation.open_requests[self._request_id]
        if pending.call is not None:
            reason = "The call was given up before its answer came."
            self._upstream.server.path.conclude(pending.call, Status.CANCELLED, reason=reason)

    async def _relay(self, response: Response) -> None:
        session, given = self._http.header(b"mcp-session-id"), response.header(b"mcp-session-id")
        if session is None:
            self._given = given
        elif given is not None and given != session:
            await self._refuse(response, "it is of another session.")
            return
        elif response.status < 400:
            self._enter(session, is_new=False)
        try:
            if self._pending is None:
                await self._acknowledge(response)
            else:
                await self._relay_answer(response)
        finally:
            # The modern revision has no sessions; there a 404 means that the server does not know the method.
            if session is not None and response.status == 404 and not self._is_modern():
                self._upstream.sessions.lose(session)

    def _enter(self, session: bytes, *, is_new: bool) -> None:
        is_kept = self._upstream.sessions.remember(session, self._conversation, is_new=is_new)
        self._conversation.session = session if is_kept else None

    def _paired(self, response: Response) -> None:
        """Takes the session that the server gave: only a paired answer proves that it is this client's."""
        if self._given is not None and response.status < 400:
            self._enter(self._given, is_new=True)

    async def _relay_answer(self, response: Response) -> None:
        form = form_of(response.headers)
        if 300 <= response.status < 400:
            await self._refuse(response, f"it has HTTP status {response.status}.")
        elif form is Form.EVENTS and response.status < 300:
            await self._relay_stream(response)
        elif form is Form.JSON:
            await self._relay_body(response, await self._read_body(response))
        else:
            await self._refuse(response, "its Content-Type is neither application/json nor text/event-stream in UTF-8.")

    async def _acknowledge(self, response: Response) -> None:
        """Acknowledges a message that is not a request, by the server's status alone: its body answers nothing."""
        if response.status >= 300:
            raise without_answer(response)
        response.dismiss()
        await self._http.respond(202, [])

    async def _read_body(self, response: Response) -> bytes:
        """Reads the body, which may stall for no longer than a call may be silent."""
        if response.has_arrived:
            return await response.read(self._limit)
        timer = self._start_timer()
        try:
            return await response.read(self._limit)
        finally:
            timer.cancel()

    async def _relay_body(self, response: Response, body: bytes) -> None:
        try:
            message = read_message(body)
        except BadMessage as problem:
            await self._refuse(response, problem.reason)
            return
        alias = self._pending.alias if self._pending is not None else None
        if alias is None or not alias.is_answered_by(message):
            await self._refuse(response, NOT_ASKED)
            return
        response.release()
        self._response = None
        if self._given is not None:
            self._paired(response)
        alias.restore_answer(message)
        self._note_answer(has_error=message.has_error)
        reply = await self._conversation.from_server(message)
        if reply is None:
            await self._fail(_ELSEWHERE)
            return
        is_error = reply is message.raw and 400 <= response.status < 600
        await self._http.respond(response.status if is_error else 200, [JSON, *to_client(response.headers)], reply)

    async def _refuse(self, response: Response, reason: str) -> None:
        """Drops what does not answer this request; the client gets our own error, and a status to act on."""
        response.abort()
        if response.status < 400:
            await self._fail(f"The server's answer could not be used: {reason}")
            return
        problem = without_answer(response)
        reply = self._give_up(problem.text)
        if reply is None:
            raise problem
        await self._http.respond(problem.status, [JSON, *problem.headers], reply)

    async def _relay_stream(self, response: Response) -> None:
        events = self._events = EventRelay(self._http, self._conversation, self._limit, self._pending)
        if self._given is None:
            self._start_stream(response)
        else:  # only the paired answer shows whose session it is
            events.hold(partial(self._start_stream, response))
        is_endless = self._message.method == "subscriptions/listen" or self._pending is None
        timer = None if is_endless else self._start_timer()
        try:
            await events.run(response, on_progress=timer.extend if timer else None)
        finally:
            if timer is not None:
                timer.cancel()
        text = "The server closed its answer before it was complete."
        if events.was_overlong:
            text = overlong_text(self._limit)
        if self._open_pending() is None and not self._has_ended():
            response.release()
            self._note_answer(has_error=False)
            await self._answer.end()
        elif not self._answer.is_open:
            await self._fail(text)
        else:
            await self._end_stream("" if self._is_resumable() or self._over is _Over.CLIENT_LEFT else text)

    def _start_stream(self, response: Response) -> None:
        self._paired(response)
        self._answer.open(to_client(response.headers))

    async def _end_stream(self, text: str, *, code: int = UPSTREAM_FAILED) -> None:
        """Ends the stream, with an error if there is a text; without one the client will resume for the rest."""
        reply = self._give_up(text, code=code) if text else None
        if reply is not None:
            await self._answer.write(reply)
        await self._answer.end()

    def _is_resumable(self) -> bool:
        """Whether the client can resume for its answer: only in a session, which 2026-07-28 does not have."""
        is_kept = self._conversation.session is not None and not self._upstream.is_closed
        is_resumable = self._events is not None and self._events.is_resumable
        return is_resumable and is_kept and not self._is_modern() and not self._has_ended()

    def _is_modern(self) -> bool:
        return self._pending is not None and self._pending.is_modern

    def _note_answer(self, *, has_error: bool) -> None:
        if self._pending is not None:
            seconds = self._upstream.server.now() - self._began
            note_answer(self._upstream.health, self._pending, seconds, has_error=has_error)

    def _is_call(self) -> bool:
        return self._pending is not None and self._pending.call is not None

    def _start_timer(self) -> CallTimer:
        time = self._call_time()
        time.extend(asyncio.get_running_loop().time())
        return CallTimer(time, self._time_out)

    def _call_time(self) -> CallTime:
        now = asyncio.get_running_loop().time()
        return self._upstream.call_time(now - (self._upstream.server.now() - self._began))

    def _time_out(self, text: str) -> None:
        self._timeout = text
        if self._response is not None:
            self._response.abort()

    async def _explain(self, problem: UpstreamFailed) -> None:
        """Sends the client one error for a failure of the server, as a body or on the open stream."""
        if isinstance(problem, UpstreamTimeout) and not self._timeout:
            self._timeout = self._call_time().describe()
        text, code = self._timeout or str(problem), UPSTREAM_TIMEOUT if self._timeout else UPSTREAM_FAILED
        if self._timeout:
            self._tell_timeout()
        if self._over in (_Over.CLIENT_LEFT, _Over.WITHDRAWN):
            await self._end_early()
            return
        if self._response is not None and not self._has_been_cancelled():
            self._upstream.health.note_error(text)
        if not self._answer.is_open:
            await self._fail(text, code=code)
        else:
            await self._end_stream(text if self._timeout or not self._is_resumable() else "", code=code)

    def _tell_timeout(self) -> None:
        """Cancels a call at a legacy server; a modern server takes the closed connection as the cancellation."""
        pending = self._pending
        if pending is not None and not pending.is_modern and pending.alias is not None and self._is_call():
            self._upstream.tell_cancelled(self._headers, pending.alias.number)

    def _open_pending(self) -> Pending | None:
        return self._conversation.open_requests.get(self._request_id) if self._request_id is not None else None

    def _give_up(self, text: str, *, code: int = UPSTREAM_FAILED) -> bytes | None:
        pending, request_id = self._open_pending(), self._request_id
        if self._pending is not None and self._pending.ended:
            return error_reply(request_id, UPSTREAM_FAILED, self._pending.ended)
        if pending is None or request_id is None:
            return None
        del self._conversation.open_requests[request_id]
        rule = rules.UPSTREAM_TIMEOUT if code == UPSTREAM_TIMEOUT else rules.UPSTREAM_FAILED
        return self._conversation.fail(request_id, pending, text, code=code, rule=rule)

    async def _fail(self, text: str, *, code: int = UPSTREAM_FAILED) -> None:
        reply = self._give_up(text, code=code)
        if reply is None:
            raise HttpProblem(502, text, code=code, rule="")
        await self._answer.finish(reply)


def without_answer(response: Response, *, status_of_success: int = 502) -> HttpProblem:
    """The problem for a response without an MCP answer: with its status if that is an error, never its body."""
    response.abort()
    status = response.status
    if not 400 <= status < 600:
        status = status_of_success if status < 300 else 502
    text = describe_status(response.status)
    # A session belongs to the client whose answer gives it, and this response answers no request.
    headers = [header for header in to_client(response.headers) if header[0] != b"mcp-session-id"]
    return HttpProblem(status, text, code=UPSTREAM_FAILED, rule="", headers=headers)
