"""Backends of real gateways' upstreams, asked in the modern form without a front before them."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Literal, get_args

from handfast.core.call.caller import Caller
from handfast.gateway.runtime import Runtime
from handfast.gateway.servers import Servers
from handfast.gateway.settings import load_settings
from handfast.gateway.translate.backend import Backend, Requester
from handfast.wire.message import read_message
from tests.stubs.run import Stub, serving

Json = Any  # Any: decoded JSON
Way = Literal["stdio", "http-json", "http-sse", "sse"]
WAYS: tuple[Way, ...] = get_args(Way)
PIPED = ("stdio", "sse")  # one line that callers may share
PREFIX = "io.modelcontextprotocol/"
LEGACY = ["2025-06-18", "2025-11-25"]
MODERN = ["2026-07-28"]


@dataclass
class Asker:
    """One caller of a backend; `heard` is what came before the answers.

    It is a session, or with a `peer` whatever client calls itself so at that address.
    """

    backend: Backend
    caller: str = ""
    capabilities: Json = field(default_factory=dict)
    heard: list[Json] = field(default_factory=list)
    peer: str = ""
    _ids: Iterator[int] = field(default_factory=lambda: count(1))

    async def ask(self, method: str, params: Json = None, *, meta: Json = None) -> Json:
        envelope = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": self.capabilities}
        whole = {**(params or {}), "_meta": envelope | (meta or {})}
        raw = json.dumps({"jsonrpc": "2.0", "id": f"{self.caller}{next(self._ids)}", "method": method, "params": whole})
        caller = Caller(peer=self.peer, client=self.caller.encode()) if self.peer else Caller(session=self.caller)
        origin = Requester(caller, lambda text: self.heard.append(json.loads(text)))
        return json.loads((await self.backend.request(read_message(raw.encode()), origin)).raw)

    async def call(self, tool: str, arguments: Json = None, *, meta: Json = None, **more: Json) -> Json:
        return await self.ask("tools/call", {"name": tool, "arguments": arguments or {}, **more}, meta=meta)


def asking(entry: Json, folder: Path, work: Callable[[Backend], Awaitable[None]], settings: Json = None) -> None:
    """Do the work with the backend of one server, and see that nothing is left of it."""

    async def run() -> None:
        before = asyncio.all_tasks()
        config = folder / "handfast.json"
        config.write_text(json.dumps({"mcpServers": {"up": entry}, **(settings or {})}))
        runtime = Runtime(load_settings(config, environ={}), folder / "state")
        upstreams = Servers(runtime)
        try:
            await work(upstreams.backends()["up"])
        finally:
            await upstreams.close()
            await runtime.close()
        assert asyncio.all_tasks() == before

    asyncio.run(run())


@contextmanager
def entry_for(stub: Stub, way: Way) -> Iterator[Json]:
    """The settings entry of a stub, which over HTTP is started."""
    if way == "stdio":
        yield {"command": stub.command[0], "args": stub.command[1:]}
        return
    with serving(stub, way) as url:
        yield {"url": url, "type": "sse"} if way == "sse" else {"url": url}
