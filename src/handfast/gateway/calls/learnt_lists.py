"""Learns a list of tools on its way to a client, and takes out what is over a bound."""

from handfast.catalog.listing import ToolPage, read_tool_page
from handfast.core.call import rules
from handfast.gateway.calls.server_side import ServerSide
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.scan import NotJson
from handfast.wire.splice import drop, replace_values


async def learn_list(server: ServerSide, message: Message, *, cursor: bytes | None, view: bytes) -> bytes:
    """Returns an answer to tools/list for the client: all of it, or the tools that were learnt if it is too long."""
    try:
        result = message.result()
    except (AmbiguousKeys, NotJson) as problem:
        reason = f"A list of tools could not be learnt from: {problem}. Its tools are not judged."
        server.journal.diagnose(server.name, rules.CONTRACT_UNREADABLE, reason)
        return message.raw
    contracts = server.learner.contracts
    page = await read_tool_page(result, contracts.most) if result is not None else None
    if page is None:
        return message.raw
    taken = contracts.learn(
        page.contracts, cursor=cursor, next_cursor=page.next_cursor, view=view, is_cut=not page.is_whole
    )
    if page.is_whole and taken == len(page.contracts):
        return message.raw
    reason = f"The server lists more than {contracts.most} tools or 32 MiB of them. The others are not offered."
    server.journal.diagnose(server.name, rules.CONTRACT_TOO_MANY, reason)
    return _end_list(message.raw, page, taken)


def _end_list(raw: bytes, page: ToolPage, taken: int) -> bytes:
    tools = b"[" + b",".join(page.texts_of(taken)) + b"]"
    return drop(replace_values(raw, {("result", "tools"): tools}), [("result", "nextCursor")])
