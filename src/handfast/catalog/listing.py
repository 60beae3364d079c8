"""Reads tools/list answers as contracts, and asks a server for all pages of its list."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from handfast.catalog.contracts import ListPass, ServerContracts
from handfast.core.bounds import MOST_ITEMS
from handfast.core.call.contract import ToolContract
from handfast.turns import LARGE_BYTES, take_turn
from handfast.wire.members import level_of, member, text_member
from handfast.wire.message import AmbiguousKeys, Members, Message
from handfast.wire.scan import NotJson, scan_items

SLICE = 100  # tools that are read before other work gets a turn
_MAX_PAGES = 200  # ends a listing by a server that never stops paging


class ListingSessionLost(ConnectionError):
    """The server no longer knows the session of the request. It may answer in another session."""


@dataclass(frozen=True, slots=True)
class ToolPage:
    texts: list[bytes]  # of all tools, readable or not
    contracts: list[ToolContract]
    places: list[int]  # index of each contract's tool in `texts`
    next_cursor: bytes | None  # raw JSON, so that it can be sent back exactly
    is_whole: bool = True  # False if there were more tools than were read

    def texts_of(self, count: int) -> list[bytes]:
        """The beginning of the list with the first `count` readable tools."""
        return self.texts if count == len(self.contracts) else self.texts[: self.places[count]]


async def read_tool_page(result: Members, most: int = MOST_ITEMS) -> ToolPage | None:
    """The contracts on one page, up to a bound; only tools that cannot be read are left out.

    Works in slices, because reading a tool takes some 15 microseconds during which everything else waits.
    """
    listed = result.get("tools")
    if listed is None:
        return None
    if len(listed) >= LARGE_BYTES:
        await take_turn()
    try:
        texts, is_whole = scan_items(bytes(listed), most)
    except NotJson:
        return None
    contracts: list[ToolContract] = []
    places: list[int] = []
    for place, text in enumerate(texts):
        if (contract := _read_tool(text)) is not None:
            contracts.append(contract)
            places.append(place)
        if place % SLICE == SLICE - 1:
            await take_turn()
    if len(texts) > SLICE:
        await take_turn()  # before the caller learns them
    return ToolPage(texts, contracts, places, member(result, "nextCursor"), is_whole)


def _read_tool(text: bytes) -> ToolContract | None:
    tool = level_of(text)
    name = text_member(tool, "name")
    if name is None:
        return None
    return ToolContract(
        name=name,
        input_schema=member(tool, "inputSchema"),
        output_schema=member(tool, "outputSchema"),
        annotations=member(tool, "annotations"),
        description=text_member(tool, "description") or "",
    )


ListPage = Callable[[bytes | None], Awaitable[Message]]


async def ask_for_all(contracts: ServerContracts, list_page: ListPage, view: bytes = b"") -> bool:
    """Asks for every page and learns it. False if the server did not answer with a list."""
    cursor: bytes | None = None
    own = ListPass()
    for _ in range(_MAX_PAGES):
        answer = await list_page(cursor)
        try:
            result = answer.result()
        except (AmbiguousKeys, NotJson):
            return False
        page = await read_tool_page(result, contracts.most) if result is not None else None
        if page is None:
            return False
        taken = contracts.learn(
            page.contracts, cursor=cursor, next_cursor=page.next_cursor, view=view, is_cut=not page.is_whole, own=own
        )
        if page.next_cursor is None or not page.is_whole or taken < len(page.contracts):
            return True
        if page.next_cursor == cursor:
            return False  # it would never end
        cursor = page.next_cursor
    return False
