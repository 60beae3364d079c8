"""The floor: uvicorn and the gateway's own HTTP client, bytes in and bytes out; nothing read, judged or recorded."""

import argparse
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any  # Any: ASGI's own shape

import uvicorn

from handfast.gateway.http_client import HttpClient
from handfast.gateway.http_exchange import JSON, HttpExchange
from handfast.gateway.http_headers import UpstreamHeaders, to_client

_LIMIT = 64 * 1024 * 1024
_SECONDS = 60.0


class BytesRelay:
    def __init__(self, upstream: str) -> None:
        self._client = HttpClient(upstream)
        self._headers = UpstreamHeaders([])

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        assert scope["type"] == "http"
        http = HttpExchange(scope, receive, send)
        body = await http.read_body(_LIMIT)
        headers = [*self._headers.choose(http.headers, has_others=False), JSON]
        response = await self._client.request("POST", headers, body, response_timeout=_SECONDS)
        await http.respond(response.status, [JSON, *to_client(response.headers)], await response.read(_LIMIT))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", required=True)
    options = parser.parse_args()
    uvicorn.run(
        BytesRelay(options.upstream),
        host="127.0.0.1",
        port=options.port,
        loop="uvloop",
        http="httptools",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=75,
    )


if __name__ == "__main__":
    main()
