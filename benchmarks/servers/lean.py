"""An upstream that costs next to nothing, so that the gateway is what is measured: raw ASGI, answers made up front."""

import argparse
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any  # Any: ASGI's own shape

import msgspec
import uvicorn

from benchmarks import traffic

_JSON = (b"content-type", b"application/json")


class _Params(msgspec.Struct):
    name: str = ""


class _Request(msgspec.Struct):
    method: str
    id: msgspec.Raw = msgspec.Raw(b"null")
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


def answer(body: bytes) -> bytes:
    request = _decode(body)
    if request.method == "tools/call" and request.params is not None:
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (bytes(request.id), _RESULTS[request.params.name])
    if request.method == "tools/list":
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (bytes(request.id), _LIST)
    if request.method == "server/discover":
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (bytes(request.id), _DISCOVERY)
    return b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32601,"message":"Not here."}}' % bytes(request.id)


async def app(
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
    reply = answer(body)
    headers = [_JSON, (b"content-length", b"%d" % len(reply))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": reply})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=parser.parse_args().port,
        loop="uvloop",
        http="httptools",
        lifespan="off",
        access_log=False,
        log_level="warning",
        timeout_keep_alive=75,
    )


if __name__ == "__main__":
    main()
