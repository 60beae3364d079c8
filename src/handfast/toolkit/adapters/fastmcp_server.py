"""The adapter for FastMCP servers: a FastMCP middleware, outermost, so that it sees mounted servers too."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from fastmcp import FastMCP  # type: ignore[import-not-found]  # only imported where a FastMCP server was handed in
from fastmcp.server.middleware import Middleware, MiddlewareContext  # type: ignore[import-not-found]  # as above
from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult  # type: ignore[import-not-found]  # as above
from fastmcp.utilities.versions import VersionSpec, version_sort_key  # type: ignore[import-not-found]  # as above
from mcp.types import TextContent

from handfast.core.call.result import ResultView
from handfast.toolkit.adapters.judging import FrameworkCall, Judge, RefusalText
from handfast.toolkit.adapters.listed_tools import Page
from handfast.toolkit.adapters.result_views import read_result, size_of, text_of
from handfast.toolkit.adapters.sdk_server import hear, view_of
from handfast.toolkit.writing.actor import actor_of_environment, actor_of_request, label_of

CallNext = Callable[[Any], Awaitable[Any]]  # Any: FastMCP's contexts and results


def attach_contract(server: FastMCP, judge: Judge) -> None:
    """Puts the judge outermost, so that it also judges what an author's own middleware does to a result."""
    server.middleware.insert(0, FastMcpContractMiddleware(server, judge))
    lowlevel = getattr(server, "_mcp_server", None)
    if lowlevel is not None:
        lowlevel.lifespan = judge.during(lowlevel.lifespan)


class FastMcpContractMiddleware(Middleware):  # type: ignore[misc]  # FastMCP is not there when types are checked
    """Judges JSON dumps of FastMCP's objects, and passes the objects on unchanged."""

    def __init__(self, server: FastMCP, judge: Judge) -> None:
        self._server = server
        self._judge = judge

    async def on_request(self, context: MiddlewareContext, call_next: CallNext) -> Any:
        request = _request(context)
        if request is not None:
            hear(request.session, self._judge.tools.forget)
        return await call_next(context)

    async def on_list_tools(self, context: MiddlewareContext, call_next: CallNext) -> Sequence[Tool]:
        tools: Sequence[Tool] = await call_next(context)
        self._judge.tools.learn(_view(context), page_of(tools))
        return tools

    async def on_call_tool(self, context: MiddlewareContext, call_next: CallNext) -> Any:
        tool, version = context.message.name, _wanted_version(context)
        request = _request(context)
        asked = FrameworkCall(
            tool=tool,
            arguments=text_of(context.message.arguments),
            contract=_key(tool, version),
            view=_view(context),
            actor=label_of(actor_of_environment() if request is None else actor_of_request(request)),
        )
        answer = await self._judge.run(
            asked,
            learn=partial(self._learn, asked, version),
            forward=partial(call_next, context),
            read=read_tool_result,
        )
        if isinstance(answer, RefusalText):
            return ToolResult(content=[TextContent(type="text", text=answer.text)], is_error=True)
        return answer

    async def _learn(self, asked: FrameworkCall, version: VersionSpec | None) -> None:
        """Lists the tools, which `on_list_tools` learns, then looks up a tool that exists without being listed."""
        await self._server.list_tools()
        if self._judge.tools.find(asked.view, asked.contract) is not None:
            return
        tool = await self._server.get_tool(asked.tool, version)
        if tool is None:  # an app's page calls its tools as `<hash>_<name>`
            address, _, name = asked.tool.partition("_")
            tool = await self._server.get_tool_by_hash(address, name)
        if tool is not None:
            self._judge.tools.learn(asked.view, {asked.contract: _schemas(tool)}, is_whole=False)


def _request(context: MiddlewareContext) -> Any:  # Any: FastMCP's request context; None for a call in this process
    return None if context.fastmcp_context is None else context.fastmcp_context.request_context


def _view(context: MiddlewareContext) -> str:
    request = _request(context)
    return "" if request is None else view_of(request)


def _wanted_version(context: MiddlewareContext) -> VersionSpec | None:
    """The version that a call names: FastMCP keeps several versions of a tool under one name."""
    wanted = ((context.message.meta or {}).get("fastmcp") or {}).get("version")
    if isinstance(wanted, str):
        return VersionSpec(eq=wanted)
    return VersionSpec(**wanted) if isinstance(wanted, dict) else None


def _key(tool: str, version: VersionSpec | None) -> str:
    return tool if version is None else f"{tool}@{version}"


def page_of(tools: Sequence[Tool]) -> Page:
    """Schemas of every tool by name and version; the name alone means the newest version."""
    if any(tool.version is not None for tool in tools):
        tools = sorted(tools, key=version_sort_key, reverse=True)
    page: dict[str, Any] = {}
    for tool in tools:
        page.setdefault(tool.name, _schemas(tool))
        if tool.version is not None:
            page.setdefault(_key(tool.name, VersionSpec(eq=tool.version)), _schemas(tool))
    return page


def _schemas(tool: Tool) -> tuple[Any, Any]:
    return tool.parameters, tool.output_schema


def read_tool_result(result: Any) -> ResultView:  # Any: a ToolResult, or what an extension answers with
    if isinstance(result, InputRequiredToolResult):
        return read_result(result.input_required)  # the form that the client is sent
    if not isinstance(result, ToolResult):
        return read_result(result)
    structured = None if result.structured_content is None else text_of(result.structured_content)
    return ResultView(structured, is_error=result.is_error, size=size_of(structured, result.content))
