"""`/mcp`: all servers at one address, or those that a client chose with `?servers=a,b`."""

from urllib.parse import parse_qs

from handfast.gateway.admission.draining import STOPPING
from handfast.gateway.http.exchange import HttpExchange, HttpProblem
from handfast.gateway.translate.clients.by_era import BothFronts
from handfast.gateway.translate.combined.backend import CombinedBackend
from handfast.wire.message import Message


class AllServers:
    """One pair of fronts for every choice, so that sessions are counted by caller whatever they chose."""

    def __init__(self, combined: CombinedBackend, fronts: BothFronts) -> None:
        self._combined = combined
        self._fronts = fronts

    async def post(self, http: HttpExchange, message: Message) -> None:
        """Raises: HttpProblem."""
        await self._fronts.post(http, message, self._choose(http.query))  # only now: its body may have taken long

    async def get(self, http: HttpExchange) -> None:
        """Raises: HttpProblem."""
        await self._fronts.get(http, self._choose(http.query))

    async def delete(self, http: HttpExchange) -> None:
        """Raises: HttpProblem."""
        await self._fronts.delete(http, self._choose(http.query))

    def check(self, query: bytes) -> None:
        """Whether the address asks for what there is. Raises: HttpProblem."""
        self._choose(query)

    def _choose(self, query: bytes) -> CombinedBackend:
        """What the address asks for. Raises: HttpProblem."""
        if not query:
            return self._combined
        try:
            wanted = parse_qs(query.decode("latin-1"), keep_blank_values=True, max_num_fields=20)
        except ValueError:  # more fields than that
            wanted = {}
        if set(wanted) != {"servers"}:
            raise HttpProblem(400, "The address may only choose servers, as in /mcp?servers=a,b. Leave the rest out.")
        names = frozenset(name.strip() for part in wanted["servers"] for name in part.split(",") if name.strip())
        return self._combined.subset(names)

    def quiesce(self) -> None:
        self._fronts.quiesce()

    async def close(self, text: str = STOPPING) -> None:
        """Requests that are still under way get this text."""
        await self._fronts.close(text)
