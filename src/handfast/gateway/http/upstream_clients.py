"""The connections to one server, apart by purpose: other requests take none that a call needs."""

from typing import Final

from handfast.gateway.http.client import HttpClient
from handfast.wire.methods import Purpose

# Requests other than calls at one server, of all callers.
REQUESTS: Final = 256
# Half of these are for clients; the rest are for handfast's own listening, a stream for each of its sessions, and for
# answers that are resumed.
LISTENING: Final = 10_000
_CONNECTIONS: Final = {
    Purpose.CALL: 256,
    Purpose.REQUEST: REQUESTS,
    Purpose.NOTICE: 64,
    Purpose.LISTENING: LISTENING,
}


class UpstreamClients:
    def __init__(self, url: str) -> None:
        self._url = url
        # Made at once, because it refuses a url that cannot be used.
        self._clients = {Purpose.CALL: self._make(Purpose.CALL)}

    @property
    def origin(self) -> str:
        return self._clients[Purpose.CALL].origin

    @property
    def is_busy(self) -> bool:
        """Whether any request is under way, apart from streams that only listen."""
        return any(client.is_busy for purpose, client in self._clients.items() if purpose is not Purpose.LISTENING)

    def choose(self, purpose: Purpose) -> HttpClient:
        client = self._clients.get(purpose)
        if client is None:
            client = self._clients[purpose] = self._make(purpose)
        return client

    def dismiss(self, text: str) -> None:
        """Fails everything under way with this text."""
        for client in self._clients.values():
            client.dismiss(text)

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    def _make(self, purpose: Purpose) -> HttpClient:
        return HttpClient(self._url, max_connections=_CONNECTIONS[purpose], waits_for_pairing=True)
