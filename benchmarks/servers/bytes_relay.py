"""The floor: the gateway's own HTTP edge and client, bytes in and bytes out; nothing read, judged or recorded."""

import argparse
import asyncio
import socket

import uvloop

from handfast.gateway.edge.http_listener import HttpListener
from handfast.gateway.http.client import HttpClient
from handfast.gateway.http.exchange import JSON, HttpExchange
from handfast.gateway.http.headers import UpstreamHeaders, to_client
from handfast.gateway.settings.blocks import Limits

_LIMIT = 64 * 1024 * 1024
_SECONDS = 60.0


class BytesRelay:
    def __init__(self, upstream: str) -> None:
        self._client = HttpClient(upstream)
        self._headers = UpstreamHeaders([])

    async def handle(self, http: HttpExchange) -> None:
        body = await http.read_body(_LIMIT)
        headers = [*self._headers.choose(http.headers, has_others=False), JSON]
        response = await self._client.request("POST", headers, body, response_timeout=_SECONDS)
        await http.respond(response.status, [JSON, *to_client(response.headers)], await response.read(_LIMIT))


async def serve(port: int, upstream: str) -> None:
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    await HttpListener(BytesRelay(upstream).handle, limits=Limits).start(listener)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", required=True)
    options = parser.parse_args()
    uvloop.run(serve(options.port, options.upstream))


if __name__ == "__main__":
    main()
