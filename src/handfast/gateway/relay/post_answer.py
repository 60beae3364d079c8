"""One POST to a stdio server: the messages that belong to its request, and its answer."""

import asyncio
from collections.abc import Awaitable, Callable

from handfast.core.call import rules
from handfast.core.call.exchange import Status
from handfast.gateway.admission.server_health import ServerHealth, UpstreamResting
from handfast.gateway.callers.caller_ids import CallerIds, Foreign, SharedRequest, asks_with_ids, brings_ids
from handfast.gateway.calls.backlog import Backlog
from handfast.gateway.calls.call_time import CallTime, CallTimer, note_answer
from handfast.gateway.calls.conversation import Conversation, is_sign_of_life
from handfast.gateway.calls.pending import Pending
from handfast.gateway.calls.repeats import is_repeatable, note_repeat
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.http.event_log import EventLog
from handfast.gateway.http.event_stream import StreamedAnswer
from handfast.gateway.http.exchange import STREAM_HEADERS, HttpExchange
from handfast.gateway.process.channel import Channel
from handfast.gateway.process.pipe import PipeFailed
from handfast.gateway.settings.blocks import Limits
from handfast.wire.codes import INVALID_REQUEST, UPSTREAM_FAILED, UPSTREAM_TIMEOUT
from handfast.wire.eras import http_status
from handfast.wire.message import Message, RequestId, read_message
from handfast.wire.replies import error_reply


class PostAnswer:
    """Takes what a process sends about one request, and sends it on that request's connection."""

    def __init__(
        self,
        http: HttpExchange,
        conversation: Conversation,
        server: ServerSide,
        message: Message,
        *,
        health: ServerHealth,
        log: EventLog | None = None,
        other_channel: Callable[[], Awaitable[Channel]] | None = None,
        ids: CallerIds | None = None,
    ) -> None:
        """With a `log` the stream can be resumed; `other_channel` finds a process in place of a dead one.

        `ids` keeps the callers of a shared process apart.
        """
        assert message.id is not None
        self._http = http
        self._conversation = conversation
        self._server = server
        self._message = message
        self._request_id = message.id
        self._health = health
        self._answer = StreamedAnswer(http, log)
        self._is_resumable = log is not None
        self._is_answered = False
        self._began = server.now()
        self._pending: Pending = conversation.open_requests[message.id]
        self._arrived = Backlog()
        self._is_congested = False
        self._pending.when_over = self._wake
        self._waiter: asyncio.Future[None] | None = None
        self._failure: tuple[str, int] | None = None
        self._timer: CallTimer | None = None
        self._cancel_upstream: Callable[[str], None] = lambda _reason: None
        self._other_channel = other_channel
        self.ids = ids
        self._shared: SharedRequest | None = None
        self._channel: Channel | None = None  # to the process that got the request last
        self._is_lost = self._was_sent = self._has_heard = False
        self.hold_back: Callable[[bool], None] | None = None  # pauses the process, where only this client uses it
        self.has_left = False

    @property
    def _has_timed_out(self) -> bool:
        return self._failure is not None and self._failure[1] == UPSTREAM_TIMEOUT

    # --- as a listener ---------------------------------------------------------------------------------------------

    def deliver(self, message: Message) -> None:
        self._has_heard = True
        if self.ids is not None and brings_ids(message) and not self._share(self.ids).receive(message):
            return
        self._is_answered = self._is_answered or message.is_answer
        self._arrived.append(message)
        if self._arrived.is_full:
            self._relieve()
        self._wake()

    def drop_questions(self) -> None:
        """Drops the questions that the client was not asked yet, because their process has ended."""
        self._arrived.drop_questions()

    def _relieve(self) -> None:
        """Makes room: pauses the process; drops the oldest messages where a pause would make other clients wait."""
        if self.hold_back is None:
            if self._arrived.drop_oldest():
                reason = "Notifications for a client that reads too slowly were dropped."
                self._server.journal.diagnose(self._server.name, rules.CLIENT_SLOW, reason)
        elif not self._is_congested:
            self._is_congested = True
            self.hold_back(True)

    def _recover(self) -> None:
        if self._is_congested and self.hold_back is not None:
            self._is_congested = False
            self.hold_back(False)

    def fail(self, text: str, *, code: int = UPSTREAM_FAILED) -> None:
        self._failure = self._failure or (text, code)
        self._wake()

    def lost(self, text: str, *, was_sent: bool) -> None:
        self._is_lost, self._was_sent = True, was_sent
        self.fail(text)

    @property
    def is_reachable(self) -> bool:
        """Whether a message can still reach the client: before the answer, now or when the client resumes."""
        return not self._is_answered and (self._answer.is_open or not self._http.has_left)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- as an answer ----------------------------------------------------------------------------------------------

    def _send(self, channel: Channel) -> None:
        """Sends the request to the process. Raises: AmbiguousKeys, Foreign."""
        asked = self._message
        self._channel, self._shared = channel, None
        if self.ids is not None and asks_with_ids(asked):
            asked = self._share(self.ids).asked
        own_id = channel.send_request(asked, self, self._http.headers)
        self._cancel_upstream = lambda reason: channel.abandon(own_id, reason)

    def _share(self, ids: CallerIds) -> SharedRequest:
        """The request among those of other callers; made only where a message names a task or a state."""
        if self._shared is None:
            self._shared = ids.ask(self._message, self._owner)
        return self._shared

    def _owner(self) -> tuple[str, str]:
        assert self._channel is not None
        return self._conversation.caller.name, self._channel.incarnation

    def cancel(self, message: Message, client_id: RequestId) -> None:
        """Passes on a notifications/cancelled, if it names this request, to the process that has the request."""
        if client_id == self._request_id and self._channel is not None:
            self._channel.send_cancel(message, self)

    async def run(self, channel: Channel, limits: Limits) -> None:
        """Sends the request, unless it has ended, and relays until its answer, a failure or the client's departure.

        Raises: AmbiguousKeys.
        """
        try:
            if not (self._failure or self._pending.is_cancelled or self._pending.ended):
                self._send(channel)
            await self._relay(limits)
        except Foreign as problem:
            reply = await self._conversation.refuse_foreign(self._request_id, self._pending, problem)
            status = http_status(read_message(reply)) if self._pending.is_modern else 200
            await self._answer.finish(reply, status=status)
        finally:
            self._conversation.open_requests.pop(self._request_id, None)
            if self._pending.call is not None:
                # Has no effect on a recorded call; this one ends because the gateway is being stopped.
                reason = "The call was given up before its answer came."
                self._server.path.conclude(self._pending.call, Status.CANCELLED, reason=reason)

    async def _relay(self, limits: Limits) -> None:
        time = None  # a subscription has no time limit
        if self._pending.method != "subscriptions/listen":
            time = CallTime(limits, asyncio.get_running_loop().time())
        self._http.watch(self._client_left)
        on_silence = self._answer.open_early if self._is_resumable else None
        timer = self._timer = CallTimer(time, self._time_out, on_silence=on_silence)
        self._health.in_progress += self._pending.call is not None
        try:
            while not await self._relay_next():
                pass
        finally:
            self._health.in_progress -= self._pending.call is not None
            self._http.unwatch()
            self._recover()
            timer.cancel()
            self._pending.when_over = None  # breaks the reference cycle

    def _time_out(self, text: str) -> None:
        self._cancel_upstream("timeout")
        self._health.note_error(text)
        self.fail(text, code=UPSTREAM_TIMEOUT)

    def _client_left(self) -> None:
        """A modern client cancels by leaving; a legacy one does not, so its call runs on and is recorded."""
        self.has_left = True
        if not self._pending.is_modern:
            return
        if self._pending.call is not None:
            self._server.path.conclude(self._pending.call, Status.CANCELLED, reason="The client closed the connection.")
        self._cancel_upstream("the client left")
        self._wake()

    async def _relay_next(self) -> bool:
        """Sends the next message; True when that was the last."""
        # Time-outs and the end of the session come first: a flood of messages must not keep its call open.
        while not self._arrived or self._has_timed_out or self._pending.ended:
            if self.has_left and self._pending.is_modern:
                return True
            if self._pending.is_cancelled or self._pending.ended:
                await self._end_unanswered()
                return True
            if self._failure is not None:
                if await self._is_sent_again(self._failure):
                    continue
                await self._send_failure(*self._failure)
                return True
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        message = self._arrived.popleft()
        if self._is_congested and self._arrived.is_low:
            self._recover()
        if is_sign_of_life(message, self._pending) and self._timer is not None:
            self._timer.extend()
        is_last = message.is_answer
        if is_last:
            seconds = self._server.now() - self._began
            note_answer(self._health, self._pending, seconds, has_error=message.has_error)
        reply = await self._conversation.from_server(message)
        if is_last:
            await self._send_last(reply, message)
        elif reply is not None:
            await self._answer.write(reply)
        return is_last

    async def _is_sent_again(self, failure: tuple[str, int]) -> bool:
        """Sends the request once more, to a process in place of one that died, if that does no harm; whether it did."""
        find, self._other_channel = self._other_channel, None
        if find is None or not self._is_lost or self._has_heard or self._pending.is_cancelled:
            return False
        if self._was_sent and not is_repeatable(self._pending, self._server):
            return False
        try:
            channel = await find()
        except (PipeFailed, UpstreamResting, ConnectionError, TimeoutError):
            return False
        if self._failure is not failure or self.has_left or self._pending.is_cancelled:
            return False  # given up while the process was starting
        self._failure, self._is_lost = None, False
        note_repeat(self._pending, self._server, failure[0])
        self._send(channel)
        if self._timer is not None:
            self._timer.extend()
        return True

    async def _send_last(self, reply: bytes | None, message: Message) -> None:
        if reply is None:
            reply = self._conversation.fail(self._request_id, self._pending, "The server's answer was not usable.")
        status = http_status(message) if self._pending.is_modern and reply is message.raw else 200
        await self._answer.finish(reply, status=status)

    async def _end_unanswered(self) -> None:
        """Ends a cancelled request, which is owed no answer, or one whose session ended, which gets an error."""
        if self._pending.ended:
            self._cancel_upstream("the session ended")
            await self._answer.finish(error_reply(self._request_id, UPSTREAM_FAILED, self._pending.ended))
        elif self._answer.is_open:
            # Clients resume a stream whose events have ids until they see an answer.
            await self._answer.finish(error_reply(self._request_id, INVALID_REQUEST, "The request was cancelled."))
        else:
            self._http.start_stream(200, STREAM_HEADERS)
            await self._http.end_stream()

    async def _send_failure(self, text: str, code: int) -> None:
        self._conversation.open_requests.pop(self._request_id, None)
        rule = rules.UPSTREAM_TIMEOUT if code == UPSTREAM_TIMEOUT else rules.UPSTREAM_FAILED
        reply = self._conversation.fail(self._request_id, self._pending, text, code=code, rule=rule)
        await self._answer.finish(reply)
