"""A server on the official Python SDK, low level: run by .parts/py over HTTP (`--port N`) or stdio."""

import argparse
import asyncio

import uvicorn
from mcp.server import Server  # type: ignore[import-not-found]  # lives in .parts only
from mcp.server.stdio import stdio_server  # type: ignore[import-not-found]  # lives in .parts only
from mcp_types import (  # type: ignore[import-not-found]  # lives in .parts only
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    Tool,
)

from benchmarks import traffic

_TOOLS = [Tool.model_validate(tool) for tool in traffic.tools()]
_RESULTS = {name: traffic.structured(name) for name in traffic.ROWS}


async def list_tools(_context: object, _params: object) -> ListToolsResult:
    return ListToolsResult(tools=_TOOLS)


async def call_tool(_context: object, params: CallToolRequestParams) -> CallToolResult:
    text = TextContent(type="text", text=traffic.summary(params.name))
    return CallToolResult(content=[text], structured_content=_RESULTS[params.name])


async def run_on_stdio(server: Server) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    port = parser.parse_args().port
    server = Server("bench", on_list_tools=list_tools, on_call_tool=call_tool)
    if port is None:
        asyncio.run(run_on_stdio(server))
        return
    app = server.streamable_http_app(json_response=True, stateless_http=True)
    uvicorn.run(app, host="127.0.0.1", port=port, access_log=False, log_level="warning", timeout_keep_alive=75)


if __name__ == "__main__":
    main()
