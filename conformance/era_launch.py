"""How a server of one era is started: over HTTP with --port, over stdio without. Runs in .parts, not in .venv."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from mcp.server.stdio import stdio_server
from mcp_everything_server.server import event_store, mcp  # type: ignore[import-not-found]  # installed in .parts only

Asgi = Callable[[Any, Any, Any], Awaitable[None]]  # Any: what ASGI passes on
ServeStreams = Callable[[Any, Any, Any], Awaitable[None]]  # Any: streams and state, whose types are the SDK's

_RETRY_MS = 100  # what the suite's server says to clients that come back for the rest of a stream


def launch(restrict: Callable[[Asgi], Asgi], serve_streams: ServeStreams) -> None:
    """The suite's server, restricted by the first over HTTP and served by the second over stdio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--log-level", default="ERROR")
    options = parser.parse_args()
    if options.port is None:
        asyncio.run(_serve_stdio(serve_streams))
        return
    app = mcp.streamable_http_app(event_store=event_store, retry_interval=_RETRY_MS)
    uvicorn.run(restrict(app), host="127.0.0.1", port=options.port, log_level=options.log_level.lower())


async def _serve_stdio(serve_streams: ServeStreams) -> None:
    server = mcp._lowlevel_server  # the SDK has no public way to it, and its own server reaches for it like this
    async with stdio_server() as (read, write), server.lifespan(server) as state:
        try:
            await serve_streams(read, write, state)
        finally:
            await write.aclose()
