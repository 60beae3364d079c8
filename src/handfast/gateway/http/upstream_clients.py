"""The connections to one server, by what is asked on them: nothing else takes one that a call needs."""

from typing import Final

from handfast.gateway.http.client import HttpClient

# Clients that only listen hold a connection each: from one pool, a few hundred of them would leave none for calls. Half
# is for clients; the rest is for what handfast hears itself, a stream for each of its sessions, and for answers that
# are resumed.
LISTENING: Final = 10_000


class UpstreamClients:
    """A pool for calls, one for other requests of clients, such as a task's result, and one for streams that listen."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._calls = HttpClient(url, waits_for_pairing=True)
        self._others: HttpClient | None = None
        self._listening: HttpClient | None = None

    @property
    def origin(self) -> str:
        return self._calls.origin

    @property
    def is_busy(self) -> bool:
        """Whether an answer is waited for that has an end."""
        return self._calls.is_busy or (self._others is not None and self._others.is_busy)

    def choose(self, verb: str, method: str | None) -> HttpClient:
        """`method` is that of a client's request; without one it is what handfast asks or says itself."""
        if verb == "GET" or method == "subscriptions/listen":
            if self._listening is None:
                self._listening = HttpClient(self._url, max_connections=LISTENING, waits_for_pairing=True)
            return self._listening
        if method is None or method == "tools/call":
            return self._calls
        if self._others is None:
            self._others = HttpClient(self._url, waits_for_pairing=True)
        return self._others

    def dismiss(self, text: str) -> None:
        """Whatever is under way fails with this text."""
        for client in self._all():
            client.dismiss(text)

    async def close(self) -> None:
        for client in self._all():
            await client.close()

    def _all(self) -> list[HttpClient]:
        return [client for client in (self._calls, self._others, self._listening) if client is not None]
