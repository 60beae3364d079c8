"""`/mcp`: all servers at one address, or those that a client chose with `?servers=a,b`."""

from urllib.parse import parse_qs

from handfast.gateway.admission.draining import STOPPING
from handfast.gateway.http.exchange import HttpExchange, HttpProblem
from handfast.gateway.translate.clients.legacy_http import LegacyFront
from handfast.gateway.translate.clients.modern_http import ModernFront
from handfast.gateway.translate.combined.backend import CombinedBackend
from handfast.wire.eras import is_modern
from handfast.wire.message import Message


class AllServers:
    """Serves every choice of servers with one pair of fronts, so that sessions are counted per caller across choices.

    A session belongs to the choice that it was opened for.
    """

    def __init__(self, combined: CombinedBackend, modern: ModernFront, legacy: LegacyFront) -> None:
        self.combined = combined
        self._modern = modern
        self._legacy = legacy

    async def post(self, http: HttpExchange, message: Message) -> None:
        """Raises: HttpProblem."""
        version, session = http.header(b"mcp-protocol-version"), http.header(b"mcp-session-id")
        front = self._modern if is_modern(message, version, session) else self._legacy
        await front.post(http, message, self._choose(http))  # late: servers may change while a body arrives

    async def get(self, http: HttpExchange) -> None:
        """Raises: HttpProblem."""
        await self._legacy.get(http, self._choose(http))

    async def delete(self, http: HttpExchange) -> None:
        """Raises: HttpProblem."""
        await self._legacy.delete(http, self._choose(http))

    def check(self, http: HttpExchange) -> None:
        """Checks that the query of the address selects servers that exist. Raises: HttpProblem."""
        self._choose(http)

    def _choose(self, http: HttpExchange) -> CombinedBackend:
        """Returns the backend of the servers that the query selects. Raises: HttpProblem."""
        query = http.query
        if not query:
            return self.combined
        try:
            wanted = parse_qs(query.decode("latin-1"), keep_blank_values=True, max_num_fields=20)
        except ValueError:  # more than 20 fields
            wanted = {}
        if set(wanted) != {"servers"}:
            raise HttpProblem(400, "The address may only choose servers, as in /mcp?servers=a,b. Leave the rest out.")
        names = frozenset(name.strip() for part in wanted["servers"] for name in part.split(",") if name.strip())
        return self.combined.subset(names, http.caller)

    def quiesce(self) -> None:
        self._modern.quiesce()
        self._legacy.quiesce()

    async def close(self, text: str = STOPPING) -> None:
        """Ends requests that are still under way with this text."""
        await self._modern.close(text)
        await self._legacy.close(text)
