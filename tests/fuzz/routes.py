"""Where a case can run: every way to a server, for clients of both eras."""

import json
from dataclasses import dataclass
from typing import Literal

from tests.contracts.rig import MODERN_META
from tests.fuzz.promises import GOOD_ARGUMENTS, Json

META_TEXT = json.dumps(MODERN_META, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Server:
    """A server of the stage. `surface` compact has a dispatcher of the server's own name in front."""

    name: str
    transport: Literal["stdio", "http"]
    is_modern: bool
    is_compact: bool = False
    is_wrapped: bool = False  # behind a wrapper of its own, not behind the gateway
    is_strict: bool = True  # else in warn: what breaks a schema passes, and is on record


SERVERS = (
    Server("sl", "stdio", is_modern=False),
    Server("sm", "stdio", is_modern=True),
    Server("hl", "http", is_modern=False),
    Server("hm", "http", is_modern=True),
    Server("cs", "stdio", is_modern=False, is_compact=True),
    Server("ch", "http", is_modern=True, is_compact=True),
    Server("nl", "stdio", is_modern=False, is_strict=False),
    Server("nm", "http", is_modern=True, is_strict=False),
    Server("wl", "stdio", is_modern=False, is_wrapped=True),
    Server("wm", "stdio", is_modern=True, is_wrapped=True),
    Server("wb", "stdio", is_modern=True, is_wrapped=True),
    Server("wu", "http", is_modern=False, is_wrapped=True),
)
BY_NAME = {server.name: server for server in SERVERS}


@dataclass(frozen=True, slots=True)
class Route:
    """A client of one era at one place. A `path` that is empty is a wrapper's line."""

    name: str
    server: Server
    is_modern: bool
    path: str = ""
    prefix: str = ""

    @property
    def is_line(self) -> bool:
        return not self.path

    @property
    def is_direct(self) -> bool:
        """Whether bytes are relayed as they come, and not translated."""
        fits = self.is_modern == self.server.is_modern
        return fits and not self.server.is_compact and not self.prefix and self.name != "wrap/wu/legacy"

    def call_name(self, tool: str) -> str:
        return self.prefix + (self.server.name if self.server.is_compact else tool)

    def call_arguments(self, tool: str, arguments: str) -> str:
        return f'{{"action":"{tool}","arguments":{arguments}}}' if self.server.is_compact else arguments

    def call(self, tool: str, request_id: str, arguments: str | None = None) -> str:
        """The text of a plain call."""
        meta = f',"_meta":{META_TEXT}' if self.is_modern else ""
        given = self.call_arguments(tool, GOOD_ARGUMENTS[tool] if arguments is None else arguments)
        params = f'{{"name":"{self.call_name(tool)}","arguments":{given}{meta}}}'
        return f'{{"jsonrpc":"2.0","id":{request_id},"method":"tools/call","params":{params}}}'


def _routes() -> tuple[Route, ...]:
    found: list[Route] = []
    for server in SERVERS:
        if server.is_wrapped:
            continue
        for is_modern in (False, True):
            era = "modern" if is_modern else "legacy"
            found.append(Route(f"mcp/{server.name}/{era}", server, is_modern, f"/mcp/{server.name}"))
            found.append(Route(f"all/{server.name}/{era}", server, is_modern, "/mcp", f"{server.name}__"))
    found.append(Route("wrap/wl/legacy", BY_NAME["wl"], is_modern=False))
    found.append(Route("wrap/wm/modern", BY_NAME["wm"], is_modern=True))
    found.append(Route("wrap/wb/legacy", BY_NAME["wb"], is_modern=False))
    found.append(Route("wrap/wu/legacy", BY_NAME["wu"], is_modern=False))
    return tuple(found)


ROUTES = _routes()


def initialize(request_id: str) -> bytes:
    params: Json = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "fuzz", "version": "1"},
    }
    text = json.dumps(params, separators=(",", ":"))
    return f'{{"jsonrpc":"2.0","id":{request_id},"method":"initialize","params":{text}}}'.encode()


INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
