"""The conformance suite's server, with tools whose fate can be read in a file. Runs in .parts, not in .venv.

python -m tests.real.witness_server [--port PORT]: over stdio, or over Streamable HTTP on a port. Both eras; lists in
pages. The file is WITNESS_JOURNAL of the environment.
"""

import os
import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import Context
from mcp.types import ListToolsResult, PaginatedRequestParams
from mcp_everything_server.server import event_store, mcp  # type: ignore[import-not-found]  # lives in .parts only

JOURNAL = Path(os.environ["WITNESS_JOURNAL"])
PAGE = 12  # tools; the server has about thirty


def note(event: str, tag: str) -> None:
    with JOURNAL.open("a") as journal:
        journal.write(f"{event} {tag}\n")


@mcp.tool()  # type: ignore[untyped-decorator]  # lives in .parts only
async def wait_until_cancelled(tag: str, ctx: Context) -> str:
    """Says that it has begun, and then only ends by being cancelled"""
    note("began", tag)
    try:
        await ctx.report_progress(progress=1, total=2, message="waiting")
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        note("cancelled", tag)
        raise
    return "never"


@mcp.tool()  # type: ignore[untyped-decorator]  # as above
async def count_to(number: int, ctx: Context) -> str:
    """Reports its progress at every step"""
    for step in range(1, number + 1):
        await ctx.report_progress(progress=step, total=number, message=f"step {step}")
        await anyio.sleep(0.05)  # work; clients may overlook progress that arrives together with the answer
    return "counted"


@mcp.tool()  # type: ignore[untyped-decorator]  # as above
def big_text(size: int) -> str:
    """As many characters as are asked for"""
    return "0123456789abcdef" * (size // 16)


server = mcp._lowlevel_server  # the high-level one has no pages
whole = server._request_handlers["tools/list"]


async def list_page(context: object, params: PaginatedRequestParams) -> ListToolsResult:
    listed: ListToolsResult = await whole.handler(context, params)
    start = int(params.cursor or 0)
    more = start + PAGE < len(listed.tools)
    page = {"tools": listed.tools[start : start + PAGE], "next_cursor": str(start + PAGE) if more else None}
    return listed.model_copy(update=page)


server.add_request_handler("tools/list", PaginatedRequestParams, list_page)

if __name__ == "__main__":
    if "--port" not in sys.argv:
        mcp.run(transport="stdio")
    elif "--sse" in sys.argv:
        mcp.run(transport="sse", port=int(sys.argv[-1]))
    else:
        mcp.run(transport="streamable-http", port=int(sys.argv[-1]), event_store=event_store, retry_interval=100)
