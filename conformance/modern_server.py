"""The suite's server as one of 2026-07-28 alone: no initialize, no GET, no DELETE, questions in results."""

import json
from typing import Any

from mcp.server.runner import _serve_modern_stream
from mcp_everything_server.server import mcp  # type: ignore[import-not-found]  # installed in .parts only
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    MODERN_PROTOCOL_VERSIONS,
)

from conformance.era_launch import Asgi, launch
from conformance.modern_questions import ask_in_results

_SUPPORTED = list(MODERN_PROTOCOL_VERSIONS)
_HEADER_MISMATCH, _UNSUPPORTED_VERSION = -32020, -32022


class ModernOnly:
    """Refuses what a client of 2025 sends before the SDK would serve it.

    By "Server Validation" and "Backward Compatibility" of 2026-07-28: POST alone, and a version header that is one
    of this era; the refusal names the versions served, for a legacy client has nothing else to show its user.
    """

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # Any: what ASGI passes on
        if scope["type"] != "http" or scope["path"] != "/mcp":
            await self._app(scope, receive, send)
            return
        version = next((value.decode() for name, value in scope["headers"] if name == b"mcp-protocol-version"), None)
        if scope["method"] != "POST":
            await _respond(send, 405, b"", [(b"allow", b"POST")])
        elif version is None or version in HANDSHAKE_PROTOCOL_VERSIONS:
            body = _refusal(await _read(receive), version)
            await _respond(send, 400, body, [(b"content-type", b"application/json")])
        else:
            await self._app(scope, receive, send)


def _refusal(body: bytes, version: str | None) -> bytes:
    served = ", ".join(_SUPPORTED)
    error: dict[str, object] = {
        "code": _HEADER_MISMATCH,
        "message": f"The MCP-Protocol-Version header is missing; this server speaks {served}",
        "data": {"supported": _SUPPORTED},
    }
    if version is not None:
        data = {"supported": _SUPPORTED, "requested": version}
        error = {"code": _UNSUPPORTED_VERSION, "message": f"This server speaks {served}", "data": data}
    try:
        request_id = json.loads(body).get("id")
    except (ValueError, AttributeError):
        request_id = None
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()


async def _read(receive: Any) -> bytes:  # Any: what ASGI passes on
    parts = []
    more = True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


async def _respond(send: Any, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:  # Any: ASGI's
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def _serve_streams(read: Any, write: Any, state: Any) -> None:  # Any: the SDK's own types
    # Private, but the one way: in public the SDK serves the era that the client's first request is of.
    await _serve_modern_stream(mcp._lowlevel_server, read, write, lifespan_state=state, raise_exceptions=False)


if __name__ == "__main__":
    ask_in_results(mcp)
    launch(ModernOnly, _serve_streams)
