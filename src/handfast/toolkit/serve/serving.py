"""Serves tools with the official SDK, over stdio and HTTP, in both eras of the protocol."""

import asyncio
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.types import CallToolRequestParams, PaginatedRequestParams
from starlette.applications import Starlette

from handfast.activity.store import StoreError
from handfast.toolkit.serve.answering import Context, ServedToolbox, answer_call
from handfast.toolkit.serve.misread_messages import MisreadBodies, answer_odd
from handfast.toolkit.serve.sdk_call_middleware import SdkCallMiddleware, is_tried
from handfast.toolkit.serve.stdio import Incoming, Outgoing, stdio_streams

# The list is the same for all callers and while the server runs; this is how long a restart may go unnoticed.
LIST_TTL_MS = 60_000


def build_server(toolbox: ServedToolbox) -> Server[Any]:
    """Builds the SDK's server; fixes the set of tools. Raises: ContractError."""
    registry = toolbox.registry
    registry.freeze()

    async def list_tools(_context: Context, _params: PaginatedRequestParams | None) -> Any:  # Any: the SDK takes dicts
        return {"tools": registry.published(), "resultType": "complete"}

    async def call_tool(context: Context, params: CallToolRequestParams) -> Any:  # Any: as above
        return await answer_call(toolbox, params.name, params.arguments, context)

    # Only these tools have arguments to compare with headers, and the SDK would search the others on every call.
    mirrored = {tool["name"]: tool["inputSchema"] for tool in registry.published() if "x-mcp-header" in str(tool)}
    server: Server[Any] = Server(
        toolbox.name,
        version=toolbox.version,
        instructions=toolbox.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=mirrored.get,
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="public")},
    )
    if is_tried():
        from handfast.toolkit.serve.telemetry import spare_unheard_spans

        spare_unheard_spans(server.middleware)
        server.middleware.append(SdkCallMiddleware(toolbox, server))
    return server


def asgi_app(toolbox: ServedToolbox, *, state: str | None = None, **more: Any) -> Starlette:
    """Builds the ASGI application and opens the recorder. Raises: ContractError, StoreError."""
    toolbox.recording.open(state)
    server = build_server(toolbox)
    app = server.streamable_http_app(**more)
    bodies = server.session_manager.asgi_app
    bodies.app = MisreadBodies(bodies.app, toolbox)
    own = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[Any]:  # Any: what the SDK's own lifespan gives
        try:
            async with own(app) as given:
                yield given
        finally:
            await toolbox.recording.close()

    app.router.lifespan_context = lifespan
    return app


def run_stdio(toolbox: ServedToolbox, *, state: str | None = None) -> None:
    try:
        _run(_serve_stdio(toolbox, state))
    except StoreError as problem:
        sys.exit(f"{toolbox.name}: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)


def _run(work: Coroutine[Any, Any, None]) -> None:  # Any: a coroutine's send types
    try:
        import uvloop
    except ImportError:  # not available on every platform
        asyncio.run(work)
    else:
        uvloop.run(work)


async def _serve_stdio(toolbox: ServedToolbox, state: str | None) -> None:
    toolbox.recording.open(state)
    server = build_server(toolbox)
    try:
        async with stdio_streams(lambda line: answer_odd(line, toolbox)) as (incoming, outgoing):
            await _serve(server, incoming, outgoing)
    finally:
        await toolbox.recording.close()


async def _serve(server: Server[Any], incoming: Incoming, outgoing: Outgoing) -> None:
    try:
        await server.run(incoming, outgoing, server.create_initialization_options())
    except* (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # a message was still inside the SDK when the client left or the server was stopped
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
