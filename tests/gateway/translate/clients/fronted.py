"""The fronts behind the gateway's own app, on a real socket: `/mcp/legacy`, `/mcp/modern`, and `/mcp/both`.

with fronted(ScriptedServer(), tmp_path) as running:
    client = running.client("legacy", capabilities={"roots": {}})
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from handfast.core.call.caller import Caller
from handfast.gateway.admission.draining import Drain
from handfast.gateway.app import GatewayApp
from handfast.gateway.edge.http_listener import HttpListener
from handfast.gateway.http.exchange import HttpExchange
from handfast.gateway.runtime import Runtime
from handfast.gateway.servers import Servers
from handfast.gateway.serving import address_of, bind
from handfast.gateway.settings import load_settings
from handfast.gateway.settings.blocks import Limits
from handfast.gateway.translate.backend import Backend
from handfast.gateway.translate.clients.legacy_http import LegacyFront
from handfast.gateway.translate.clients.modern_http import ModernFront
from handfast.wire.eras import says_modern
from handfast.wire.message import Message
from tests.contracts.rig import MODERN_META, HttpGateway
from tests.gateway.translate.clients.scripted import Json, ScriptedServer

MODERN = {"MCP-Protocol-Version": "2026-07-28"}
JSON_AND_EVENTS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Both:
    """A client of either era at one address: what it sends decides."""

    def __init__(self, legacy: LegacyFront, modern: ModernFront) -> None:
        self._legacy = legacy
        self._modern = modern

    async def post(self, http: HttpExchange, message: Message) -> None:
        await (self._modern if says_modern(message) else self._legacy).post(http, message)

    async def get(self, http: HttpExchange) -> None:
        await self._legacy.get(http)

    async def delete(self, http: HttpExchange) -> None:
        await self._legacy.delete(http)


@dataclass(slots=True)
class Fronted:
    base: str
    scripted: ScriptedServer | None = None
    fronts: tuple[LegacyFront, ModernFront] | None = None
    state: Path = Path()
    loop: asyncio.AbstractEventLoop | None = None

    @property
    def server(self) -> ScriptedServer:
        assert self.scripted is not None
        return self.scripted

    @property
    def legacy(self) -> LegacyFront:
        assert self.fronts is not None
        return self.fronts[0]

    @property
    def modern(self) -> ModernFront:
        assert self.fronts is not None
        return self.fronts[1]

    def client(self, front: str, *, capabilities: Json = None) -> HttpGateway:
        client = HttpGateway(self.base, Path(), server=front, is_modern=front == "modern")
        client.open(capabilities)
        return client

    def on_loop(self, work: "Json") -> None:
        assert self.loop is not None
        self.loop.call_soon_threadsafe(work)


class _Found:
    """What GatewayApp asks of Servers."""

    def __init__(self, fronts: dict[str, object]) -> None:
        self._fronts = fronts

    def find(self, name: str, identity: object = None) -> object:
        return self._fronts[name]


@contextmanager
def fronted(
    server: ScriptedServer | Json,
    folder: Path,
    *,
    limits: Limits | None = None,
    most_sessions: int = 1000,
) -> Iterator[Fronted]:
    """`server` is a scripted one, or the settings entry of a real one."""
    config = folder / "handfast.json"
    is_scripted = isinstance(server, ScriptedServer)
    config.write_text(json.dumps({"mcpServers": {} if is_scripted else {"up": server}, "listen": "127.0.0.1:0"}))
    settings = load_settings(config, environ={})
    listener = bind(settings)
    running = Fronted(address_of(listener), server if is_scripted else None, state=folder / "state")
    ready, stop = threading.Event(), asyncio.Event()

    async def serve() -> None:
        runtime = Runtime(settings, running.state)
        upstreams = Servers(runtime)
        backend: Backend = server if is_scripted else upstreams.backends()["up"]
        legacy = LegacyFront(
            backend,
            runtime.journal,
            "legacy",
            limits=lambda: limits or settings.limits,
            most_sessions=most_sessions,
        )
        diagnose = partial(runtime.journal.diagnose, "modern")
        modern = ModernFront(backend, diagnose=diagnose)
        running.fronts = legacy, modern
        fronts = {"legacy": legacy, "modern": modern, "both": Both(legacy, modern)}
        app = GatewayApp(runtime, _Found(fronts), Drain())  # type: ignore[arg-type]  # finding is all that is asked of it

        async def authenticated(http: HttpExchange) -> None:
            http.caller = Caller(actor=(http.header(b"x-actor") or b"").decode(), peer=http.caller.peer)
            await app.handle(http)

        clients = HttpListener(authenticated, limits=lambda: settings.limits)
        running.loop = asyncio.get_running_loop()
        await clients.start(listener)
        ready.set()
        await stop.wait()
        modern.quiesce()
        legacy.quiesce()
        await legacy.close()
        await modern.close()
        await clients.close(2)
        await upstreams.close()
        await runtime.close()
        left = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
        assert left == [], left

    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as failure:  # noqa: BLE001 - given to the test below
            failures.append(failure)
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait(10)
    try:
        yield running
    finally:
        assert running.loop is not None
        running.loop.call_soon_threadsafe(stop.set)
        thread.join(30)
    assert failures == []


def modern_request(client_id: object, method: str, params: Json = None) -> bytes:
    whole = {**(params or {}), "_meta": MODERN_META}
    return json.dumps({"jsonrpc": "2.0", "id": client_id, "method": method, "params": whole}).encode()
