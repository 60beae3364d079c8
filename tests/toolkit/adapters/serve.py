"""Serve a server bare or under the contract: `python -m tests.toolkit.adapters.serve high bare|contract [PORT]`.

`alchemy` and `docx` are servers from PyPI, started by their own main functions: the contract is one line before.
"""

import sys
from collections.abc import Callable
from typing import Any

import anyio


def main(which: str, how: str, port: str = "") -> None:
    server, run = KINDS[which]()
    if how == "contract":
        from handfast.toolkit import under_contract

        under_contract(server)
    run(port)


Served = tuple[Any, Callable[[str], None]]  # Any: a server object of one framework or another


def high() -> Served:
    from tests.toolkit.adapters.faulty_sdk import high

    server = high()

    def run(port: str) -> None:
        if port:
            server.run("streamable-http", port=int(port))
        else:
            server.run()

    return server, run


def low() -> Served:
    import uvicorn
    from mcp.server.stdio import stdio_server

    from tests.toolkit.adapters.faulty_sdk import low

    server = low()

    async def over_stdio() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    def run(port: str) -> None:
        if port:
            uvicorn.run(server.streamable_http_app(), port=int(port), log_level="warning")
        else:
            anyio.run(over_stdio)

    return server, run


def fast() -> Served:
    from tests.toolkit.adapters.faulty_fastmcp import fast

    server = fast()

    def run(port: str) -> None:
        if port:
            server.run("http", port=int(port), show_banner=False)
        else:
            server.run(show_banner=False)

    return server, run


def alchemy() -> Served:
    from mcp_alchemy.server import main, mcp  # type: ignore[import-not-found]  # it is in .parts only

    return mcp, lambda port: _with_arguments(main, port)


def docx() -> Served:
    from final_complete_server import main, mcp  # type: ignore[import-not-found]  # what docx-mcp calls its module

    return mcp, lambda port: _with_arguments(main, port)


def _with_arguments(main: Callable[[], None], port: str) -> None:
    sys.argv[1:] = ["--transport", "streamable-http", "--port", port] if port else []
    main()


KINDS: dict[str, Callable[[], Served]] = {"high": high, "low": low, "fast": fast, "alchemy": alchemy, "docx": docx}


if __name__ == "__main__":
    main(*sys.argv[1:])
