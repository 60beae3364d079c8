"""The lists of all servers as one: asked side by side, each within its time, joined in the order of the servers' names.

An answer takes as many pages of each server as its bounds allow, nearly always all of them. What is left is in the
cursor: for each server with more, that server's own cursor.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgspec

from handfast.catalog.listing import SLICE
from handfast.core.access.permissions import may_all
from handfast.core.bounds import MOST_ITEMS
from handfast.core.call import rules
from handfast.gateway.callers.opaque import Seal, Tampered
from handfast.gateway.translate.backend import Backend, Requester
from handfast.gateway.translate.combined.ask_server import Unavailable, ask_server, own_request, whole_number
from handfast.gateway.translate.combined.discovery import SERVER_INFO, Discoveries, render_gaps
from handfast.gateway.translate.combined.endpoint import CombinedEndpoint, RequestRefused
from handfast.gateway.translate.combined.links import tool_uri
from handfast.gateway.translate.combined.names import public_name
from handfast.turns import LARGE_BYTES, take_turn
from handfast.wire.codes import INVALID_PARAMS, METHOD_NOT_FOUND
from handfast.wire.members import level_of, member, text_member
from handfast.wire.message import Members, Message
from handfast.wire.methods import LIST_KINDS, ListKind
from handfast.wire.replies import answer_message
from handfast.wire.scan import NotJson, scan_items
from handfast.wire.splice import replace_values

# Of one server in one answer; the rest is the next page, so that an endless list does not hold a client for ever.
_MOST_PAGES: Final = 50
_ENOUGH_BYTES: Final = 4 * 1024**2
# Of one server's cursor. All go into one cursor that clients send back, and no server may make that one too long.
_LONGEST_CURSOR: Final = 64 * 1024
# From the start of a server. Several clients wait half a minute for their first list, and show what is in it for good.
FIRST_LIST_SECONDS: Final = 25.0


@dataclass(slots=True)
class Part:
    """What one server adds to an answer."""

    server: str
    cursor: str | None  # the server's own cursor, where its list goes on
    starts_anew: bool
    items: list[tuple[str, bytes]] = field(default_factory=list)  # public name or URI, bytes for clients
    own_names: dict[str, str] = field(default_factory=dict)
    own_items: list[bytes] = field(default_factory=list)  # as the server wrote them
    links: list[str] = field(default_factory=list)
    pages: int = 0
    is_done: bool = False  # nothing more comes, whatever the reason
    is_recalled: bool = False  # the server is still starting: this is what it listed the last time
    problem: str = "It did not answer in time."
    unreadable: int = 0
    ttl_ms: int | None = None
    is_private: bool = False


class Lists:
    def __init__(self, endpoint: CombinedEndpoint, discoveries: Discoveries) -> None:
        self._endpoint = endpoint
        self._discoveries = discoveries
        self._told: set[tuple[str, str]] = set()  # pairs of servers with a URI in common

    async def answer(self, kind: ListKind, message: Message, origin: Requester) -> Message:
        """Raises: RequestRefused."""
        parts = _parts(self._endpoint.servers(origin.caller), self._endpoint.seal, kind, message)
        await self._fill(kind, parts, message, origin)
        if sum(len(part.items) for part in parts) > SLICE:
            await take_turn()
        return answer_message(message.id, self._joined(kind, parts))

    async def refresh(
        self, kind: ListKind, servers: Mapping[str, Backend], message: Message, origin: Requester
    ) -> bool:
        """Learns what these servers list, for a caller that names something unknown; whether all answered in full."""
        parts = [Part(server, None, starts_anew=True) for server in servers]
        await self._fill(kind, parts, message, origin)
        return not any(part.problem or part.cursor is not None for part in parts)

    async def _fill(self, kind: ListKind, parts: list[Part], message: Message, origin: Requester) -> None:
        servers = self._endpoint.servers(origin.caller)
        works = {
            part.server: self._fill_one(kind, part, servers[part.server], message, origin)
            for part in parts
            if part.server in servers
        }
        await self._endpoint.each_within(
            works,
            partial(self._seconds_left, kind),
            has_stand_in=lambda server: self._endpoint.has_stand_in(server, kind.method),
        )
        for part in parts:
            if not part.is_done and self._endpoint.starts.starting_for(part.server) is not None:
                self._endpoint.awaited.add(part.server)
                self._recall(kind, part, origin)
            if len(part.items) > SLICE:
                await take_turn()
            known = self._endpoint.known(origin)
            is_whole = part.starts_anew and part.is_done and not part.problem and part.cursor is None
            known.learn(kind.key, part.server, part.own_names, is_whole=is_whole)
            if part.starts_anew:
                known.asked[kind.key, part.server] = self._endpoint.now()
            known.link(part.server, part.links)
            self._diagnose(kind, part)

    def _seconds_left(self, kind: ListKind, server: str) -> float:
        """For a server that is starting: clients ask for their list once, and what is missing then stays missing."""
        seconds = self._endpoint.starts.starting_for(server)
        if seconds is None or self._endpoint.starts.remembered(server, kind.method) is not None:
            return 0.0
        return FIRST_LIST_SECONDS - seconds

    def _recall(self, kind: ListKind, part: Part, origin: Requester) -> None:
        """Fill in what the server listed when it was last started, for a caller from whom nothing of it is hidden."""
        found = self._endpoint.starts.remembered(part.server, kind.method)
        if not may_all(origin.caller.identity, part.server):
            found = None  # it was listed to somebody who may do everything, and a dispatcher's tools stand in its text
        part.problem = "It is still starting. Clients that listen are told when it is up."
        if found is not None and part.starts_anew and not part.pages:
            for item in msgspec.json.decode(found, type=list[msgspec.Raw]):
                _take_item(kind, part, bytes(item))
            part.problem, part.is_recalled = "", True

    async def remember(self, server: str, backend: Backend, message: Message, origin: Requester) -> None:
        """Keep what a server lists to a caller who can do nothing in particular, for when it is slow to start."""
        with suppress(Unavailable):
            discovered = await self._discoveries.of(server, backend, message, origin)
            self._endpoint.starts.remember(server, "server/discover", discovered.rendered())
        for kind in LIST_KINDS.values():
            part = Part(server, None, starts_anew=True)
            await self._fill_one(kind, part, backend, message, origin)
            if part.is_done and not part.problem and part.cursor is None:
                items = b"[" + b",".join(part.own_items) + b"]"
                self._endpoint.starts.remember(server, kind.method, items)

    async def _fill_one(
        self, kind: ListKind, part: Part, backend: Backend, message: Message, origin: Requester
    ) -> None:
        try:
            if not await self._offers(kind, part.server, backend, message, origin):
                part.cursor, part.problem, part.is_done = None, "", True
                return
            await _turn_pages(kind, part, lambda asked: ask_server(backend, asked, origin), message)
        except Unavailable as problem:
            # A server that promised the capability may still lack this one of its lists.
            part.problem = "" if problem.code == METHOD_NOT_FOUND else problem.reason
            part.cursor, part.is_done = None, True

    async def _offers(self, kind: ListKind, server: str, backend: Backend, message: Message, origin: Requester) -> bool:
        """Raises: Unavailable."""
        try:
            return (await self._discoveries.of(server, backend, message, origin)).offers(kind.capability)
        except Unavailable as problem:
            if problem.code != METHOD_NOT_FOUND:
                raise
            return True  # it has no discovery, so its list decides

    def _joined(self, kind: ListKind, parts: list[Part]) -> dict[str, Any]:  # Any: JSON
        unavailable = {part.server: part.problem for part in parts if part.problem}
        recalled = [part.server for part in parts if part.is_recalled]
        asked = [part for part in parts if part.ttl_ms is not None]
        is_public = bool(asked) and not unavailable and not recalled and not any(part.is_private for part in asked)
        result: dict[str, Any] = {  # Any: JSON
            "resultType": "complete",
            kind.key: [msgspec.Raw(item) for item in self._items(kind, parts)],
            # A list with a gap in it must not be cached.
            "ttlMs": 0 if unavailable or recalled else min((part.ttl_ms or 0 for part in asked), default=0),
            "cacheScope": "public" if is_public else "private",
            "_meta": {**SERVER_INFO, **render_gaps(unavailable, recalled)},
        }
        rest = [(part.server, part.cursor) for part in parts if part.cursor is not None]
        if rest:
            result["nextCursor"] = self._endpoint.seal.wrap(_bound(kind), rest)
        return result

    def _items(self, kind: ListKind, parts: list[Part]) -> list[bytes]:
        """The items in order. A URI that an earlier server has is left out: reading it would lead to that server."""
        owners: dict[str, str] = {}
        found: list[bytes] = []
        for part in parts:
            for identity, item in part.items:
                owner = part.server if kind.is_named else owners.setdefault(identity, part.server)
                if owner == part.server:
                    found.append(item)
                else:
                    self.note_same_uri(owner, part.server)
        return found

    def note_same_uri(self, owner: str, server: str) -> None:
        """Reports, once for each pair of servers, that both have the same URI."""
        if (owner, server) in self._told:
            return
        self._told.add((owner, server))
        reason = f"It lists or links URIs that {owner} lists; they lead to {owner}. Use /mcp/{server}."
        self._endpoint.diagnose(server, rules.COMBINED_SAME_URI, reason)

    def _diagnose(self, kind: ListKind, part: Part) -> None:
        if part.problem:
            reason = f"{kind.method} of all servers goes without the server. {part.problem}"
            self._endpoint.diagnose(part.server, rules.COMBINED_UNAVAILABLE, reason)
        if part.unreadable:
            reason = f"{part.unreadable} items of {kind.method} have no {kind.identity} that can be read; left out."
            self._endpoint.diagnose(part.server, rules.COMBINED_UNREADABLE, reason)


def _bound(kind: ListKind) -> tuple[str, str]:
    return ("cursor", kind.method)


def _parts(servers: Iterable[str], seal: Seal, kind: ListKind, message: Message) -> list[Part]:
    """The servers to ask, and their cursors. Servers that are gone since the cursor was given out are left out."""
    if member(message.params(), "cursor") is None:
        return [Part(server, None, starts_anew=True) for server in servers]
    text = text_member(message.params(), "cursor")
    try:
        cursors = dict(seal.unwrap(_bound(kind), text, list[tuple[str, str]]))
    except Tampered:
        reason = "The cursor is not one of this list. Begin again without a cursor."
        raise RequestRefused(INVALID_PARAMS, reason, rule=rules.COMBINED_FORGED) from None
    return [Part(server, cursors[server], starts_anew=False) for server in servers if server in cursors]


async def _turn_pages(
    kind: ListKind, part: Part, ask: Callable[[Message], Awaitable[Members]], message: Message
) -> None:
    """Raises: Unavailable."""
    size = 0
    while part.pages < _MOST_PAGES and size < _ENOUGH_BYTES:
        params = {} if part.cursor is None else {"cursor": part.cursor}
        result = await ask(own_request(message, kind.method, params))
        size += await _take_page(kind, part, result)
        if part.cursor is None:
            break
    part.is_done = True


async def _take_page(kind: ListKind, part: Part, result: Members) -> int:
    """Adds a page, its items in slices: an item takes some 20 microseconds. Raises: Unavailable."""
    following = text_member(result, "nextCursor")
    if len(member(result, kind.key) or b"") >= LARGE_BYTES:
        await take_turn()
    try:
        items, is_whole = scan_items(member(result, kind.key) or b"")
    except NotJson:
        raise Unavailable("It sent a list that cannot be read.") from None
    if following is not None and following == part.cursor:
        raise Unavailable("Its list does not end: a page leads to itself.")
    for number, item in enumerate(items, 1):
        _take_item(kind, part, item)
        if number % SLICE == 0:
            await take_turn()
    ttl_ms = whole_number(result, "ttlMs")
    part.ttl_ms = ttl_ms if part.ttl_ms is None else min(part.ttl_ms, ttl_ms)
    part.is_private = part.is_private or text_member(result, "cacheScope") != "public"
    part.pages += 1
    part.cursor, part.problem = following, ""  # this page is shown, even if the next does not come in time
    is_usable = following is not None or member(result, "nextCursor") is None
    if not is_usable or len(following or "") > _LONGEST_CURSOR:
        part.cursor, part.problem = (
            None,
            "Its list goes on, but its cursor is not a string, or is too long.",
        )
    if not is_whole:
        part.cursor, part.problem = None, f"A page of its list has more than {MOST_ITEMS} items; the rest is left out."
    return sum(map(len, items))


def _take_item(kind: ListKind, part: Part, item: bytes) -> None:
    members = level_of(item)
    own = text_member(members, kind.identity)
    if own is None:
        part.unreadable += 1
        return
    own_item = item
    public = public_name(part.server, own) if kind.is_named else own
    if public != own:
        item = replace_values(item, {("name",): msgspec.json.encode(public)})
    part.items.append((public, item))
    part.own_items.append(own_item)
    part.own_names[public] = own
    if kind.key == "tools" and (uri := tool_uri(members)) is not None:
        part.links.append(uri)
