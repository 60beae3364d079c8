"""An upstream with sessions that takes its time, over HTTP or stdio: many calls are in progress and nothing is busy."""

import argparse
import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any  # Any: JSON and ASGI's own shape

import uvicorn
import uvloop

from benchmarks import traffic

_TOOL = traffic.JUDGED
_CONTENT = [{"type": "text", "text": traffic.summary(_TOOL)}]
_RESULT = {"content": _CONTENT, "structuredContent": traffic.structured(_TOOL)}
_LIST = {"tools": traffic.tools()}


def result_of(message: dict[str, Any]) -> dict[str, Any]:
    """What a legacy server answers."""
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "p", "version": "1"}}
    return _RESULT if message["method"] == "tools/call" else _LIST


def render(message: dict[str, Any]) -> bytes:
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": result_of(message)}
    return json.dumps(answer, separators=(",", ":")).encode()


class Http:
    """Streamable HTTP with JSON answers, sessions, and a stream for whoever listens."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._numbers = itertools.count(1)

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        if scope["method"] == "GET":
            await self._listen(receive, send)
            return
        body = b""
        while (event := await receive()).get("more_body"):
            body += event["body"]
        message = json.loads(body + event["body"])
        headers = [(b"content-type", b"application/json")]
        if message.get("method") == "initialize":
            headers.append((b"mcp-session-id", b"session-%d" % next(self._numbers)))
        elif message.get("method") == "tools/call":
            await asyncio.sleep(self._seconds)
        reply = render(message) if "id" in message else b""
        headers.append((b"content-length", b"%d" % len(reply)))
        await send({"type": "http.response.start", "status": 200 if reply else 202, "headers": headers})
        await send({"type": "http.response.body", "body": reply})

    async def _listen(
        self,
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b": listening\n\n", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass


async def serve_stdio(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    def answer(message: dict[str, Any]) -> None:
        sys.stdout.buffer.write(render(message) + b"\n")
        sys.stdout.buffer.flush()

    while line := await reader.readline():
        message = json.loads(line)
        if "id" in message:
            loop.call_later(seconds if message.get("method") == "tools/call" else 0, answer, message)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, help="HTTP on this port; stdio without it")
    parser.add_argument("--seconds", type=float, default=0.25, help="how long a call takes")
    options = parser.parse_args()
    if options.port is None:
        with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
            uvloop.run(serve_stdio(options.seconds))
        return
    app = Http(options.seconds)
    quiet: dict[str, Any] = {"lifespan": "off", "access_log": False, "log_level": "warning", "timeout_keep_alive": 75}
    uvicorn.run(app, host="127.0.0.1", port=options.port, loop="uvloop", http="httptools", **quiet)


if __name__ == "__main__":
    main()
