"""FastMCP's proxy, run by .parts/py: as its documentation starts one, or tuned as far as its settings go."""

import argparse
import asyncio
import ssl

from fastmcp import Client  # type: ignore[import-not-found]  # lives in .parts only
from fastmcp.client.transports import StreamableHttpTransport  # type: ignore[import-not-found]  # lives in .parts only
from fastmcp.server import create_proxy  # type: ignore[import-not-found]  # lives in .parts only

from benchmarks import traffic

_QUIET = {"access_log": False, "log_level": "warning", "timeout_keep_alive": 75}


async def as_shipped(upstream: str, port: int) -> None:
    proxy = create_proxy(upstream, name="bench")
    await proxy.run_http_async(show_banner=False, host="127.0.0.1", port=port, uvicorn_config=_QUIET)


async def tuned(upstream: str, port: int) -> None:
    """One connected session for all calls, one TLS context, JSON answers, no sessions of its own."""
    transport = StreamableHttpTransport(upstream, verify=ssl.create_default_context())
    async with Client(transport, mode=traffic.REVISION) as client:
        proxy = create_proxy(client, name="bench")
        await proxy.run_http_async(
            show_banner=False,
            host="127.0.0.1",
            port=port,
            uvicorn_config=_QUIET,
            json_response=True,
            stateless_http=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--tuned", action="store_true")
    options = parser.parse_args()
    asyncio.run((tuned if options.tuned else as_shipped)(options.upstream, options.port))


if __name__ == "__main__":
    main()
