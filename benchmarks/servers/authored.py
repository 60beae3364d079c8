"""The same two tools written three ways: on the bare SDK, with the toolkit, with the toolkit and on record.

python -m benchmarks.servers.authored sdk|toolkit [--state FOLDER] [--port N]    stdio without a port
"""

import argparse
import asyncio
import json
from typing import Any  # Any: JSON, and the SDK's own generics

import uvicorn
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool
from pydantic import BaseModel

from benchmarks import traffic
from handfast.core.call.exchange import Recorder
from handfast.toolkit import Args, Toolbox
from handfast.toolkit.running.recording import Unrecorded

SMALL, ORDERS = "count_orders", traffic.JUDGED
_STRUCTURED = traffic.structured(ORDERS)


class Query(Args):
    query: str
    limit: int = 8
    newest_first: bool = False


class Order(BaseModel):
    id: int
    customer: str
    email: str
    total: float
    paid: bool
    tags: list[str]


class Orders(BaseModel):
    rows: list[Order]
    count: int


class Count(BaseModel):
    query: str
    count: int


def toolbox(recorder: Recorder | None) -> Toolbox:
    tools = Toolbox("bench", recorder=recorder)
    found = Orders.model_validate(_STRUCTURED)

    @tools.read
    async def orders(args: Query) -> Orders:
        """Orders."""
        return found if args.limit else Orders(rows=[], count=0)

    @tools.read
    async def count_orders(args: Query) -> Count:
        """Count orders."""
        return Count(query=args.query, count=args.limit)

    return tools


def bare_server() -> Server[Any]:
    """What an author writes who trusts callers and tools: no argument is looked at, no result is checked."""
    listed = [Tool.model_validate(tool) for tool in toolbox(Unrecorded()).registry.published()]

    async def list_tools(_context: object, _params: object) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(_context: object, params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        if params.name == ORDERS:
            data = _STRUCTURED if arguments["limit"] else {"rows": [], "count": 0}
        else:
            data = {"query": arguments["query"], "count": arguments["limit"]}
        return CallToolResult(content=[TextContent(type="text", text=json.dumps(data))], structured_content=data)

    schemas = {tool.name: tool.input_schema for tool in listed}
    return Server(
        "bench",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=schemas.get,  # without it the SDK lists all tools again on every call over HTTP
        cache_hints={"tools/list": CacheHint(ttl_ms=60_000, scope="public")},
    )


async def serve_stdio(server: Server[Any]) -> None:
    """As the SDK's own documentation shows it."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=("sdk", "toolkit"))
    parser.add_argument("--state", help="record here; nothing is recorded without it")
    parser.add_argument("--port", type=int)
    options = parser.parse_args()
    tools = toolbox(None if options.state else Unrecorded())
    if options.port is not None:
        is_bare = options.way == "sdk"
        app = (bare_server().streamable_http_app if is_bare else tools.asgi)(json_response=True, **_state(options))
        quiet: dict[str, Any] = {"access_log": False, "log_level": "warning", "timeout_keep_alive": 75}
        uvicorn.run(app, host="127.0.0.1", port=options.port, **quiet)
    elif options.way == "sdk":
        asyncio.run(serve_stdio(bare_server()))
    else:
        tools.run(**_state(options))


def _state(options: argparse.Namespace) -> dict[str, Any]:
    return {"state": options.state} if options.state else {}


if __name__ == "__main__":
    main()
