"""Tools served by the official SDK, over stdio and HTTP, in both eras of the protocol."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CallToolRequestParams, PaginatedRequestParams
from starlette.applications import Starlette

from handfast.activity.store import StoreError
from handfast.core.exchange import RecordingFailed
from handfast.core.redaction import scrub_name
from handfast.toolkit.dispatch import Answer, Caller
from handfast.toolkit.recording import open_recorder
from handfast.toolkit.registry import UnknownTool

if TYPE_CHECKING:
    from handfast.toolkit.toolbox import Toolbox

# The list is the same for everybody and as long as the server runs; after a restart with other tools it is soon seen.
LIST_TTL_MS = 60_000

Context = ServerRequestContext[Any, Any]  # Any: whatever the SDK's lifespan and transport give


def build_server(toolbox: "Toolbox") -> Server[Any]:
    """The SDK's server. The tools are fixed from here on. Raises: ContractError."""
    registry = toolbox.registry
    registry.freeze()
    listed = {"tools": registry.published(), "resultType": "complete"}

    async def list_tools(_context: Context, _params: PaginatedRequestParams | None) -> Any:  # Any: the SDK takes dicts
        return listed

    async def call_tool(context: Context, params: CallToolRequestParams) -> Any:  # Any: as above
        caller = Caller(actor=toolbox.actor(context), report=context.session.report_progress, context=context)
        try:
            answer = await registry.dispatch(params.name, params.arguments, caller=caller)
        except UnknownTool:
            text = f"There is no tool '{scrub_name(params.name)}'. Call tools/list for the tools there are."
            raise MCPError(INVALID_PARAMS, text) from None
        except RecordingFailed:
            raise MCPError(INTERNAL_ERROR, "Calls cannot be recorded at the moment, so none is made.") from None
        return result_of(answer)

    schemas = {tool["name"]: tool["inputSchema"] for tool in registry.published()}
    return Server(
        toolbox.name,
        version=toolbox.version,
        instructions=toolbox.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=schemas.get,
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="public")},
    )


def result_of(answer: Answer) -> dict[str, Any]:
    """An answer as the result of tools/call."""
    blocks = [block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in answer.blocks]
    result: dict[str, Any] = {
        "resultType": "complete",  # clients of older revisions are not sent it
        "content": [{"type": "text", "text": answer.text}, *blocks],
        "isError": answer.is_error,
    }
    if answer.payload is not None:
        result["structuredContent"] = answer.payload
    if answer.meta is not None:
        result["_meta"] = dict(answer.meta)
    return result


def asgi_app(toolbox: "Toolbox", *, state: str | None = None, **more: Any) -> Starlette:
    """Raises: ContractError, StoreError."""
    close = _record(toolbox, state)
    app = build_server(toolbox).streamable_http_app(**more)
    own = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[Any]:  # Any: what the SDK's own lifespan gives
        try:
            async with own(app) as given:
                yield given
        finally:
            await close()

    app.router.lifespan_context = lifespan
    return app


def run_stdio(toolbox: "Toolbox", *, state: str | None = None) -> None:
    try:
        asyncio.run(_serve_stdio(toolbox, state))
    except StoreError as problem:
        sys.exit(f"{toolbox.name}: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)


async def _serve_stdio(toolbox: "Toolbox", state: str | None) -> None:
    close = _record(toolbox, state)
    server = build_server(toolbox)
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await close()


def _record(toolbox: "Toolbox", state: str | None) -> Any:  # Any: an async function without arguments
    """Record in the state folder, unless the author chose another recorder; returns what ends it."""
    registry = toolbox.registry
    recorder = None
    if not registry.has_recorder:
        recorder = open_recorder(state)
        if recorder is not None:
            registry.record_with(recorder)

    async def close() -> None:
        await registry.close()
        if recorder is not None:
            recorder.close()

    return close
