"""What each server says to `server/discover`, and the joined answer of all servers."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from handfast import __version__
from handfast.core.call import rules
from handfast.gateway.translate.backend import Backend, Requester
from handfast.gateway.translate.combined.ask_server import Unavailable, ask_server, own_request, whole_number
from handfast.gateway.translate.combined.endpoint import CombinedEndpoint
from handfast.wire.eras import LEGACY_REVISION, META_SERVER, MODERN_REVISION
from handfast.wire.members import level_of, member, text_member
from handfast.wire.message import Members, Message, read_level
from handfast.wire.replies import answer_message

META_UNAVAILABLE: Final = "handfast/unavailable"
META_REMEMBERED: Final = "handfast/remembered"
SERVER_INFO: Final = {META_SERVER: {"name": "handfast", "version": __version__}}
TASKS: Final = "io.modelcontextprotocol/tasks"
_LISTS: Final = ("tools", "prompts", "resources")
_KEPT_SECONDS: Final = 60.0  # a server that was exchanged for a newer one is asked again soon enough
_MOST_KEPT: Final = 4096
_LONGEST_INSTRUCTIONS: Final = 4000  # of one server
_ALL_INSTRUCTIONS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Discovered:
    """One server's answer to `server/discover`, as far as it is of use here."""

    capabilities: Members
    instructions: str
    ttl_ms: int
    is_private: bool

    def offers(self, capability: str, option: str = "") -> bool:
        found = member(self.capabilities, capability)
        if found is None or not option:
            return found is not None
        return member(level_of(found), option) == b"true"

    def rendered(self) -> bytes:
        """What of it holds for everybody, to be read again after the next start."""
        return msgspec.json.encode({"capabilities": self.capabilities, "instructions": self.instructions})

    @property
    def has_tasks(self) -> bool:
        return TASKS in level_of(member(self.capabilities, "extensions"))


class Discoveries:
    """Recent answers of servers, by caller: a server may show different things to different callers."""

    def __init__(self, endpoint: CombinedEndpoint) -> None:
        self._endpoint = endpoint
        self._kept: OrderedDict[tuple[str, str], tuple[Backend, float, Discovered]] = OrderedDict()

    async def of(self, server: str, backend: Backend, message: Message, origin: Requester) -> Discovered:
        """Raises: Unavailable."""
        kept = self._kept.get((origin.caller.name, server))
        # Changed settings make another Backend of the same name: the old one's answer does not apply.
        if kept is not None and kept[0] is backend and self._endpoint.now() < kept[1]:
            return kept[2]
        return await self.ask(server, backend, message, origin)

    def forget(self, caller: str) -> None:
        for key in [key for key in self._kept if key[0] == caller]:
            del self._kept[key]

    async def ask(self, server: str, backend: Backend, message: Message, origin: Requester) -> Discovered:
        """Raises: Unavailable."""
        found = _read(await ask_server(backend, own_request(message, "server/discover"), origin))
        key = (origin.caller.name, server)
        self._kept[key] = (backend, self._endpoint.now() + _KEPT_SECONDS, found)
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return found


def _read(result: Members) -> Discovered:
    return Discovered(
        capabilities=level_of(member(result, "capabilities")),
        instructions=text_member(result, "instructions") or "",
        ttl_ms=whole_number(result, "ttlMs"),
        is_private=text_member(result, "cacheScope") != "public",
    )


async def discover_all(
    endpoint: CombinedEndpoint, discoveries: Discoveries, message: Message, origin: Requester
) -> Message:
    """The answer to `server/discover` for all servers together."""
    found: dict[str, Discovered] = {}
    servers = endpoint.servers(origin.caller)
    unavailable = dict.fromkeys(servers, f"It did not answer within {endpoint.seconds():g} seconds.")

    async def ask(server: str, backend: Backend) -> None:
        try:
            found[server] = await discoveries.ask(server, backend, message, origin)
            del unavailable[server]
        except Unavailable as problem:
            unavailable[server] = problem.reason

    works = {server: ask(server, backend) for server, backend in servers.items()}
    await endpoint.each_within(
        works, lambda _: 0.0, has_stand_in=lambda server: endpoint.has_stand_in(server, "server/discover")
    )
    recalled = {server: known for server in unavailable if (known := _recall(endpoint, server)) is not None}
    for server in recalled:
        del unavailable[server]
    for server, reason in unavailable.items():
        endpoint.diagnose(
            server, rules.COMBINED_UNAVAILABLE, f"The combined endpoint goes without the server. {reason}"
        )
    found |= recalled
    in_order = {server: found[server] for server in servers if server in found}
    return answer_message(message.id, _merged(in_order, unavailable, list(recalled)))


def _recall(endpoint: CombinedEndpoint, server: str) -> Discovered | None:
    """What a server that is still starting said when it was last started."""
    if not endpoint.has_stand_in(server, "server/discover"):
        return None
    return _read(read_level(endpoint.starts.remembered(server, "server/discover") or b"{}"))


def render_gaps(unavailable: Mapping[str, str], recalled: Sequence[str]) -> dict[str, object]:
    """What a joined answer goes without, and what in it is of an earlier start."""
    return {
        **({META_UNAVAILABLE: dict(unavailable)} if unavailable else {}),
        **({META_REMEMBERED: recalled} if recalled else {}),
    }


def _merged(
    found: Mapping[str, Discovered], unavailable: Mapping[str, str], recalled: Sequence[str]
) -> dict[str, Any]:  # Any: JSON
    parts = list(found.values())
    is_settled = bool(parts) and not unavailable and not recalled
    result: dict[str, Any] = {  # Any: JSON
        "resultType": "complete",
        "supportedVersions": [MODERN_REVISION, LEGACY_REVISION],
        "capabilities": _capabilities(parts, is_settled=is_settled),
        "ttlMs": min(part.ttl_ms for part in parts) if is_settled else 0,
        "cacheScope": "public" if is_settled and not any(part.is_private for part in parts) else "private",
        "_meta": {**SERVER_INFO, **render_gaps(unavailable, recalled)},
    }
    if instructions := _instructions(found):
        result["instructions"] = instructions
    return result


def _capabilities(parts: list[Discovered], *, is_settled: bool) -> dict[str, Any]:  # Any: JSON
    """The union. All lists are promised while a server has not answered, or clients would never ask for its lists."""
    together: dict[str, Any] = {}  # Any: JSON
    for name in _LISTS:
        if not is_settled or any(part.offers(name) for part in parts):
            # handfast itself notifies clients when servers come and go.
            together[name] = {"listChanged": True}
    if any(part.offers("resources", "subscribe") for part in parts):
        together["resources"]["subscribe"] = True
    for name in ("completions", "logging"):
        if any(part.offers(name) for part in parts):
            together[name] = {}
    if any(part.has_tasks for part in parts):
        # The only extension whose messages show which server they belong to.
        together["extensions"] = {TASKS: {}}
    return together


def _instructions(found: Mapping[str, Discovered]) -> str:
    pieces = [
        f"## {server}\n\n{part.instructions[:_LONGEST_INSTRUCTIONS]}"
        for server, part in found.items()
        if part.instructions.strip()
    ]
    return "\n\n".join(pieces)[:_ALL_INSTRUCTIONS]
