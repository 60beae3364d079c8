"""ChildSessions: the sessions of legacy clients with one stdio server, on children of their own or on shared ones."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from handfast.gateway.admission.room import REFUSED, H, NoRoom, Room
from handfast.gateway.calls.conversation import Conversation
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.calls.session_owner import UNKNOWN_SESSION, note_evicted, refuse_stranger
from handfast.gateway.http.event_log import EventLog, EventShelf
from handfast.gateway.http.exchange import HttpExchange, HttpProblem
from handfast.gateway.process.channel import Channel
from handfast.gateway.process.children import Children
from handfast.gateway.relay.session import Session
from handfast.gateway.settings.blocks import Limits
from handfast.wire.message import Message
from handfast.wire.splice import replace_values

_SESSIONS = 10_000  # on shared children, where a session costs a kilobyte


def _find_leaver(room: Room[H], address: str, most: int) -> H | None:
    """Raises: HttpProblem 503."""
    try:
        return room.find_leaver(address, most)
    except NoRoom as problem:
        raise HttpProblem(503, str(problem), rule=REFUSED) from None


@dataclass(slots=True, eq=False)
class _Starting:
    """A place that is taken before there is a session."""

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
        self._open: dict[str, Session] = {}
        self._sharing: Room[Session] = Room()
        self._owning: Room[Session | _Starting] = Room()
        self._shelf = EventShelf()
        self._sweeper: asyncio.Task[None] | None = None

    def find(self, http: HttpExchange) -> Session:
        """The caller's session. Raises: HttpProblem."""
        session_id = http.header(b"mcp-session-id")
        if session_id is None:
            raise HttpProblem(400, "There is no Mcp-Session-Id header. Send initialize first.")
        session = self._open.get(session_id.decode("latin-1"))
        if session is None:
            raise HttpProblem(404, UNKNOWN_SESSION, rule="session.unknown")
        if session.actor != http.actor:
            refuse_stranger(self._server, http.actor)
        session.last_used = self._server.now()
        return session

    def open(
        self,
        actor: str,
        address: str,
        channel: Channel,
        conversation: Conversation,
        opening: Message,
        *,
        owns_channel: bool,
    ) -> Session:
        now = self._server.now
        log = EventLog(self._shelf, now=now)
        session = Session(
            conversation, channel, log, actor=actor, address=address, owns_channel=owns_channel, now=now()
        )
        session.opening = opening
        conversation.session, conversation.address = session.id.encode(), address
        if owns_channel:
            self._owning.add(session)
        else:
            leaver = _find_leaver(self._sharing, address, _SESSIONS)
            if leaver is not None:
                note_evicted(self._server)
                self._open.pop(leaver.id, None)
                self._sharing.remove(leaver)
                leaver.close()
            self._sharing.add(session)
        self._open[session.id] = session
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep())
        return session

    def on(self, channel: Channel) -> list[Session]:
        return [session for session in self._open.values() if session.channel is channel]

    async def end(self, session: Session, reason: str = "") -> None:
        """With a `reason` the calls under way in it end too."""
        self._open.pop(session.id, None)
        self._owning.remove(session)
        self._sharing.remove(session)
        session.close()
        if reason:
            session.conversation.close(reason)
        session.conversation.dismiss("The session ended while the call waited, so it never reached the server.")
        if session.owns_channel:
            await self._children.stop(session.channel)

    def stop_listening(self) -> None:
        for session in self._open.values():
            session.stop_listening()

    def close(self) -> None:
        """The children are for somebody else to stop."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for session in self._open.values():
            session.close()

    # --- which child --------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def room_for_own(self, address: str) -> AsyncIterator[None]:
        """Own children are bounded, those that are being started included. Raises: HttpProblem 503."""
        leaver = _find_leaver(self._owning, address, self._limits().sessions)
        starting = _Starting(address, self._server.now())
        self._owning.add(starting)
        try:
            if isinstance(leaver, Session):
                note_evicted(self._server)
                await self.end(leaver)
            yield
        finally:
            self._owning.remove(starting)

    async def give_own_child(self, session: Session) -> None:
        """A log level or a subscription is the client's alone, and a shared child cannot keep clients apart."""
        async with session.moving:
            if session.owns_channel:
                return
            assert session.opening is not None
            opening = session.opening
            async with self.room_for_own(session.address):
                channel = await self._children.start()
                await self._children.greet(
                    channel, lambda own_id: replace_values(opening.raw, {("id",): b"%d" % own_id})
                )
                session.channel = channel
                session.owns_channel = True
                self._sharing.remove(session)
                if session.id in self._open:  # it may have ended meanwhile
                    self._owning.add(session)

    async def move_to_next(self, session: Session) -> Channel:
        """The child in place of a shared one that died: sessions leave nothing of their own in those.

        Raises: UpstreamResting, ChildStartFailed, ConnectionError, TimeoutError.
        """
        if session.owns_channel or session.is_closed:
            raise ConnectionError("the session ended with its child")
        channel = await self._children.shared(session.version)
        if channel.greeting is None or channel.greeting.has_error or session.owns_channel:
            raise ConnectionError("there is no child for this session")
        session.channel = channel
        return channel

    async def _sweep(self) -> None:
        while True:
            seconds = self._limits().session_idle_s
            await asyncio.sleep(min(30.0, seconds / 2))
            now = self._server.now()
            for session in list(self._open.values()):
                session.log.forget_delivered()
                if session.is_idle and now - session.last_used > seconds:
                    await self.end(session)
