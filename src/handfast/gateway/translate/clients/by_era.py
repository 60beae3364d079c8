"""Clients of either era at one address: what each of them sends decides."""

from handfast.gateway.admission.draining import STOPPING
from handfast.gateway.http.exchange import HttpExchange
from handfast.gateway.translate.backend import Choice
from handfast.gateway.translate.clients.legacy_http import LegacyFront
from handfast.gateway.translate.clients.modern_http import ModernFront
from handfast.wire.eras import is_modern
from handfast.wire.message import Message


class BothFronts:
    """In front of what each request's address chose; a session belongs to the choice that it was opened for."""

    def __init__(self, modern: ModernFront, legacy: LegacyFront) -> None:
        self._modern = modern
        self._legacy = legacy

    async def post(self, http: HttpExchange, message: Message, choice: Choice) -> None:
        has_session = http.header(b"mcp-session-id") is not None
        version = http.header(b"mcp-protocol-version")
        front = self._modern if not has_session and is_modern(message, version) else self._legacy
        await front.post(http, message, choice)

    async def get(self, http: HttpExchange, choice: Choice) -> None:
        await self._legacy.get(http, choice)

    async def delete(self, http: HttpExchange, choice: Choice) -> None:
        await self._legacy.delete(http, choice)

    def quiesce(self) -> None:
        self._modern.quiesce()
        self._legacy.quiesce()

    async def close(self, text: str = STOPPING) -> None:
        await self._modern.close(text)
        await self._legacy.close(text)
