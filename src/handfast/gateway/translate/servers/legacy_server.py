"""A legacy server asked in the modern form: one session per caller and for what that caller can do."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from handfast.core.call.caller import Caller
from handfast.gateway.admission.server_era import EraRefused
from handfast.gateway.settings.blocks import Limits
from handfast.gateway.translate.backend import Requester
from handfast.gateway.translate.servers.legacy_session import LegacyServerSession
from handfast.gateway.translate.servers.line import ServerSessionLost
from handfast.gateway.translate.servers.pool import Pool
from handfast.wire.eras import META_CAPABILITIES, META_LOG_LEVEL
from handfast.wire.message import AmbiguousKeys, Members, Message, read_level
from handfast.wire.scan import NotJson

# What a legacy server may ask of its client. The rest of the capabilities means nothing to it.
_ASKED_OF_CLIENTS = ("elicitation", "roots", "sampling")


@dataclass(frozen=True, slots=True)
class Opening:
    """What a session is opened with, and its key: equal openings share one session."""

    caller: str
    capabilities: bytes
    is_own: bool = False
    address: str = field(default="", compare=False)

    @property
    def can_be_asked(self) -> bool:
        """Whether the server may ask something of the clients of this session."""
        return self.capabilities != b"{}"

    @property
    def is_shared(self) -> bool:
        """Whether all callers may use the same session: nothing in it is one caller's alone."""
        return not self.can_be_asked and not self.is_own


_SHARED = Opening("", b"{}")
_ALONE = 10_000  # callers remembered as having state of their own in a session


class Sessions(Protocol):
    """Opens sessions with one server."""

    async def open(self, opening: Opening) -> LegacyServerSession:
        """Raises: UpstreamFailed, EraRefused."""


class LegacyServer:
    def __init__(
        self,
        sessions: Sessions,
        *,
        limits: Callable[[], Limits],
        now: Callable[[], float],
        isolates: Callable[[], bool] = lambda: False,
        on_evict: Callable[[], None] = lambda: None,
    ) -> None:
        """`isolates`: every caller has sessions of its own, whatever it can do."""
        self._opener = sessions
        self._isolates = isolates
        self._now = now
        # Callers that once set a log level or subscribed have sessions of their own: servers keep state in them.
        self._alone: OrderedDict[str, None] = OrderedDict()
        self._sessions = Pool[Opening, LegacyServerSession](
            limits=limits, now=now, is_shared=lambda opening: opening.is_shared, on_evict=on_evict
        )

    async def request(self, message: Message, origin: Requester) -> Message:
        """Raises: UpstreamFailed, EraRefused, Foreign, AmbiguousKeys, NotJson."""
        opening = self._opening(message, origin, has_level=META_LOG_LEVEL in message.meta())
        session = await self._session(opening)
        try:
            return await session.request(message, origin)
        except ServerSessionLost:
            # The request did nothing, or may be done twice: it is sent again, in a new session.
            self._sessions.retire(opening, session)
            session = await self._session(opening)
            return await session.request(message, origin)
        finally:
            session.last_used = self._now()

    async def greet(self) -> LegacyServerSession:
        """Its handshake, in the session that callers share where they may. Raises: UpstreamFailed, EraRefused."""
        if not self._isolates():
            return await self._session(_SHARED)
        session = await self._opener.open(Opening("", b"{}", is_own=True))
        await session.close()
        return session

    async def accepts_handshake(self) -> bool:
        """Raises: UpstreamFailed."""
        try:
            session = await self._opener.open(_SHARED)
        except EraRefused:
            return False
        await session.close()
        return True

    def leave(self, caller: Caller) -> None:
        self._alone.pop(caller.name, None)
        self._sessions.leave(lambda opening: not opening.is_shared and opening.caller == caller.name)

    async def close(self) -> None:
        await self._sessions.close()

    async def _session(self, opening: Opening) -> LegacyServerSession:
        return await self._sessions.get(opening, self._opener.open, address=opening.address)

    def _opening(self, message: Message, origin: Requester, *, has_level: bool) -> Opening:
        caller = origin.caller
        if has_level or _subscribes(message):
            self._alone[caller.name] = None
            self._alone.move_to_end(caller.name)
            if len(self._alone) > _ALONE:
                self._alone.popitem(last=False)
        is_own = caller.name in self._alone or self._isolates()
        opening = Opening(caller.name, _asked_capabilities(message.meta()), is_own, caller.address)
        return _SHARED if opening.is_shared else opening


def _subscribes(message: Message) -> bool:
    if message.method != "subscriptions/listen":
        return False
    try:
        uris = read_level(bytes(message.params()["notifications"])).get("resourceSubscriptions")
    except (KeyError, AmbiguousKeys, NotJson):
        return False
    return uris is not None and bytes(uris) not in (b"null", b"[]")


def _asked_capabilities(meta: Members) -> bytes:
    """The capabilities in one spelling, so that the same capabilities are the same session."""
    found = meta.get(META_CAPABILITIES)
    try:
        declared = {} if found is None else read_level(bytes(found))
        asked = {name: msgspec.json.decode(declared[name]) for name in _ASKED_OF_CLIENTS if name in declared}
    except (NotJson, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return b"{}"  # what cannot be read cannot be asked for
    return msgspec.json.encode(asked, order="sorted")
