"""The relay of a stream of server-sent events: each event is judged, and rendered again from its fields."""

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

_EVENTS_AT_ONCE = 64  # some milliseconds of work; one read may bring thousands, and other clients would wait
_KEEP_ALIVE_SECONDS = 1.0  # one keep-alive a second is enough, however often the server sends comments
_HELD = 1000  # events before the answer that gives a session; real servers send none
_HELD_BYTES = 1024 * 1024
NOT_ASKED = "it answers a request that was not asked."


class EventRelay:
    def __init__(
        self, http: HttpExchange, conversation: Conversation, limit: int, pending: Pending | None = None
    ) -> None:
        """`pending` is the request that the stream answers; None for a listening stream, which may answer any."""
        self._http = http
        self._conversation = conversation
        self._limit = limit
        self._pending = pending
        self._held: list[bytes] | None = None
        self._held_bytes = 0
        self._on_answer: Callable[[], None] | None = None
        self._has_ids = False
        self._has_dropped = False
        self.was_overlong = False  # a dropped message may have been the answer
        self._kept_alive = 0.0
        self._on_progress: Callable[[], None] | None = None

    @property
    def is_resumable(self) -> bool:
        """Whether a client can resume the stream: it has event ids, and no dropped message can be the answer."""
        return self._has_ids and not self._has_dropped

    def hold(self, on_answer: Callable[[], None]) -> None:
        """Holds all events until the answer is paired with its request; `on_answer` then opens the client's stream."""
        self._held, self._on_answer = [], on_answer

    async def run(self, response: Response, *, on_progress: Callable[[], None] | None = None) -> None:
        """Relays until the server ends the stream. Raises: UpstreamFailed."""
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
        """Drops data that is not a message. Raises: UpstreamFailed where it names the request of this stream."""
        self._has_dropped = True
        self._conversation.note_unreadable(problem)
        alias = None if self._pending is None else self._pending.alias
        if alias is not None and problem.id == alias.number:
            raise UpstreamFailed(f"The server's answer could not be used: {problem.reason}")

    def _claim(self, message: Message) -> bool:
        """Restores the client's id or token in a notification; False for one that must not reach the client."""
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
        """Restores the client's id in an answer. Raises: UpstreamFailed for a wrong one on a request's own stream."""
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
        """Restores the client's token; in a session other tokens pass too, since a task keeps the client's own."""
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
        """Passes on an id or a retry time; turns comments, however many, into one keep-alive a second at most."""
        if event != SseEvent():
            await self._send(render_event(event.data, event))
            return
        now = asyncio.get_running_loop().time()
        if now - self._kept_alive >= _KEEP_ALIVE_SECONDS:
            self._kept_alive = now
            await self._send(KEEP_ALIVE)
