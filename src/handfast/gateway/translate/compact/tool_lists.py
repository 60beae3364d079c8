"""The whole list of a server's tools, page after page, kept for each caller for as long as it may be."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from handfast.catalog.learning import FIRST_REST
from handfast.catalog.listing import read_tool_page
from handfast.core.access.scopes import Scope
from handfast.core.call.contract import ToolContract
from handfast.gateway.translate.backend import Backend, Requester, ignore
from handfast.wire.eras import META_CAPABILITIES
from handfast.wire.members import member, text_member
from handfast.wire.message import AmbiguousKeys, Members, Message, read_message
from handfast.wire.replies import request
from handfast.wire.scan import NotJson

_MOST_PAGES = 200  # a server that never stops paging does not hold us for ever
_MOST_BYTES = 16 * 1024 * 1024  # of one list; the largest real one has a hundredth of it
_MOST_KEPT = 32  # lists, the oldest make way
_KEPT_BYTES = 64 * 1024 * 1024  # of all lists together
# Legacy servers give no lifetime, and not every client listens for changes. A list this old does no harm:
# a name that is not in it is looked for in a fresh one.
_LEAST_SECONDS = 30.0
_MOST_SECONDS = 3600.0


# Tokens of one caller may have other scopes, and a legacy server may offer other tools to a client that can do more.
Whose = tuple[str, bytes, tuple[Scope, ...]]


@dataclass(slots=True)
class ToolList:
    """The tools that one caller may call."""

    tools: dict[str, ToolContract] = field(default_factory=dict)  # in the server's order
    is_whole: bool = True
    ttl_ms: int = 0
    is_private: bool = True
    meta: bytes | None = None  # of the first page
    size: int = 0
    expires: float = 0.0


class ListRefused(Exception):
    """The server gave no list; `answer` says why, under the id of the request it was asked for."""

    def __init__(self, answer: Message) -> None:
        super().__init__("the server gave no list of its tools")
        self.answer = answer


class ToolLists:
    def __init__(self, backend: Backend, now: Callable[[], float]) -> None:
        self._backend = backend
        self._now = now
        self._kept_until = 0.0
        self._kept: OrderedDict[Whose, ToolList] = OrderedDict()

    def forget(self) -> None:
        """Drops the kept lists; in a storm of changes they stay for a second, or each call would fetch one."""
        now = self._now()
        if now >= self._kept_until:
            self._kept.clear()
            self._kept_until = now + FIRST_REST
        for kept in self._kept.values():
            kept.expires = min(kept.expires, self._kept_until)

    async def find(self, message: Message, origin: Requester, *, knowing: str | None = None) -> ToolList:
        """The kept list for a request; a fresh one where none is kept, or it lacks the name `knowing`. Raises:
        ListRefused, AmbiguousKeys, NotJson."""
        kept = self._kept.get(_whose(message, origin))
        if kept is not None and self._now() < kept.expires and (knowing is None or knowing in kept.tools):
            return kept
        return await self.fetch(message, origin)

    async def fetch(self, message: Message, origin: Requester) -> ToolList:
        """A fresh list. Raises: ListRefused, AmbiguousKeys, NotJson."""
        found = ToolList()
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            cursor = await self._add_page(found, cursor, message, origin)
            if cursor is None or found.size > _MOST_BYTES:
                break
        self._keep(_whose(message, origin), found)
        return found

    async def _add_page(self, found: ToolList, cursor: str | None, message: Message, origin: Requester) -> str | None:
        asked = Requester(origin.caller, ignore)
        answer = await self._backend.request(_question(message, cursor), asked)
        try:
            result = answer.result()
            page = await read_tool_page(result) if result is not None else None
        except (AmbiguousKeys, NotJson):
            result = page = None
        if result is None or page is None:
            raise ListRefused(answer)
        for tool in page.contracts:
            found.tools.setdefault(tool.name, tool)
        found.size += len(answer.raw)
        ttl_ms, is_private = _cache_words(result)
        if cursor is None:
            found.meta, found.ttl_ms, found.is_private = member(result, "_meta"), ttl_ms, is_private
        found.ttl_ms = min(found.ttl_ms, ttl_ms)
        found.is_private = found.is_private or is_private
        found.is_whole = page.next_cursor is None  # also where the server's cursor is not a text: it cannot be followed
        return text_member(result, "nextCursor")

    def _keep(self, whose: Whose, found: ToolList) -> None:
        found.expires = self._now() + max(min(found.ttl_ms, _MOST_SECONDS * 1000) / 1000, _LEAST_SECONDS)
        self._kept[whose] = found
        self._kept.move_to_end(whose)
        while len(self._kept) > _MOST_KEPT or sum(kept.size for kept in self._kept.values()) > _KEPT_BYTES:
            self._kept.popitem(last=False)


def _whose(message: Message, origin: Requester) -> Whose:
    identity = origin.caller.identity
    scopes = () if identity is None else identity.scopes
    return origin.caller.name, bytes(message.meta().get(META_CAPABILITIES, b"")), scopes


def _question(message: Message, cursor: str | None) -> Message:
    """A tools/list on behalf of the client that sent the message."""
    assert message.id is not None
    params: dict[str, object] = {"_meta": {k: v for k, v in message.meta().items() if k != "progressToken"}}
    if cursor is not None:
        params["cursor"] = cursor
    return read_message(request(message.id, "tools/list", params))


def _cache_words(result: Members) -> tuple[int, bool]:
    try:
        ttl_ms = msgspec.json.decode(member(result, "ttlMs") or b"0", type=int)
    except msgspec.DecodeError:
        ttl_ms = 0
    return max(ttl_ms, 0), text_member(result, "cacheScope") != "public"
