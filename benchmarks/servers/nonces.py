"""A server of either era that gives each caller's nonce back, in a large result or a late one too, or dies instead."""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any  # Any: JSON and ASGI's own shape

import uvicorn
import uvloop

from benchmarks import traffic

_LATE_SECONDS = 0.2
_LARGE_BYTES = 300_000
_NONCE = {"type": "object", "properties": {"nonce": {"type": "string"}}, "required": ["nonce"]}
TOOLS = ("echo", "large", "late", "lie", "die")  # `lie` breaks its output schema, `die` ends the process


def tools() -> list[dict[str, Any]]:
    closed = {**_NONCE, "additionalProperties": False}
    return [{"name": name, "description": name, "inputSchema": closed, "outputSchema": _NONCE} for name in TOOLS]


async def result_of(message: dict[str, Any], *, is_legacy: bool) -> dict[str, Any] | None:
    """None for a method that is not here."""
    method, params = message["method"], message.get("params", {})
    if method == "tools/call":
        return {**await call(params), "resultType": "complete"}
    if method == "tools/list":
        return {"tools": tools(), "resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
    if method == "server/discover" and not is_legacy:
        return {"supportedVersions": [traffic.REVISION], "capabilities": {"tools": {}}, "resultType": "complete"}
    if method == "initialize" and is_legacy:
        info = {"name": "nonces", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    return {} if method == "ping" else None


async def call(params: dict[str, Any]) -> dict[str, Any]:
    tool, nonce = params["name"], params["arguments"]["nonce"]
    if tool == "die":
        os._exit(3)
    if tool == "late":
        await asyncio.sleep(_LATE_SECONDS)
    text = "x" * _LARGE_BYTES if tool == "large" else tool
    structured = {"nonce": 1 if tool == "lie" else nonce}
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured}


async def answer(message: dict[str, Any], *, is_legacy: bool) -> bytes:
    """Empty for what wants no answer."""
    if "id" not in message or "method" not in message:
        return b""
    result = await result_of(message, is_legacy=is_legacy)
    outcome = {"error": {"code": -32601, "message": "Not here."}} if result is None else {"result": result}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}, separators=(",", ":")).encode()


class Http:
    """Streamable HTTP, with sessions in the legacy era."""

    def __init__(self, *, is_legacy: bool, is_streaming: bool) -> None:
        self._is_legacy = is_legacy
        self._is_streaming = is_streaming
        self._numbers = itertools.count(1)
        self._sessions: set[bytes] = set()

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        body = b""
        while (event := await receive()).get("more_body"):
            body += event["body"]
        status, headers, reply = 405, [], b""
        if scope["method"] == "DELETE":
            status = 200
        elif scope["method"] == "POST":
            status, headers, reply = await self._post(dict(scope["headers"]), json.loads(body + event["body"]))
        headers.append((b"content-length", b"%d" % len(reply)))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": reply})

    async def _post(
        self, given: dict[bytes, bytes], message: dict[str, Any]
    ) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        headers = []
        if message.get("method") == "initialize" and self._is_legacy:
            session = b"session-%d-%d" % (os.getpid(), next(self._numbers))
            self._sessions.add(session)
            headers.append((b"mcp-session-id", session))
        elif self._is_legacy and given.get(b"mcp-session-id") not in self._sessions:
            return 404, [], b""  # one of an earlier process
        reply = await answer(message, is_legacy=self._is_legacy)
        if not reply:
            return 202, [], b""
        if self._is_streaming:
            return 200, [*headers, (b"content-type", b"text/event-stream")], b"data: %b\n\n" % reply
        return 200, [*headers, (b"content-type", b"application/json")], reply


async def serve_stdio(*, is_legacy: bool) -> None:
    reader = asyncio.StreamReader(limit=2**22)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    under_way: set[asyncio.Task[None]] = set()

    async def reply(line: bytes) -> None:
        sys.stdout.buffer.write(await answer(json.loads(line), is_legacy=is_legacy) + b"\n")
        sys.stdout.buffer.flush()

    while line := await reader.readline():
        if b'"id"' in line:
            task = asyncio.create_task(reply(line))
            under_way.add(task)
            task.add_done_callback(under_way.discard)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, help="HTTP on this port; stdio without it")
    parser.add_argument("--legacy", action="store_true", help="a server that opens with a handshake")
    parser.add_argument("--sse", action="store_true", help="answer over HTTP with events")
    options = parser.parse_args()
    if options.port is None:
        with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
            uvloop.run(serve_stdio(is_legacy=options.legacy))
        return
    app = Http(is_legacy=options.legacy, is_streaming=options.sse)
    quiet: dict[str, Any] = {"lifespan": "off", "access_log": False, "log_level": "warning", "timeout_keep_alive": 75}
    uvicorn.run(app, host="127.0.0.1", port=options.port, loop="uvloop", http="httptools", **quiet)


if __name__ == "__main__":
    main()
