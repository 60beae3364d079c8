"""A stream of server-sent events relayed event by event, each with its own bytes, answers judged as they pass."""

import asyncio
from collections.abc import Callable

from handfast.gateway.conversation import Conversation, is_sign_of_life
from handfast.gateway.http_client import Response
from handfast.gateway.http_exchange import HttpExchange
from handfast.wire.message import BadMessage, read_message
from handfast.wire.sse import OverlongEvent, SseAssembler, SseEvent, render_event

_EVENTS_AT_ONCE = 64  # some milliseconds of work; one read may bring thousands, and everybody else would wait


class EventRelay:
    def __init__(self, http: HttpExchange, conversation: Conversation, limit: int) -> None:
        self._http = http
        self._conversation = conversation
        self._limit = limit
        self._has_ids = False
        self._has_dropped = False
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
            await self._http.send_chunk(event.raw)
            return
        try:
            message = read_message(event.data)
        except BadMessage as problem:
            reply = await self._conversation.refuse_answer(problem)
        else:
            if self._on_progress is not None and is_sign_of_life(message):
                self._on_progress()
            reply = await self._conversation.from_server(message)
            if reply is message.raw:
                await self._http.send_chunk(event.raw)
                return
        if reply is None:
            self._has_dropped = True
            return
        await self._http.send_chunk(render_event(reply, event))
