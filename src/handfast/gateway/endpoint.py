"""One server at `/mcp/<server>`: relayed where the eras of client and server fit, else translated."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from handfast.gateway.admission.draining import STOPPING
from handfast.gateway.admission.server_era import EraRefused
from handfast.gateway.admission.server_health import Era
from handfast.gateway.http.exchange import ClientLeft, HttpExchange
from handfast.gateway.http.response import UpstreamFailed
from handfast.gateway.settings import ServerSettings
from handfast.gateway.settings.blocks import Bridge, Isolation, Surface
from handfast.gateway.translate.clients.legacy_http import LegacyFront
from handfast.gateway.translate.clients.modern_http import ModernFront
from handfast.gateway.translate.servers.era_probe import NativeServer
from handfast.wire.eras import META_LOG_LEVEL, is_modern
from handfast.wire.message import Message


class Direct(Protocol):
    """The server's own transport, with nothing translated."""

    is_process: bool  # one process, which modern clients share

    async def post(self, http: HttpExchange, message: Message, *, may_refuse: bool = False) -> None:
        """With `may_refuse`, raises instead of answering a handshake that the server rejects. Raises: EraRefused."""

    async def get(self, http: HttpExchange) -> None: ...
    async def delete(self, http: HttpExchange) -> None: ...

    async def refuse(self, http: HttpExchange, message: Message, text: str) -> None:
        """Answers a request that cannot reach the server, judged and on record."""

    def abandon(self, http: HttpExchange, message: Message) -> None:
        """Puts on record a call whose client left before it could reach the server."""


class ServerEndpoint:
    def __init__(
        self,
        direct: Direct,
        native: NativeServer,
        modern: ModernFront,
        legacy: LegacyFront,
        *,
        settings: Callable[[], ServerSettings],
        is_relayed: Callable[[bytes], bool],
    ) -> None:
        """`is_relayed` says whether a session is for the direct transport alone: open there, or never given by it."""
        self._direct = direct
        self._native = native
        self._modern = modern
        self._legacy = legacy
        self._settings = settings
        self._is_relayed = is_relayed

    def quiesce(self) -> None:
        self._modern.quiesce()
        self._legacy.quiesce()

    async def close(self, text: str = STOPPING) -> None:
        """Ends requests that still wait with this text."""
        await self._modern.close(text)
        await self._legacy.close(text)

    def post(self, http: HttpExchange, message: Message) -> Awaitable[None]:
        session = http.header(b"mcp-session-id")
        if session is not None:
            return (self._legacy if self._is_bridged(session) else self._direct).post(http, message)
        if is_modern(message, http.header(b"mcp-protocol-version")):
            return self._post_modern(http, message)
        return self._post_legacy(http, message)

    def get(self, http: HttpExchange) -> Awaitable[None]:
        return (self._legacy if self._is_bridged_session(http) else self._direct).get(http)

    def delete(self, http: HttpExchange) -> Awaitable[None]:
        return (self._legacy if self._is_bridged_session(http) else self._direct).delete(http)

    def _is_bridged_session(self, http: HttpExchange) -> bool:
        session = http.header(b"mcp-session-id")
        return session is not None and self._is_bridged(session)

    def _is_bridged(self, session: bytes) -> bool:
        if self._legacy.knows(session):
            return True
        if self._is_relayed(session):
            return False  # it goes on as it was opened, whatever the settings say by now
        # Where no session can belong to the server itself, an unknown one was ours and has ended.
        return self._native.is_known_only_modern or self._settings().surface is not Surface.FULL

    async def _post_modern(self, http: HttpExchange, message: Message) -> None:
        try:
            is_direct = await self._fits_modern(http, message)
        except UpstreamFailed as problem:
            await self._direct.refuse(http, message, str(problem))
            return
        except ClientLeft:
            self._direct.abandon(http, message)
            return
        await (self._direct if is_direct else self._modern).post(http, message)

    async def _fits_modern(self, http: HttpExchange, message: Message) -> bool:
        """Raises: UpstreamFailed, ClientLeft."""
        settings = self._settings()
        if settings.surface is not Surface.FULL:
            return False
        is_known = self._native.era is Era.MODERN
        if self._direct.is_process:
            if settings.isolation is Isolation.SESSION:
                return False  # the relay leads to the process that all modern clients share
            if message.may_mention(META_LOG_LEVEL):
                return False  # a log message of a shared process does not say which request it is for
            if not is_known and self._modern.refuses(http, message):
                return False  # an invalid request must not start a process
        return is_known or settings.bridge is Bridge.OFF or await http.while_present(self._native.is_modern())

    async def _post_legacy(self, http: HttpExchange, message: Message) -> None:
        settings = self._settings()
        may_refuse = settings.bridge is not Bridge.OFF
        is_refused = may_refuse and self._native.is_known_only_modern  # asking again could start a process
        if settings.surface is Surface.FULL and not is_refused:
            try:
                await self._direct.post(http, message, may_refuse=may_refuse)
                return
            except EraRefused:
                pass
        await self._legacy.post(http, message)
