"""The connections to one server, by what they are for: nothing else takes one that a call needs."""

from enum import IntEnum, auto
from typing import Final

from handfast.gateway.http.client import HttpClient


class Purpose(IntEnum):
    """What a request to a server is for. A number, because that is hashed faster."""

    CALL = auto()  # a call, or the list of tools that it is judged by
    REQUEST = auto()  # whatever else a client sends
    NOTICE = auto()  # what handfast tells the server itself: nobody waits for it
    LISTENING = auto()  # a stream that may never end


def purpose_of(method: str | None) -> Purpose:
    """Of a client's message, by its method; an answer has none."""
    if method == "subscriptions/listen":
        return Purpose.LISTENING
    return Purpose.CALL if method == "tools/call" else Purpose.REQUEST


# Other requests than calls at one server, of all callers.
REQUESTS: Final = 256
# Half of these is for clients; the rest is for what handfast hears itself, a stream for each of its sessions, and for
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
        # At once, because it refuses a url that cannot be used.
        self._clients = {Purpose.CALL: self._make(Purpose.CALL)}

    @property
    def origin(self) -> str:
        return self._clients[Purpose.CALL].origin

    @property
    def is_busy(self) -> bool:
        """Whether an answer is waited for that has an end."""
        return any(client.is_busy for purpose, client in self._clients.items() if purpose is not Purpose.LISTENING)

    def choose(self, purpose: Purpose) -> HttpClient:
        client = self._clients.get(purpose)
        if client is None:
            client = self._clients[purpose] = self._make(purpose)
        return client

    def dismiss(self, text: str) -> None:
        """Whatever is under way fails with this text."""
        for client in self._clients.values():
            client.dismiss(text)

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    def _make(self, purpose: Purpose) -> HttpClient:
        return HttpClient(self._url, max_connections=_CONNECTIONS[purpose], waits_for_pairing=True)
