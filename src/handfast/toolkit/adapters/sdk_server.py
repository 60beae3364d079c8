"""The adapter for servers of the official SDK, high-level and low-level: a middleware that also asks for lists."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.session import ServerSession
from mcp.types import SERVER_INFO_META_KEY, Implementation, ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from handfast.toolkit.adapters.judging import FrameworkCall, Judge, RefusalText
from handfast.toolkit.adapters.listed_tools import Page
from handfast.toolkit.adapters.result_views import read_result, text_of, wire_form
from handfast.toolkit.writing.actor import actor_of_request, label_of

MOST_PAGES = 200  # so that a list that never ends cannot hold a call forever

AnyServer = MCPServer[Any] | Server[Any]  # Any: whatever its lifespan gives
Context = ServerRequestContext[Any, Any]  # Any: as above, and what the transport gives


def attach_contract(server: AnyServer, judge: Judge) -> None:
    """Puts the judge around every call, inside the SDK's own middlewares and outside those of the author."""
    own = (type(middleware).__module__.startswith("mcp.") for middleware in server.middleware)
    place = next((index for index, is_own in enumerate(own) if not is_own), len(server.middleware))
    server.middleware.insert(place, SdkContractMiddleware(server, judge))
    lowlevel = server if isinstance(server, Server) else getattr(server, "_lowlevel_server", None)
    if lowlevel is not None:
        lowlevel.lifespan = judge.during(lowlevel.lifespan)


class SdkContractMiddleware:
    """Judges the wire form of each tools/call and of its result, and learns from each tools/list."""

    def __init__(self, server: AnyServer, judge: Judge) -> None:
        self._server = server
        self._judge = judge

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        hear(ctx.session, self._judge.tools.forget)
        if ctx.request_id is not None and ctx.method == "tools/list":
            return await self._list(ctx, call_next)
        tool = (ctx.params or {}).get("name")
        if ctx.request_id is None or ctx.method != "tools/call" or not isinstance(tool, str):
            return await call_next(ctx)
        return await self._call(tool, ctx, call_next)

    async def _call(self, tool: str, context: Context, call_next: CallNext) -> HandlerResult:
        params = context.params or {}
        asked = FrameworkCall(
            tool=tool,
            arguments=text_of(params["arguments"]) if "arguments" in params else None,
            view=view_of(context),
            actor=label_of(actor_of_request(context)),
        )
        answer = await self._judge.run(
            asked,
            learn=partial(self._learn, context, call_next),
            forward=partial(call_next, context),
            read=read_result,
        )
        return self._refusal(context, answer.text) if isinstance(answer, RefusalText) else answer

    async def _list(self, context: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(context)
        page = wire_form(result)
        is_whole = "cursor" not in (context.params or {}) and page.get("nextCursor") is None
        self._judge.tools.learn(view_of(context), page_of(page), is_whole=is_whole)
        return result

    async def _learn(self, context: Context, call_next: CallNext) -> None:
        """Asks the server for every page of its list as the client would."""
        meta = {key: value for key, value in ((context.params or {}).get("_meta") or {}).items() if key in _ENVELOPE}
        listed: dict[str, Any] = {}  # Any: as in Page
        cursor: dict[str, str] = {}
        for _ in range(MOST_PAGES):
            params = {"_meta": meta, **cursor} if meta else cursor
            page = wire_form(await call_next(replace(context, method="tools/list", params=params, meta=None)))
            listed |= page_of(page)
            following = page.get("nextCursor")
            if following is None:
                self._judge.tools.learn(view_of(context), listed)
                return
            cursor = {"cursor": following}

    def _refusal(self, context: Context, text: str) -> dict[str, Any]:
        """A refused call's result, with the envelope that the SDK adds to results of its handlers."""
        result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            result |= {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: self._name_card()}}
        return result

    def _name_card(self) -> dict[str, Any]:
        server = self._server
        card = Implementation(
            name=server.name,
            version=server.version,
            title=server.title,
            description=server.description,
            website_url=server.website_url,
            icons=server.icons,
        )
        return card.model_dump(by_alias=True, mode="json", exclude_none=True)


# The parts of a call's metadata that identify client and revision; a progress token belongs to the call alone.
_ENVELOPE = frozenset(
    f"io.modelcontextprotocol/{name}" for name in ("protocolVersion", "clientCapabilities", "clientInfo")
)


class HeardSession(ServerSession):
    """A session that calls back when the server notifies that its tools changed."""

    ears: set[Callable[[], None]]

    async def send_notification(self, notification: Any, related_request_id: Any = None) -> None:  # Any: passed on
        if isinstance(notification, ToolListChangedNotification):
            for ear in self.ears:
                ear()
        await super().send_notification(notification, related_request_id)


def hear(session: ServerSession, forget: Callable[[], None]) -> None:
    """Makes the request's session report tool changes; the SDK has no hook for outgoing notifications."""
    if type(session) is ServerSession:
        # Not a method set on the object: that would be a reference cycle, and each call's whole context would wait for
        # the garbage collector.
        session.__class__ = HeardSession
        session.ears = set()  # type: ignore[attr-defined]  # it is one now
    if isinstance(session, HeardSession):
        session.ears.add(forget)


def view_of(context: Any) -> str:  # Any: a request context of the SDK, or FastMCP's own
    """A key for what a list may depend on: the revision, which leaves members out, and the authorization."""
    request = context.request
    user = None if request is None else request.scope.get("user")
    token = getattr(getattr(user, "access_token", None), "token", None)
    return f"{context.protocol_version} {'' if token is None else sha256(str(token).encode()).hexdigest()}"


def page_of(result: Mapping[str, Any]) -> Page:  # Any: JSON
    return {tool["name"]: (tool.get("inputSchema"), tool.get("outputSchema")) for tool in result.get("tools") or ()}
