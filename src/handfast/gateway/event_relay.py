"""A stream of server-sent events relayed event by event, each written anew from its fields and judged as it passes."""

import asyncio
from collections.abc import Callable

from handfast.gateway.conversation import Conversation, is_sign_of_life
from handfast.gateway.http_client import Response
from handfast.gateway.http_exchange import HttpExchange
from handfast.wire.message import BadMessage, read_message
from handfast.wire.sse import KEEP_ALIVE, OverlongEvent, SseAssembler, SseEvent, render_event

_EVENTS_AT_ONCE = 64  # some milliseconds of work; one read may bring thousands, and everybody else would wait
_KEEP_ALIVE_SECONDS = 1.0  # comments that come faster keep nothing alive that one of ours does not


class EventRelay:
    def __init__(self, http: HttpExchange, conversation: Conversation, limit: int) -> None:
        self._http = http
        self._conversation = conversation
        self._limit = limit
        self._has_ids = False
        self._has_dropped = False
        self._kept_alive = 0.0
        self._on_progress: Callable[[], None] | None = None

    @property
    def is_resumable(self) -> bool:
        """Whether a client may ask for the rest elsewhere: not where the answer may be what was dropped here."""
        return self._has_ids and not self._has_dropped

    async def run(self, response: Response, *, on_progress: Callable[[], None] | None = None) -> None:
        """Relay until the server ends the stream. Raises: UpstreamFailed."""
        self._on_progress = on_progress
        events = SseAssembler(self._limit)
        async for chunk in response.chunks():
            for number, event in enumerate(events.feed(chunk), 1):
                if number % _EVENTS_AT_ONCE == 0:
                    await asyncio.sleep(0)
                if isinstance(event, OverlongEvent):
                    self._has_dropped = True
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
            reply = await self._conversation.refuse_answer(problem)
        else:
            if self._on_progress is not None and is_sign_of_life(message):
                self._on_progress()
            reply = await self._conversation.from_server(message)
        if reply is None:
            self._has_dropped = True
            return
        await self._http.send_chunk(render_event(reply, event))

    async def _relay_empty(self, event: SseEvent) -> None:
        """An id to come back with, or only a sign of life, which may come at any rate."""
        if event != SseEvent():
            await self._http.send_chunk(render_event(event.data, event))
            return
        now = asyncio.get_running_loop().time()
        if now - self._kept_alive >= _KEEP_ALIVE_SECONDS:
            self._kept_alive = now
            await self._http.send_chunk(KEEP_ALIVE)
