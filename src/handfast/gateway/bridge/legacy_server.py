"""A legacy server asked in the modern form: one session per caller and for what that caller can do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from handfast.gateway.backend import Origin
from handfast.gateway.bridge.legacy_session import LegacySession
from handfast.gateway.bridge.line import SessionLost
from handfast.gateway.bridge.pool import Pool
from handfast.gateway.settings.blocks import Limits
from handfast.wire.eras import META_CAPABILITIES, META_LOG_LEVEL
from handfast.wire.message import Members, Message, read_level
from handfast.wire.scan import NotJson

# What a legacy server may ask of its client. The rest of the capabilities means nothing to it.
_ASKED_OF_CLIENTS = ("elicitation", "roots", "sampling")


@dataclass(frozen=True, slots=True)
class Opening:
    """What a session is opened with. Sessions that are opened alike by the same caller are one."""

    caller: str
    capabilities: bytes
    log_level: str
    is_subscriber: bool
    is_own: bool = False

    @property
    def is_shared(self) -> bool:
        """Nothing in it is one caller's alone, so that everybody may use the same session."""
        return self.capabilities == b"{}" and not (self.log_level or self.is_subscriber or self.is_own)


_SHARED = Opening("", b"{}", "", is_subscriber=False)


class Sessions(Protocol):
    """Opens sessions with one server."""

    async def open(self, opening: Opening) -> LegacySession:
        """Raises: UpstreamFailed, EraRefused."""


class EraRefused(Exception):
    """The server will not have the handshake of the legacy revisions."""


class LegacyServer:
    def __init__(
        self,
        sessions: Sessions,
        *,
        limits: Callable[[], Limits],
        now: Callable[[], float],
        isolates: Callable[[], bool] = lambda: False,
    ) -> None:
        """`isolates`: every caller has sessions of its own, whatever it can do."""
        self._opener = sessions
        self._isolates = isolates
        self._now = now
        self._sessions = Pool[Opening, LegacySession](
            limits=limits, now=now, is_shared=lambda opening: opening.is_shared
        )

    async def request(self, message: Message, origin: Origin) -> bytes:
        """Raises: UpstreamFailed, EraRefused, AmbiguousKeys, NotJson."""
        opening = _opening(message, origin, is_own=self._isolates())
        session = await self._session(opening)
        try:
            return await session.request(message, origin)
        except SessionLost:
            # The request did nothing, or may be done twice: the server may have it again, in a new session.
            await self._sessions.end(opening, session)
            session = await self._session(opening)
            return await session.request(message, origin)
        finally:
            session.last_used = self._now()

    async def accepts_handshake(self) -> bool:
        """Raises: UpstreamFailed."""
        try:
            session = await self._opener.open(_SHARED)
        except EraRefused:
            return False
        await session.close()
        return True

    def leave(self, caller: str) -> None:
        self._sessions.leave(lambda opening: not opening.is_shared and opening.caller == caller)

    async def close(self) -> None:
        await self._sessions.close()

    async def _session(self, opening: Opening) -> LegacySession:
        return await self._sessions.get(opening, self._opener.open)


def _opening(message: Message, origin: Origin, *, is_own: bool) -> Opening:
    meta = message.meta()
    capabilities = _asked_capabilities(meta)
    level = meta.get(META_LOG_LEVEL)
    is_subscriber = message.method == "subscriptions/listen" and message.may_mention("resourceSubscriptions")
    opening = Opening(
        caller=origin.caller,
        capabilities=capabilities,
        log_level="" if level is None else bytes(level).decode(errors="replace").strip('"'),
        is_subscriber=is_subscriber,
        is_own=is_own,
    )
    return _SHARED if opening.is_shared else opening


def _asked_capabilities(meta: Members) -> bytes:
    """In one spelling, so that the same capabilities are the same session."""
    found = meta.get(META_CAPABILITIES)
    try:
        declared = {} if found is None else read_level(bytes(found))
        asked = {name: msgspec.json.decode(declared[name]) for name in _ASKED_OF_CLIENTS if name in declared}
    except (NotJson, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return b"{}"  # what cannot be read cannot be asked for
    return msgspec.json.encode(asked, order="sorted")
