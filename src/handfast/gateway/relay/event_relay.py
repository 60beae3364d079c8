"""A stream of server-sent events relayed event by event, each written anew from its fields and judged as it passes."""

import asyncio
from collections.abc import Callable

from handfast.gateway.calls.conversation import Conversation, is_sign_of_life
from handfast.gateway.calls.pending import Pending
from handfast.gateway.http.client import Response, UpstreamFailed
from handfast.gateway.http.exchange import HttpExchange
from handfast.wire.alias import read_number
from handfast.wire.eras import META_SUBSCRIPTION
from handfast.wire.message import AmbiguousKeys, BadMessage, Message, read_message
from handfast.wire.scan import NotJson
from handfast.wire.sse import KEEP_ALIVE, OverlongEvent, SseAssembler, SseEvent, render_event

_EVENTS_AT_ONCE = 64  # some milliseconds of work; one read may bring thousands, and everybody else would wait
_KEEP_ALIVE_SECONDS = 1.0  # comments that come faster keep nothing alive that one of ours does not
_HELD = 1000  # events before the answer that gives a session; real servers send none
_HELD_BYTES = 1024 * 1024
NOT_ASKED = "it answers a request that was not asked."


class EventRelay:
    def __init__(
        self, http: HttpExchange, conversation: Conversation, limit: int, pending: Pending | None = None
    ) -> None:
        """`pending` is the request whose answer this stream is; on a listening stream the session's may all appear."""
        self._http = http
        self._conversation = conversation
        self._limit = limit
        self._pending = pending
        self._held: list[bytes] | None = None
        self._held_bytes = 0
        self._on_answer: Callable[[], None] | None = None
        self._has_ids = False
        self._has_dropped = False
        self.was_overlong = False  # something was dropped that may have been the answer
        self._kept_alive = 0.0
        self._on_progress: Callable[[], None] | None = None

    @property
    def is_resumable(self) -> bool:
        """Whether a client may ask for the rest elsewhere: not where the answer may be what was dropped here."""
        return self._has_ids and not self._has_dropped

    def hold(self, on_answer: Callable[[], None]) -> None:
        """Send nothing before the answer was paired; `on_answer` opens the client's stream then."""
        self._held, self._on_answer = [], on_answer

    async def run(self, response: Response, *, on_progress: Callable[[], None] | None = None) -> None:
        """Relay until the server ends the stream. Raises: UpstreamFailed."""
        self._on_progress = on_progress
        events = SseAssembler(self._limit)
        async for chunk in response.chunks():
            for number, event in enumerate(events.feed(chunk), 1):
                if number % _EVENTS_AT_ONCE == 0:
                    await asyncio.sleep(0)
                if isinstance(event, OverlongEvent):
                    self._has_dropped = self.was_overlong = True
                    self._conversation.note_overlong(self._limit)
                else:
                    await self._relay(event)

    async def _relay(self, event: SseEvent) -> None:
        if event.id is not None:
            self._has_ids = True
        if not event.data:
            await self._relay_empty(event)
            return
        try:
            message = read_message(event.data)
        except BadMessage as problem:
            self._refuse(problem)
            return
        if not (self._claim_answer(message) if message.method is None else self._claim(message)):
            return
        own = self._pending
        if self._on_progress is not None and own is not None and message.method and is_sign_of_life(message, own):
            self._on_progress()
        reply = await self._conversation.from_server(message)
        if reply is None:
            self._has_dropped = True
            return
        if self._held is None:
            await self._http.send_chunk(render_event(reply, event))
            return
        if self._on_answer is not None and message.is_answer:
            await self._release(self._on_answer)
        await self._send(render_event(reply, event))

    def _refuse(self, problem: BadMessage) -> None:
        """What is no message goes nowhere, and ends the request that it names. Raises: UpstreamFailed."""
        self._has_dropped = True
        self._conversation.note_unreadable(problem)
        alias = None if self._pending is None else self._pending.alias
        if alias is not None and problem.id == alias.number:
            raise UpstreamFailed(f"The server's answer could not be used: {problem.reason}")

    def _claim(self, message: Message) -> bool:
        """Give a notification that names a request of ours the client's name for it; False for what goes no further."""
        try:
            if message.method == "notifications/progress":
                return self._claim_progress(message)
            if message.is_notification and message.may_mention(META_SUBSCRIPTION):
                number = read_number(message.meta().get(META_SUBSCRIPTION))
                found = self._conversation.find_sent(number) if number is not None else None
                if found is not None:
                    found.restore_subscription(message)
                return found is not None or number is None
        except (AmbiguousKeys, NotJson):
            return message.method != "notifications/progress"
        return True

    def _claim_answer(self, message: Message) -> bool:
        """Give an answer the client's id. Raises: UpstreamFailed where the stream has another request's."""
        own = self._pending
        found = self._conversation.find_sent(message.id) if own is None else own.alias
        if found is not None and found.is_answered_by(message):
            found.restore_answer(message)
            return True
        self._has_dropped = True
        self._conversation.note_unpaired("server")
        if self._pending is None:
            return False
        raise UpstreamFailed(f"The server's answer could not be used: {NOT_ASKED}")

    def _claim_progress(self, message: Message) -> bool:
        """Progress for a token of ours; in a session also for a task's, which is the client's own."""
        number = read_number(message.params().get("progressToken"))
        found = self._conversation.find_sent(number) if number is not None else None
        if found is not None:
            return found.restore_progress(message)
        return self._conversation.session is not None

    async def _release(self, on_answer: Callable[[], None]) -> None:
        self._on_answer = None
        on_answer()
        held, self._held = self._held or (), None
        for chunk in held:
            await self._http.send_chunk(chunk)

    async def _send(self, chunk: bytes) -> None:
        if self._held is None:
            await self._http.send_chunk(chunk)
        elif len(self._held) < _HELD and self._held_bytes + len(chunk) <= _HELD_BYTES:
            self._held.append(chunk)
            self._held_bytes += len(chunk)
        else:
            raise UpstreamFailed("The server's answer could not be used: too much came before it.")

    async def _relay_empty(self, event: SseEvent) -> None:
        """An id to come back with, or only a sign of life, which may come at any rate."""
        if event != SseEvent():
            await self._send(render_event(event.data, event))
            return
        now = asyncio.get_running_loop().time()
        if now - self._kept_alive >= _KEEP_ALIVE_SECONDS:
            self._kept_alive = now
            await self._send(KEEP_ALIVE)
