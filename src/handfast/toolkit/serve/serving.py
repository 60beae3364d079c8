"""Serves tools with the official SDK, over stdio and HTTP, in both eras of the protocol."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from threading import Lock
from typing import Any

import anyio
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.types import CallToolRequestParams, PaginatedRequestParams
from starlette.applications import Starlette

from handfast.activity.store import StoreError
from handfast.toolkit.serve.answering import Context, ServedToolbox, answer_call
from handfast.toolkit.serve.misread_messages import Event, MisreadBodies, Receive, Send, answer_odd
from handfast.toolkit.serve.sdk_call_middleware import SdkCallMiddleware, is_tried
from handfast.toolkit.serve.sealed_states import SealedStates
from handfast.toolkit.serve.stdio import Incoming, Outgoing, stdio_streams
from handfast.toolkit.writing.schemas import ContractError

# The list is the same for all callers and while the server runs; this is how long a restart may go unnoticed.
LIST_TTL_MS = 60_000
App = Callable[[Event, Receive, Send], Awaitable[None]]
Lifespan = Callable[[Any], AbstractAsyncContextManager[Any]]  # Any: the app, and what its lifespan gives


class ToolboxServer(Server[Any]):  # Any: its lifespan
    """The SDK's server over the tools of one toolbox: whichever way it is served, calls are judged and recorded."""

    toolbox: ServedToolbox

    def streamable_http_app(self, **more: Any) -> Starlette:  # Any: the SDK's own keywords
        making = Lock()  # loops may begin in several threads
        app = super().streamable_http_app(**more)
        bodies = self.session_manager.asgi_app

        def make() -> tuple[App, Lifespan]:
            with making:
                fresh = super(ToolboxServer, self).streamable_http_app(**more)
                return MisreadBodies(self.session_manager.asgi_app.app, self.toolbox), fresh.router.lifespan_context

        started = StartedByFirstRequest(make)
        bodies.app, app.router.lifespan_context = started, started.lifespan
        return app

    def add_request_handler(self, method: str, params_type: type[Any], handler: Any) -> None:  # Any: the SDK's own
        """Adds a handler, such as one for resources. Raises: ContractError, for tools/call."""
        if method == "tools/call":
            raise ContractError(
                f"'{self.name}' answers tools/call itself, so that every call is judged and recorded. Register the "
                "tool with the toolbox, or serve your handler with a server of its own and under_contract()."
            )
        super().add_request_handler(method, params_type, handler)


def build_server(toolbox: ServedToolbox) -> ToolboxServer:
    """Builds the SDK's server; fixes the set of tools. Raises: ContractError."""
    registry = toolbox.registry
    registry.freeze()

    async def list_tools(_context: Context, _params: PaginatedRequestParams | None) -> Any:  # Any: the SDK takes dicts
        return {"tools": registry.published(), "resultType": "complete"}

    async def call_tool(context: Context, params: CallToolRequestParams) -> Any:  # Any: as above
        return await answer_call(toolbox, params.name, params.arguments, context)

    # Only these tools have arguments to compare with headers, and the SDK would search the others on every call.
    mirrored = {tool["name"]: tool["inputSchema"] for tool in registry.published() if "x-mcp-header" in str(tool)}
    server = ToolboxServer(
        toolbox.name,
        version=toolbox.version,
        instructions=toolbox.instructions,
        lifespan=lambda _server: toolbox.recording.during(),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=mirrored.get,
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="public")},
    )
    server.toolbox = toolbox
    server.middleware.append(SealedStates(toolbox))
    if is_tried():
        from handfast.toolkit.serve.telemetry import spare_unheard_spans

        spare_unheard_spans(server.middleware)
        server.middleware.append(SdkCallMiddleware(toolbox, server))
    return server


class StartedByFirstRequest:
    """`lifespan` stands in for the app's own: where it was not run by the first request, that one begins it.

    It then ends with the event loop, which cancels what still runs. Each loop has an app of its own, because the SDK's
    runs once: a test client has a new loop for every request.
    """

    def __init__(self, make: Callable[[], tuple[App, Lifespan]]) -> None:
        self._make = make
        self._running: dict[asyncio.AbstractEventLoop, App] = {}
        self._begun: dict[asyncio.AbstractEventLoop, tuple[asyncio.Future[App], asyncio.Task[None]]] = {}

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[Any]:  # Any: as in Lifespan
        loop = asyncio.get_running_loop()
        served, lifespan = self._make()
        async with lifespan(app) as given:
            self._running[loop] = served
            try:
                yield given
            finally:
                if self._running.get(loop) is served:
                    del self._running[loop]

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        served = self._running.get(loop)
        if served is None:
            if loop not in self._begun:
                begun: asyncio.Future[App] = loop.create_future()
                self._begun[loop] = begun, loop.create_task(self._run(scope.get("app"), begun))
            served = await asyncio.shield(self._begun[loop][0])
        await served(scope, receive, send)

    async def _run(self, app: Any, begun: asyncio.Future[App]) -> None:  # Any: as above
        loop = asyncio.get_running_loop()
        try:
            async with self.lifespan(app):
                begun.set_result(self._running[loop])
                await asyncio.Event().wait()
        except Exception as problem:  # noqa: BLE001 - every request that waits is told of it, and the next tries again
            begun.set_exception(problem)
        finally:
            del self._begun[loop]


def run_stdio(server: ToolboxServer) -> None:
    try:
        _run(_serve_stdio(server))
    except StoreError as problem:
        sys.exit(f"{server.name}: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)


def _run(work: Coroutine[Any, Any, None]) -> None:  # Any: a coroutine's send types
    try:
        import uvloop
    except ImportError:  # not available on every platform
        asyncio.run(work)
    else:
        uvloop.run(work)


async def _serve_stdio(server: ToolboxServer) -> None:
    toolbox = server.toolbox
    # Lines that are no message are answered, and recorded, outside the SDK's server.
    async with (
        toolbox.recording.during(),
        stdio_streams(lambda line: answer_odd(line, toolbox)) as (incoming, outgoing),
    ):
        await _serve(server, incoming, outgoing)


async def _serve(server: Server[Any], incoming: Incoming, outgoing: Outgoing) -> None:
    try:
        await server.run(incoming, outgoing, server.create_initialization_options())
    except* (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # a message was still inside the SDK when the client left or the server was stopped
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
