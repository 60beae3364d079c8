"""One POST in front of a stdio child: what belongs to the request, and its answer."""

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
from handfast.gateway.process.child import ChildStartFailed
from handfast.gateway.settings.blocks import Limits
from handfast.wire.codes import INVALID_REQUEST, UPSTREAM_FAILED, UPSTREAM_TIMEOUT
from handfast.wire.eras import http_status
from handfast.wire.message import Message, read_message
from handfast.wire.replies import error_reply


class PostAnswer:
    """Listens for what belongs to one request and sends it down that request's connection."""

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
        """With a log, what is streamed can be asked for again; `other_channel` finds a child in place of a dead one.

        `ids` keeps this caller apart from the others of a child that has several.
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
        self._ids = ids
        self._shared: SharedRequest | None = None
        self._incarnation = ""  # of the child that was asked last
        self._is_lost = self._was_sent = self._has_heard = False
        self.hold_back: Callable[[bool], None] | None = None  # makes the child wait, where it is this client's alone
        self.has_left = False

    @property
    def _has_timed_out(self) -> bool:
        return self._failure is not None and self._failure[1] == UPSTREAM_TIMEOUT

    # --- as a listener ---------------------------------------------------------------------------------------------

    def deliver(self, message: Message) -> None:
        self._has_heard = True
        if self._ids is not None and brings_ids(message) and not self._share(self._ids).receive(message):
            return
        self._is_answered = self._is_answered or message.is_answer
        self._arrived.append(message)
        if self._arrived.is_full:
            self._relieve()
        self._wake()

    def _relieve(self) -> None:
        """More waits than may. Others who share the child must not wait for this client, so it loses the oldest."""
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
        """Whether what is delivered here can still get to the client: before the answer, now or when it resumes."""
        return not self._is_answered and (self._answer.is_open or not self._http.has_left)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- as an answer ----------------------------------------------------------------------------------------------

    def _send(self, channel: Channel) -> None:
        """Ask the child. Raises: AmbiguousKeys, Foreign."""
        asked = self._message
        self._incarnation, self._shared = channel.incarnation, None
        if self._ids is not None and asks_with_ids(asked):
            asked = self._share(self._ids).asked
        own_id = channel.send_request(asked, self)
        self._cancel_upstream = lambda reason: channel.abandon(own_id, reason)

    def _share(self, ids: CallerIds) -> SharedRequest:
        """The request among those of other callers, made where it or what belongs to it names a task or a state."""
        if self._shared is None:
            self._shared = ids.ask(self._message, self._owner)
        return self._shared

    def _owner(self) -> tuple[str, str]:
        return self._conversation.caller.name, self._incarnation

    async def run(self, channel: Channel, limits: Limits) -> None:
        """Ask the child, and relay until the answer was sent, the child failed, or a modern client left.

        Raises: AmbiguousKeys.
        """
        try:
            self._send(channel)
            await self._relay(limits)
        except Foreign as problem:
            reply = await self._conversation.refuse_foreign(self._request_id, self._pending, problem)
            status = http_status(read_message(reply)) if self._pending.is_modern else 200
            await self._answer.finish(reply, status=status)
        finally:
            self._conversation.open_requests.pop(self._request_id, None)
            if self._pending.call is not None:
                # Only where it was not recorded by then: the gateway is being stopped.
                reason = "The call was given up before its answer came."
                self._server.path.conclude(self._pending.call, Status.CANCELLED, reason=reason)

    async def _relay(self, limits: Limits) -> None:
        time = None  # a subscription has no end
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
            self._pending.when_over = None  # or both would be left to the garbage collector

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
        """Send the next thing; True when that was the last."""
        # A flood that never ebbs must not keep its call open.
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
        """Ask another child in place of one that died, once, if that can do no harm."""
        find, self._other_channel = self._other_channel, None
        if find is None or not self._is_lost or self._has_heard or self._pending.is_cancelled:
            return False
        if self._was_sent and not is_repeatable(self._pending, self._server):
            return False
        try:
            channel = await find()
        except (ChildStartFailed, UpstreamResting, ConnectionError, TimeoutError):
            return False
        if self._failure is not failure or self.has_left or self._pending.is_cancelled:
            return False  # given up while the child was started
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
        """A legacy client cancelled: no answer is due, and nothing the server says later may still end up here.

        It is, where the session ended under the call.
        """
        if self._pending.ended:
            self._cancel_upstream("the session ended")
            await self._answer.finish(error_reply(self._request_id, UPSTREAM_FAILED, self._pending.ended))
        elif self._answer.is_open:
            # Its events have ids, and clients come back for the rest of such a stream until they see an answer.
            await self._answer.finish(error_reply(self._request_id, INVALID_REQUEST, "The request was cancelled."))
        else:
            self._http.start_stream(200, STREAM_HEADERS)
            await self._http.end_stream()

    async def _send_failure(self, text: str, code: int) -> None:
        self._conversation.open_requests.pop(self._request_id, None)
        rule = rules.UPSTREAM_TIMEOUT if code == UPSTREAM_TIMEOUT else rules.UPSTREAM_FAILED
        reply = self._conversation.fail(self._request_id, self._pending, text, code=code, rule=rule)
        await self._answer.finish(reply)
