"""One legacy client's session with a stdio server: its conversation, its channel, and its listening stream."""

import asyncio
from secrets import token_urlsafe

from handfast.gateway.calls.backlog import Backlog
from handfast.gateway.calls.conversation import Conversation
from handfast.gateway.http.event_log import EventLog, KeptStream, UnknownEvent
from handfast.gateway.http.event_stream import follow, is_primed, prime, rest, send_since
from handfast.gateway.http.exchange import STREAM_HEADERS, HttpExchange, HttpProblem
from handfast.gateway.process.channel import Channel
from handfast.gateway.relay.post_answer import PostAnswer
from handfast.wire.message import Message
from handfast.wire.sse import KEEP_ALIVE


class Session:
    def __init__(
        self,
        conversation: Conversation,
        channel: Channel,
        log: EventLog,
        *,
        actor: str,
        address: str,
        owns_channel: bool,
        now: float,
    ) -> None:
        self.id = token_urlsafe(24)
        self.actor = actor  # who opened it, and nobody else may use it
        self.conversation = conversation
        self.channel = channel
        self.owns_channel = owns_channel
        self.moving = asyncio.Lock()  # held while it gets a child of its own
        self.opening: Message | None = None  # the client's initialize, for a child of its own later on
        self.version = ""  # the revision it asked for, which its shared child was greeted with
        self.address = address  # whose room it counts towards
        self.opened = self.last_used = now
        self.has_called = False
        self.answers: list[PostAnswer] = []  # requests under way, oldest first
        self.log = log
        self._outbox = Backlog()  # for a client that is not listening at the moment
        self._listener: HttpExchange | None = None
        self._listening: KeptStream | None = None  # the one stream for what belongs to no request
        self._bell = asyncio.Event()
        self.is_closed = False

    @property
    def is_idle(self) -> bool:
        return not self.conversation.open_requests and self._listener is None

    def take(self, message: Message) -> None:
        """Something from the child that names no request: most likely about the one under way, else for the stream."""
        for answer in reversed(self.answers):
            if answer.is_reachable:
                answer.deliver(message)
                return
        self._outbox.append(message)
        self._outbox.drop_oldest()
        self._bell.set()

    def stop_listening(self) -> None:
        self.is_closed = True
        self._bell.set()

    def close(self) -> None:
        self.stop_listening()
        self.log.close()

    async def listen(self, http: HttpExchange) -> None:
        """Serve the client's GET stream, or the one that it resumes, until either side ends it. Raises: HttpProblem."""
        last_event = http.header(b"last-event-id")
        if self._listening is None:
            self._listening = self.log.open()
        if last_event is None:
            await self._listen(http, self._listening)
            return
        try:
            stream, position = self.log.find(last_event)
        except UnknownEvent:
            # Not 404: to a client that would mean the end of the session.
            text = "There is nothing to resume after this Last-Event-ID: it is unknown here, or what followed is gone."
            raise HttpProblem(400, text) from None
        if stream is self._listening:
            await self._listen(http, stream, position)
        else:
            await follow(http, self.log, stream, position=position)

    async def _listen(self, http: HttpExchange, stream: KeptStream, position: int | None = None) -> None:
        """A newer connection takes over."""
        self._listener = http
        self._bell.set()
        http.watch(self._bell.set)
        await http.start_stream(200, STREAM_HEADERS)
        await http.send_chunk(KEEP_ALIVE)
        if position is None:
            position = stream.sent
            if is_primed(http):
                prime(self.log, stream)
        try:
            while self._listener is http and not http.has_left and not self.is_closed:
                self._bell.clear()
                position = await self._send_waiting(http, stream, position)
                await rest(http, self._bell)
        except UnknownEvent:
            pass  # other sessions pushed out what was still to be sent; asking again says so
        finally:
            http.unwatch()
            if self._listener is http:
                self._listener = None
            await http.end_stream()

    async def _send_waiting(self, http: HttpExchange, stream: KeptStream, position: int) -> int:
        position = await send_since(http, stream, position)
        while self._outbox and self._listener is http and not http.has_left:
            reply = await self.conversation.from_server(self._outbox.popleft())
            if reply is not None:
                self.log.add(stream, reply)
                position = await send_since(http, stream, position)
        return position
