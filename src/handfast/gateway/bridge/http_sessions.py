"""Sessions of handfast's own with a server over HTTP."""

from collections.abc import Callable

import msgspec

from handfast.gateway.bridge.held_calls import HeldCalls
from handfast.gateway.bridge.http_line import Http, HttpLine
from handfast.gateway.bridge.legacy_server import EraRefused, Opening
from handfast.gateway.bridge.legacy_session import LegacySession, read_greeting
from handfast.gateway.bridge.line import HttpRefused
from handfast.gateway.http_response import Headers
from handfast.wire.eras import LEGACY_REVISION
from handfast.wire.message import Message, read_message
from handfast.wire.replies import initialize, notification


class HttpSessions:
    def __init__(
        self,
        http: Http,
        *,
        modern_headers: Callable[[Message], Headers],
        held: HeldCalls,
        refused: Callable[[str], None],
        version: str,
    ) -> None:
        self._http = http
        self._held = held
        self._refused = refused
        self._version = version
        self._modern = HttpLine(http, modern_headers, has_session=False)

    async def modern_line(self, _caller: str, _has_level: bool) -> HttpLine:
        return self._modern  # each request has a stream of its own, which says whose everything on it is

    async def close(self) -> None:
        """Sessions are closed by whoever had them opened."""

    async def leave_modern(self) -> None:
        """Nothing was kept open."""

    async def open(self, opening: Opening) -> LegacySession:
        """Raises: UpstreamFailed, EraRefused."""
        early: list[Message] = []
        line = HttpLine(self._http, lambda _message: [], lambda message: take(message))
        take: Callable[[Message], None] = early.append
        asked = initialize("handfast", LEGACY_REVISION, msgspec.Raw(opening.capabilities), self._version)
        try:
            greeting = await line.exchange(read_message(asked), lambda message: take(message))
        except HttpRefused as problem:
            if problem.status >= 500:
                raise
            raise EraRefused(f"it answered initialize with HTTP status {problem.status}.") from None
        if greeting.has_error:
            raise EraRefused(f"it answered initialize with error {greeting.error_code()}.")
        members = read_greeting(greeting)
        session = LegacySession(line, members, held=self._held, refused=self._refused)
        take = session.stray
        line.version = bytes(members.get("protocolVersion", msgspec.Raw(b'""'))).strip(b'"')
        await line.send(notification("notifications/initialized"))
        line.listen()
        for message in early:
            session.stray(message)
        if opening.log_level:
            await session.plain("logging/setLevel", {"level": opening.log_level})
        return session
