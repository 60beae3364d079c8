"""The back office as a server: over stdio, or over HTTP with --http PORT."""

import argparse
import asyncio
import contextlib
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl

from backoffice.domain.catalogue import CATALOGUE
from backoffice.handlers.toolbox import build_toolbox
from backoffice.opening import opened
from backoffice.seed import seed
from backoffice.tokens import TokenFile, UnreadableTokens
from handfast.toolkit import Toolbox

_HOST = "127.0.0.1"
_DATABASE = Path(tempfile.gettempdir()) / "handfast-backoffice.db"


def read_command_line(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="server.py", description=__doc__)
    parser.add_argument("--db", type=Path, default=_DATABASE, help=f"where everything is kept (default: {_DATABASE})")
    parser.add_argument("--all", action="store_true", help="204 tools in 15 domains instead of 44 in 6")
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="serve http://127.0.0.1:PORT/mcp instead of stdio; 0 takes a free port"
    )
    parser.add_argument("--tokens", type=Path, help='who may call over HTTP: a JSON file {"token": "actor"}')
    parser.add_argument("--state", help="where calls are recorded (default: HANDFAST_STATE, or the platform's folder)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = read_command_line(arguments)
    with opened(options.db) as app:
        asyncio.run(seed(app))
        tools = build_toolbox(app, entities=CATALOGUE if options.all else ())
        if options.http is None:
            tools.run(state=options.state)
        else:
            serve_http(tools, options)


def serve_http(tools: Toolbox, options: argparse.Namespace) -> None:
    try:
        known = None if options.tokens is None else TokenFile(options.tokens)
        listener = socket.create_server((_HOST, options.http))
    except (OSError, UnreadableTokens) as problem:
        sys.exit(f"backoffice: {problem}")
    address = f"http://{_HOST}:{listener.getsockname()[1]}"
    # The SDK wants to know who gave out the tokens; here it was the operator, by hand.
    auth = None if known is None else AuthSettings(issuer_url=AnyHttpUrl(address), resource_server_url=None)
    app = tools.asgi(state=options.state, token_verifier=known, auth=auth)
    print(f"The back office is at {address}/mcp. Ctrl-C stops it.", flush=True)
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it anew once it has ended in good order
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
