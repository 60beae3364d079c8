"""The official SDK's own server behind its ASGI app, asked the same requests: what ours is compared with."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS

Json = dict[str, Any]  # Any: JSON
ECHO: Json = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@dataclass(frozen=True, slots=True)
class HttpRequest:
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class Answered:
    """How a request was answered, as far as two servers can be compared."""

    status: int
    code: int | None = None  # of the JSON-RPC error; None: there was none, or no JSON-RPC at all
    keys: tuple[str, ...] = ()  # of the result

    @classmethod
    def of(cls, status: int, body: bytes) -> "Answered":
        try:
            message = json.loads(body)
        except ValueError:
            return cls(status)
        if not isinstance(message, dict):
            return cls(status)
        keys = sorted(message["result"]) if isinstance(message.get("result"), dict) else []
        return cls(status, message.get("error", {}).get("code"), tuple(keys))


async def _list_tools(_context: Any, _params: Any) -> Any:
    return {"tools": [{"name": "echo", "description": "Echo.", "inputSchema": ECHO}], "resultType": "complete"}


async def _call_tool(_context: Any, params: Any) -> Any:
    if params.name == "crash":
        raise RuntimeError("a secret")
    if params.name != "echo":
        raise MCPError(INVALID_PARAMS, "Unknown tool")
    text = json.dumps(params.arguments)
    result = {"content": [{"type": "text", "text": text}], "structuredContent": params.arguments or {}}
    return {**result, "isError": False, "resultType": "complete"}


def ask_official(requests: Sequence[HttpRequest]) -> list[Answered]:
    """Without sessions and with JSON answers, as ours."""
    hints: dict[CacheableMethod, CacheHint] = {"tools/list": CacheHint(ttl_ms=1, scope="private")}
    server: Server[Any] = Server("official", on_list_tools=_list_tools, on_call_tool=_call_tool, cache_hints=hints)
    app = server.streamable_http_app(stateless_http=True, json_response=True)

    async def ask_all() -> list[Answered]:
        async with server.session_manager.run():
            return [await _ask(app, request) for request in requests]

    return asyncio.run(ask_all())


async def _ask(app: Any, request: HttpRequest) -> Answered:  # Any: an ASGI app
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in request.headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("testserver", 80),
    }
    events = [{"type": "http.request", "body": request.body, "more_body": False}]
    sent: list[Json] = []

    async def receive() -> Json:
        return events.pop() if events else await asyncio.Event().wait()  # type: ignore[return-value]  # never

    async def send(event: Json) -> None:
        sent.append(event)

    await app(scope, receive, send)
    return Answered.of(int(sent[0]["status"]), b"".join(event.get("body", b"") for event in sent[1:]))
