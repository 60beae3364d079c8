"""`/mcp`: all servers at one address, or those that a client chose with `?servers=a,b`."""

from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import parse_qs

from handfast.gateway.backend import Backend
from handfast.gateway.combined.backend import CombinedBackend
from handfast.gateway.draining import STOPPING
from handfast.gateway.fronts.both import BothFronts
from handfast.gateway.http_exchange import HttpProblem

_CHOICES = 64  # different choices of servers in use at once


class AllServers:
    def __init__(self, combined: CombinedBackend, make_fronts: Callable[[Backend], BothFronts]) -> None:
        self._combined = combined
        self._make_fronts = make_fronts
        self._every = make_fronts(combined)
        self._chosen: OrderedDict[frozenset[str], BothFronts] = OrderedDict()

    async def find(self, query: bytes) -> BothFronts:
        """The fronts for what the address asks for. Raises: HttpProblem."""
        if not query:
            return self._every
        try:
            wanted = parse_qs(query.decode("latin-1"), keep_blank_values=True, max_num_fields=20)
        except ValueError:  # more fields than that
            wanted = {}
        if set(wanted) != {"servers"}:
            raise HttpProblem(400, "The address may only choose servers, as in /mcp?servers=a,b. Leave the rest out.")
        names = frozenset(name.strip() for part in wanted["servers"] for name in part.split(",") if name.strip())
        found = self._chosen.get(names)
        if found is None:
            found = await self._choose(names)
        self._chosen.move_to_end(names)
        return found

    async def _choose(self, names: frozenset[str]) -> BothFronts:
        backend = self._combined.subset(names)
        if len(self._chosen) >= _CHOICES:
            unused = next((key for key, fronts in self._chosen.items() if fronts.is_unused), None)
            if unused is None:
                raise HttpProblem(503, "Too many different choices of servers are in use. Try again later.")
            await self._chosen.pop(unused).close()
        found = self._chosen[names] = self._make_fronts(backend)
        return found

    def quiesce(self) -> None:
        for fronts in (self._every, *self._chosen.values()):
            fronts.quiesce()

    async def close(self, text: str = STOPPING) -> None:
        """Requests that are still under way get this text."""
        for fronts in (self._every, *self._chosen.values()):
            await fronts.close(text)
