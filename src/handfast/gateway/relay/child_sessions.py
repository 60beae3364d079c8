"""Sessions of legacy clients with one stdio server, each on a process of its own or on a shared one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

from handfast.core.call.caller import Caller
from handfast.gateway.admission.room import Room
from handfast.gateway.calls.backlog import Backlog
from handfast.gateway.calls.conversation import Conversation
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.http.event_log import EventShelf
from handfast.gateway.http.exchange import Headers, HttpExchange, HttpProblem
from handfast.gateway.http.response import UpstreamFailed
from handfast.gateway.process.channel import Channel
from handfast.gateway.process.children import Children
from handfast.gateway.process.pipe import PipeFailed
from handfast.gateway.relay.post_answer import PostAnswer
from handfast.gateway.sessions.listening_session import ListeningSession
from handfast.gateway.sessions.session_table import RELAYED_SESSIONS, SessionTable, Sweeper, refuse_unknown
from handfast.gateway.settings.blocks import Limits
from handfast.wire.message import Message
from handfast.wire.splice import replace_values

_ASKED_FOR_GOOD: Final = 256  # subscriptions that a session takes along when its process dies


class _Unheard:
    """Ignores the answer to a request that is sent once more: the client had the first one."""

    def deliver(self, message: Message) -> None: ...
    def fail(self, text: str) -> None: ...
    def lost(self, text: str, *, was_sent: bool) -> None: ...


class ChildSession(ListeningSession):
    """A session with its conversation, and the channel to its process."""

    def __init__(
        self,
        shelf: EventShelf,
        conversation: Conversation,
        channel: Channel,
        opening: Message,
        *,
        opener: Caller,
        owns_channel: bool,
        now: Callable[[], float],
    ) -> None:
        super().__init__(shelf, opener, now=now)
        self.conversation = conversation
        self.channel = channel
        self.owns_channel = owns_channel
        self.moving = asyncio.Lock()  # held while the session moves to a process of its own
        self.opening = opening  # the client's initialize, sent again to a process of its own
        self.version = ""  # the revision that the client asked for, and that its shared process speaks
        self.answers: list[PostAnswer] = []  # requests under way, oldest first
        self.headers: Headers = []  # of the request that found the process dead
        # Log level and subscriptions of the session: a process in place of this one is sent them again.
        self.asked_for_good: dict[tuple[str, bytes], Message] = {}
        self._outbox = Backlog()  # messages for a client that has no listening stream yet

    @property
    def is_busy(self) -> bool:
        return bool(self.conversation.open_requests)

    def note_asked(self, message: Message) -> None:
        """Remembers a log level or a subscription. Raises: AmbiguousKeys, NotJson."""
        if message.method == "logging/setLevel":
            self.asked_for_good[message.method, b""] = message
        elif message.method in ("resources/subscribe", "resources/unsubscribe"):
            key = "resources/subscribe", bytes(message.params().get("uri", b""))
            self.asked_for_good.pop(key, None)
            if message.method == key[0] and len(self.asked_for_good) < _ASKED_FOR_GOOD:
                self.asked_for_good[key] = message

    def take(self, message: Message) -> None:
        """Sends a message that names no request with the newest open answer, else keeps it for the listening stream."""
        for answer in reversed(self.answers):
            if answer.is_reachable:
                answer.deliver(message)
                return
        self._outbox.append(message)
        self._outbox.drop_oldest()
        self.wake_listener()

    def lose_process(self) -> None:
        """Its process has ended: what that asked can no longer be answered."""
        self.conversation.lose_questions()
        self._outbox.drop_questions()
        for under_way in self.answers:
            under_way.drop_questions()

    async def take_next(self) -> bool:
        if not self._outbox:
            return False
        reply = await self.conversation.from_server(self._outbox.popleft())
        if reply is not None:
            self.say(reply)
        return True


@dataclass(slots=True, eq=False)
class _Starting:
    """Holds a place in the room while the process of a session starts."""

    address: str
    opened: float
    last_used: float = 0.0
    has_called: bool = False
    is_idle: bool = False


class ChildSessions:
    def __init__(self, server: ServerSide, children: Children, limits: Callable[[], Limits]) -> None:
        self._server = server
        self._children = children
        self._limits = limits
        self._table: SessionTable[ChildSession] = SessionTable(
            server.journal, server.name, now=server.now, most=RELAYED_SESSIONS
        )
        self._owning: Room[ChildSession | _Starting] = Room()  # bounded by itself: a process costs more than a session
        self._shelf = EventShelf()
        self._sweeper = Sweeper(self._end_idle, lambda: limits().session_idle_s)

    def find(self, http: HttpExchange) -> ChildSession:
        """The caller's session. Raises: HttpProblem."""
        return self._table.find(http)

    def open(
        self,
        opener: Caller,
        channel: Channel,
        conversation: Conversation,
        opening: Message,
        *,
        owns_channel: bool,
    ) -> ChildSession:
        session = ChildSession(
            self._shelf,
            conversation,
            channel,
            opening,
            opener=opener,
            owns_channel=owns_channel,
            now=self._server.now,
        )
        conversation.session, conversation.caller = session.id, session.caller
        if owns_channel:
            self._table.add(session)
            self._owning.add(session)
        elif (leaver := self._table.admit(session)) is not None:
            leaver.close()
        self._sweeper.start()
        return session

    async def living_channel(self, conversation: Conversation) -> Channel | None:
        """The channel of the conversation's session, with another process if that has died; None without a session.

        Raises: ConnectionError, TimeoutError.
        """
        session = None if conversation.session is None else self._table.peek(conversation.session)
        if session is None:
            return None
        if not session.channel.is_alive:
            try:
                await self.revive(session)
            except (HttpProblem, UpstreamFailed, PipeFailed) as problem:
                raise ConnectionError(str(problem)) from None
        return session.channel

    def on(self, channel: Channel) -> list[ChildSession]:
        return [session for session in self._table if session.channel is channel]

    async def end(self, session: ChildSession, reason: str = "") -> None:
        """Ends the session; with a `reason`, the requests under way in it end too."""
        self._table.remove(session)
        self._owning.remove(session)
        session.close()
        if reason:
            session.conversation.close(reason)
        session.conversation.dismiss("The session ended while the call waited, so it never reached the server.")
        if session.owns_channel:
            await self._children.stop(session.channel)

    def stop_listening(self) -> None:
        for session in self._table:
            session.stop_listening()

    def close(self) -> None:
        """Closes every session; `StdioRelay.close` stops the processes."""
        self._sweeper.stop()
        for session in self._table:
            session.close()

    # --- which child --------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def room_for_own(self, address: str) -> AsyncIterator[None]:
        """Takes room for one more process of a session's own; starting ones count too. Raises: HttpProblem 503."""
        leaver = self._table.find_leaver(self._owning, address, self._limits().sessions)
        starting = _Starting(address, self._server.now())
        self._owning.add(starting)
        try:
            if isinstance(leaver, ChildSession):
                await self.end(leaver)
            yield
        finally:
            self._owning.remove(starting)

    async def give_own_child(self, session: ChildSession, headers: Headers) -> None:
        """Moves the session to a process of its own: a shared one cannot keep log levels and subscriptions apart.

        Raises: HttpProblem if the session ends meanwhile, ConnectionError if the process refuses the handshake.
        """
        async with session.moving:
            if session.owns_channel:
                return
            async with self.room_for_own(session.address):
                await self._start_own(session, headers)
                session.owns_channel = True
                self._table.free_room(session)
                self._owning.add(session)

    async def revive(self, session: ChildSession) -> None:
        """Gives the session a process in place of one that died, so that the client need not begin again.

        It is started with the headers of the request that found the process dead.

        Raises: HttpProblem, UpstreamResting, PipeFailed, ConnectionError, TimeoutError.
        """
        async with session.moving:
            if session.channel.is_alive:
                return  # another request of the session was first
            if not session.owns_channel:
                await self.move_to_next(session)
                return
            headers, session.headers = session.headers, []
            await self._start_own(session, headers)
            for message in session.asked_for_good.values():
                session.channel.send_request(message, _Unheard(), headers)

    async def _start_own(self, session: ChildSession, headers: Headers) -> None:
        """Starts a process for this session alone, with the client's own handshake.

        Raises: HttpProblem if the session ends meanwhile, ConnectionError if the process refuses the handshake.
        """
        opening = session.opening
        channel = await self._children.start(headers=headers)
        greeting = await self._children.greet(
            channel, lambda own_id: replace_values(opening.raw, {("id",): b"%d" % own_id})
        )
        if greeting.has_error or session.id not in self._table:
            await self._children.stop(channel)
            if greeting.has_error:
                raise ConnectionError("the server refused the handshake that the session began with")
            refuse_unknown()
        session.channel = channel

    async def move_to_next(self, session: ChildSession) -> Channel:
        """Moves the session to the process that replaces a dead shared one, which held no state of the session.

        Raises: UpstreamResting, PipeFailed, ConnectionError, TimeoutError.
        """
        if session.owns_channel or session.is_closed:
            raise ConnectionError("the session ended with its child")
        channel = await self._children.shared(session.version)
        if channel.greeting is None or channel.greeting.has_error or session.owns_channel:
            raise ConnectionError("there is no child for this session")
        session.channel = channel
        return channel

    async def _end_idle(self, seconds: float) -> None:
        for session in self._table:
            session.log.forget_delivered()
        for session in self._table.idle_for(seconds):
            await self.end(session)
