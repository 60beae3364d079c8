"""One legacy client's session with a stdio server: its conversation, its channel, and its listening stream."""

import asyncio
from secrets import token_urlsafe

from handfast.gateway.backlog import Backlog
from handfast.gateway.channel import Channel
from handfast.gateway.conversation import Conversation
from handfast.gateway.http_exchange import STREAM_HEADERS, HttpExchange
from handfast.gateway.post_answer import PostAnswer
from handfast.wire.message import Message
from handfast.wire.sse import render_event

_KEEP_ALIVE_SECONDS = 15.0


class Session:
    def __init__(self, conversation: Conversation, channel: Channel, *, owns_channel: bool, now: float) -> None:
        self.id = token_urlsafe(24)
        self.conversation = conversation
        self.channel = channel
        self.owns_channel = owns_channel
        self.moving = asyncio.Lock()  # held while it gets a child of its own
        self.opening: Message | None = None  # the client's initialize, for a child of its own later on
        self.version = ""  # the revision it asked for, which its shared child was greeted with
        self.last_used = now
        self.answers: list[PostAnswer] = []  # requests under way, oldest first
        self._outbox = Backlog()  # for a client that is not listening at the moment
        self._listener: HttpExchange | None = None
        self._bell = asyncio.Event()
        self.is_closed = False

    @property
    def is_idle(self) -> bool:
        return not self.conversation.open_requests and self._listener is None

    def take(self, message: Message) -> None:
        """Something from the child that names no request: most likely about the one under way, else for the stream."""
        if self.answers:
            self.answers[-1].deliver(message)
            return
        self._outbox.append(message)
        self._outbox.drop_oldest()
        self._bell.set()

    def close(self) -> None:
        self.is_closed = True
        self._bell.set()

    async def listen(self, http: HttpExchange) -> None:
        """Serve the client's GET stream until either side ends it; a newer one takes over."""
        self._listener = http
        self._bell.set()
        http.watch(self._bell.set, after=0)
        await http.start_stream(200, STREAM_HEADERS)
        await http.send_chunk(b": listening\n\n")
        try:
            while self._listener is http and not http.has_left and not self.is_closed:
                await self._send_waiting(http)
        finally:
            http.unwatch()
            if self._listener is http:
                self._listener = None
            await http.end_stream()

    async def _send_waiting(self, http: HttpExchange) -> None:
        self._bell.clear()
        while self._outbox and self._listener is http and not http.has_left:
            reply = await self.conversation.from_server(self._outbox.popleft())
            if reply is not None:
                await http.send_chunk(render_event(reply, None))
        try:
            await asyncio.wait_for(self._bell.wait(), _KEEP_ALIVE_SECONDS)
        except TimeoutError:
            await http.send_chunk(b": still here\n\n")
