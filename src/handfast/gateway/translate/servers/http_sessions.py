"""Sessions of handfast's own with a server over HTTP."""

import asyncio
import re
from collections.abc import Callable

import msgspec

from handfast.gateway.admission.server_era import EraRefused
from handfast.gateway.callers.held_calls import HeldCalls
from handfast.gateway.http.response import Headers, UpstreamTimeout
from handfast.gateway.settings.blocks import Limits
from handfast.gateway.translate.backend import Requester
from handfast.gateway.translate.servers.http_line import Http, HttpLine
from handfast.gateway.translate.servers.legacy_server import Opening
from handfast.gateway.translate.servers.legacy_session import LegacyServerSession, SeenAsking, read_greeting
from handfast.gateway.translate.servers.line import HttpRefused
from handfast.wire.eras import LEGACY_REVISION
from handfast.wire.members import text_member
from handfast.wire.message import Message, read_message
from handfast.wire.replies import initialize, notification

_VERSION = re.compile(r"[0-9A-Za-z._-]{1,64}")  # a server may say anything, and this goes into a header
_EARLY = 1000  # messages before the handshake is over; more are a flood


class HttpSessions:
    def __init__(
        self,
        http: Http,
        *,
        modern_headers: Callable[[Message], Headers],
        held: HeldCalls,
        refused: Callable[[str], None],
        version: str,
        limits: Callable[[], Limits],
    ) -> None:
        self._http = http
        self._held = held
        self._refused = refused
        self._version = version
        self._limits = limits
        self._asking = SeenAsking()
        self._modern = HttpLine(http, modern_headers, has_session=False)

    async def modern_line(self, _origin: Requester, _has_level: bool) -> HttpLine:
        return self._modern  # each request has a stream of its own, so callers can share the line

    async def close(self) -> None:
        """Gives up held calls; the pool that had the sessions opened closes them."""
        self._held.close()

    async def leave_modern(self) -> None:
        """Does nothing: the probe left nothing open."""

    async def open(self, opening: Opening) -> LegacyServerSession:
        """Raises: UpstreamFailed, EraRefused."""
        early = _Early()
        line = HttpLine(self._http, lambda _message: [], early.take)
        seconds = self._limits().handshake_timeout_s
        try:
            async with asyncio.timeout(seconds):
                return await self._open(opening, line, early)
        except BaseException as problem:
            await line.close()  # an unfinished session is of no use
            if isinstance(problem, TimeoutError):
                raise UpstreamTimeout(f"The server did not complete its handshake within {seconds:g} s.") from None
            raise

    async def _open(self, opening: Opening, line: HttpLine, early: "_Early") -> LegacyServerSession:
        asked = initialize("handfast", LEGACY_REVISION, msgspec.Raw(opening.capabilities), self._version)
        try:
            greeting = await line.exchange(read_message(asked), early.take)
        except HttpRefused as problem:
            if problem.status >= 500:
                raise
            raise EraRefused(f"it answered initialize with HTTP status {problem.status}.") from None
        if greeting.has_error:
            raise EraRefused(f"it answered initialize with error {greeting.error_code()}.")
        members = read_greeting(greeting)
        session = LegacyServerSession(
            line,
            members,
            held=self._held,
            refused=self._refused,
            seconds=lambda: self._limits().call_timeout_s,
            asking=self._asking if opening.can_be_asked else None,
        )
        version = text_member(members, "protocolVersion") or ""
        line.version = (version if _VERSION.fullmatch(version) else LEGACY_REVISION).encode()
        await line.send(notification("notifications/initialized"))
        line.listen()
        early.belongs_to(session.stray)
        return session


class _Early:
    """Keeps what a server sends before its session exists."""

    def __init__(self) -> None:
        self._take: Callable[[Message], None] | None = None
        self._kept: list[Message] = []

    def belongs_to(self, take: Callable[[Message], None]) -> None:
        self._take = take
        kept, self._kept = self._kept, []
        for message in kept:
            take(message)

    def take(self, message: Message) -> None:
        if self._take is not None:
            self._take(message)
        elif len(self._kept) < _EARLY:
            self._kept.append(message)
