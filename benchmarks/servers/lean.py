"""An upstream that costs next to nothing, so that the gateway is what is measured: its answers are made up front."""

import argparse
import itertools
import json
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any  # Any: ASGI's own shape

import msgspec
import uvicorn

from benchmarks import traffic

_JSON = (b"content-type", b"application/json")
_EVENTS = (b"content-type", b"text/event-stream")


class _Params(msgspec.Struct):
    name: str = ""
    protocolVersion: str = ""  # noqa: N815 - the protocol's own name


class _Request(msgspec.Struct):
    method: str
    id: msgspec.Raw = msgspec.Raw()
    params: _Params | None = None


_decode = msgspec.json.Decoder(_Request).decode


def _result(tool: str) -> bytes:
    content = [{"type": "text", "text": traffic.summary(tool)}]
    result = {"content": content, "structuredContent": traffic.structured(tool), "resultType": "complete"}
    return json.dumps(result, separators=(",", ":")).encode()


_RESULTS = {tool: _result(tool) for tool in traffic.ROWS}
_LIST = json.dumps({"tools": traffic.tools(), "resultType": "complete"}).encode()
_DISCOVERY = json.dumps(
    {"supportedVersions": [traffic.REVISION], "capabilities": {"tools": {}}, "resultType": "complete"}
).encode()


def _opening(version: str) -> bytes:
    result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "lean", "version": "1"}}
    return json.dumps(result).encode()


class Lean:
    """A server of one era, which answers over HTTP with JSON or with a stream of one event."""

    def __init__(self, *, is_legacy: bool, is_streaming: bool) -> None:
        self._is_legacy = is_legacy
        self._is_streaming = is_streaming
        self._sessions = itertools.count(1)

    def answer(self, request: _Request) -> bytes:
        """Empty for a notification."""
        request_id = bytes(request.id)
        if not request_id:
            return b""
        result = self._result_of(request)
        if result is None:
            return b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32601,"message":"Not here."}}' % request_id
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, result)

    def _result_of(self, request: _Request) -> bytes | None:
        if request.method == "tools/call" and request.params is not None:
            return _RESULTS[request.params.name]
        if request.method == "tools/list":
            return _LIST
        if request.method == "server/discover" and not self._is_legacy:
            return _DISCOVERY
        if request.method == "initialize" and self._is_legacy and request.params is not None:
            return _opening(request.params.protocolVersion)
        return None

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        assert scope["type"] == "http"
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        if scope["method"] != "POST":  # it never speaks first, so there is nothing to listen to
            await _send(send, 405, [], b"")
            return
        request = _decode(body)
        reply = self.answer(request)
        headers = [_EVENTS if self._is_streaming else _JSON]
        if request.method == "initialize" and self._is_legacy:
            headers.append((b"mcp-session-id", b"session-%d" % next(self._sessions)))
        if not reply:
            await _send(send, 202, [], b"")
        elif self._is_streaming:
            await _send(send, 200, headers, b"event: message\ndata: %b\n\n" % reply)
        else:
            await _send(send, 200, [*headers, (b"content-length", b"%d" % len(reply))], reply)

    def serve_stdio(self) -> None:
        for line in sys.stdin.buffer:
            reply = self.answer(_decode(line))
            if reply:
                sys.stdout.buffer.write(reply + b"\n")
                sys.stdout.buffer.flush()


async def _send(
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    status: int,
    headers: list[tuple[bytes, bytes]],
    body: bytes,
) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, help="HTTP on this port; stdio without it")
    parser.add_argument("--legacy", action="store_true", help="a server that opens with a handshake")
    parser.add_argument("--sse", action="store_true", help="answer over HTTP with events")
    options = parser.parse_args()
    lean = Lean(is_legacy=options.legacy, is_streaming=options.sse)
    if options.port is None:
        lean.serve_stdio()
        return
    uvicorn.run(
        lean,
        host="127.0.0.1",
        port=options.port,
        loop="uvloop",
        http="httptools",
        lifespan="off",
        access_log=False,
        log_level="warning",
        timeout_keep_alive=75,
    )


if __name__ == "__main__":
    main()
