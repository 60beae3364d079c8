"""Sessions of handfast's own with a stdio server: each on a process of its own, or on the one that is shared."""

from collections.abc import Callable

import msgspec

from handfast.core.call.caller import Caller
from handfast.gateway.admission.server_era import EraRefused
from handfast.gateway.callers.held_calls import HeldCalls
from handfast.gateway.http.response import UpstreamFailed
from handfast.gateway.process.channel import Channel, ChannelOwner
from handfast.gateway.process.children import MODERN, Children
from handfast.gateway.process.pipe import PipeFailed
from handfast.gateway.settings.blocks import Limits
from handfast.gateway.translate.backend import Requester
from handfast.gateway.translate.servers.legacy_server import Opening
from handfast.gateway.translate.servers.legacy_session import LegacyServerSession, SeenAsking, read_greeting
from handfast.gateway.translate.servers.line import ServerExited
from handfast.gateway.translate.servers.pool import Pool
from handfast.gateway.translate.servers.stdio_line import StdioLine
from handfast.wire.eras import LEGACY_REVISION, MODERN_META
from handfast.wire.message import BadMessage, Message
from handfast.wire.replies import initialize, request

_EARLY = 1000  # messages before the handshake is over; more are a flood
_NO_HANDSHAKE = "The server did not complete its handshake. Look at its messages in the gateway's output."


class StdioSessions:
    def __init__(
        self,
        children: Children,
        owner: ChannelOwner,
        *,
        held: HeldCalls,
        refused: Callable[[str], None],
        version: str,
        limits: Callable[[], Limits],
        now: Callable[[], float],
        isolates: Callable[[], bool],
        has_sessions: Callable[[Channel], bool],
        on_evict: Callable[[], None] = lambda: None,
    ) -> None:
        """`isolates`: no process is to be shared between callers. `has_sessions`: clients are relayed to a process."""
        self._has_sessions = has_sessions
        self._children = children
        self._owner = owner
        self._held = held
        self._refused = refused
        self._limits = limits
        self._version = version
        self._isolates = isolates
        self._asking = SeenAsking()
        self._shared: LegacyServerSession | None = None
        self._logging = Pool[str, StdioLine](limits=limits, now=now, is_shared=lambda _caller: False, on_evict=on_evict)

    async def modern_line(self, origin: Requester, has_level: bool) -> StdioLine:
        """A line to the shared process, or to a caller's own: on a shared one log messages name no caller.

        Raises: UpstreamFailed.
        """
        try:
            if not has_level and not self._isolates():
                return StdioLine(await self._children.shared(MODERN))
            caller = origin.caller
            return await self._logging.get(caller.name, lambda _name: self._open_logging(), address=caller.address)
        except (PipeFailed, ConnectionError, TimeoutError) as problem:
            raise _failure(problem) from None

    async def _open_logging(self) -> StdioLine:
        owner = _Owned(self._owner)
        channel = await self._children.start(owner)
        # What was written to a process that is still starting would run, even if its client has left by then.
        await self._children.await_start(channel, _ask_for_discovery, "server/discover")
        line = StdioLine(channel, stop=self._children.stop)
        owner.belongs_to(line.deliver_to_latest)
        return line

    def leave(self, caller: Caller) -> None:
        self._logging.leave(lambda known: known == caller.name)

    async def close(self) -> None:
        self._held.close()
        await self._logging.close()

    async def leave_modern(self) -> None:
        """Stops the process that modern clients would share: the server is not modern."""
        await self._children.stop_shared(MODERN)

    async def leave_legacy(self) -> None:
        """The server is modern: what was greeted to find out is kept only for clients that came meanwhile."""
        channel = self._children.running(LEGACY_REVISION)
        if channel is not None and not channel.is_busy and not self._has_sessions(channel):
            await self._children.stop_shared(LEGACY_REVISION)

    def is_busy(self) -> bool:
        """Whether the process that modern clients share has requests to answer."""
        channel = self._children.running(MODERN)
        return channel is not None and channel.is_busy

    def list_changed(self, message: Message) -> None:
        """Passes on that the shared process has changed a list."""
        if self._shared is not None:
            self._shared.stray(message)

    async def open(self, opening: Opening) -> LegacyServerSession:
        """Raises: UpstreamFailed, EraRefused."""
        try:
            return await (self._open_shared(opening) if opening.is_shared else self._open_own(opening))
        except (PipeFailed, ConnectionError, TimeoutError) as problem:
            raise _failure(problem) from None

    async def _open_shared(self, opening: Opening) -> LegacyServerSession:
        channel = await self._children.shared(LEGACY_REVISION)
        assert channel.greeting is not None
        if channel.greeting.has_error:
            self._children.forget(LEGACY_REVISION)
            await self._children.stop(channel)
            raise EraRefused(f"it answered initialize with error {channel.greeting.error_code()}.")
        self._shared = self._session(StdioLine(channel), channel.greeting, opening)
        return self._shared

    async def _open_own(self, opening: Opening) -> LegacyServerSession:
        owner = _Owned(self._owner)
        channel = await self._children.start(owner)
        capabilities = msgspec.Raw(opening.capabilities)
        greeting = await self._children.greet(
            channel, lambda own_id: initialize(own_id, LEGACY_REVISION, capabilities, self._version)
        )
        try:
            if greeting.has_error:
                raise EraRefused(f"it answered initialize with error {greeting.error_code()}.")
            session = self._session(StdioLine(channel, stop=self._children.stop), greeting, opening)
            owner.belongs_to(session.stray, session.ended)
        except BaseException:
            await self._children.stop(channel)  # nothing else would stop it
            raise
        return session

    def _session(self, line: StdioLine, greeting: Message, opening: Opening) -> LegacyServerSession:
        return LegacyServerSession(
            line,
            read_greeting(greeting),
            held=self._held,
            refused=self._refused,
            seconds=lambda: self._limits().call_timeout_s,
            asking=self._asking if opening.can_be_asked else None,
        )


def _ask_for_discovery(own_id: int) -> bytes:
    return request(own_id, "server/discover", {"_meta": MODERN_META})


def _failure(problem: Exception) -> UpstreamFailed:
    if isinstance(problem, ConnectionError):
        return ServerExited(_NO_HANDSHAKE)
    return UpstreamFailed(f"The server {problem}" if isinstance(problem, PipeFailed) else _NO_HANDSHAKE)


class _Owned:
    """Owns a process that serves one session, or one caller, alone."""

    def __init__(self, rest: ChannelOwner) -> None:
        self._rest = rest
        self._take: Callable[[Message], None] | None = None
        self._end: Callable[[], None] | None = None
        self._early: list[Message] = []  # sent before there was a session or line

    def belongs_to(self, take: Callable[[Message], None], end: Callable[[], None] | None = None) -> None:
        self._take, self._end = take, end
        early, self._early = self._early, []
        for message in early:
            take(message)

    def uncorrelated(self, channel: Channel, message: Message) -> bool:
        if message.is_answer:
            return self._rest.uncorrelated(channel, message)
        if self._take is not None:
            self._take(message)
        elif len(self._early) < _EARLY:
            self._early.append(message)
        return True

    def unreadable(self, problem: BadMessage) -> None:
        self._rest.unreadable(problem)

    def overlong(self, limit: int) -> None:
        self._rest.overlong(limit)

    def exited(self, channel: Channel, code: int) -> None:
        if self._end is not None:
            self._end()
        self._rest.exited(channel, code)
