"""A session belongs to whoever opened it, on every way; and no address takes the sessions of another."""

import asyncio
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from handfast.core.call.caller import Caller
from handfast.gateway.admission.draining import Drain
from handfast.gateway.app import GatewayApp
from handfast.gateway.edge.connection_owner import Patience
from handfast.gateway.edge.http_listener import HttpListener
from handfast.gateway.http.exchange import HttpExchange
from handfast.gateway.runtime import Runtime
from handfast.gateway.servers import Servers
from handfast.gateway.serving import address_of, bind
from handfast.gateway.settings import load_settings
from tests.contracts.rig import HttpGateway, Json
from tests.gateway.running import TEXT, Response, call, one_record, read_records, send, stdio
from tests.stubs.run import Stub, answer, serving, tool, write_stub

UNKNOWN = {
    "code": -32600,
    "message": "This session is not known or has ended. Send initialize to begin a new one.",
}
ANSWERS = {"add": answer(TEXT), "busy": answer(TEXT, "progress:2:0.01")}


class Naming:
    """Stands where authentication will: it says who calls."""

    def __init__(self, app: GatewayApp) -> None:
        self._app = app

    async def handle(self, http: HttpExchange) -> None:
        http.caller = Caller(actor=(http.header(b"x-caller") or b"").decode(), peer=http.caller.peer)
        await self._app.handle(http)


class NamedClient(HttpGateway):
    """A client that is known by a name."""

    name = ""

    def headers(self, message: bytes) -> dict[str, str]:
        return {**super().headers(message), "X-Caller": self.name}

    def listening_headers(self) -> dict[str, str]:
        return {**super().listening_headers(), "X-Caller": self.name}

    def status(self, method: str, session: str | None, **more: str) -> Response:
        headers = {"X-Caller": self.name, "Mcp-Session-Id": session or "", **more}
        return send(self.base, method, self.path, headers=headers)


class Rig(NamedTuple):
    base: str
    state: Path
    stub: Stub | None = None

    def caller(self, name: str, server: str, *, capabilities: Json = None, opens: bool = True) -> NamedClient:
        caller = NamedClient(self.base, self.state, server=server, is_modern=False)
        if server == EVERY:
            caller.path = "/mcp"
        caller.name = name
        if opens:
            caller.open(capabilities)
        return caller


@contextmanager
def naming(settings: Path, state: Path, *, patience: Patience | None = None, tick: float = 1.0) -> Iterator[str]:
    """A gateway that believes the header X-Caller, for the length of the block."""
    base: list[str] = []
    started, stop = threading.Event(), threading.Event()

    async def work() -> None:
        loaded = load_settings(settings, environ={}, flags={"listen": "127.0.0.1:0"})
        runtime, listener = Runtime(loaded, state), bind(loaded)
        upstreams = Servers(runtime)
        naming = Naming(GatewayApp(runtime, upstreams, Drain()))
        clients = HttpListener(naming.handle, limits=lambda: loaded.limits, patience=patience, tick=tick)
        await clients.start(listener)
        base.append(address_of(listener))
        started.set()
        await asyncio.to_thread(stop.wait)
        upstreams.quiesce()
        await upstreams.close()
        await clients.close(2)
        await runtime.close()

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    try:
        assert started.wait(30)
        yield base[0]
    finally:
        stop.set()
        thread.join(30)


@pytest.fixture
def few_sessions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Rig]:
    """A rig with room for four sessions on each way."""
    monkeypatch.setattr("handfast.gateway.relay.child_sessions.RELAYED_SESSIONS", 4)
    monkeypatch.setattr("handfast.gateway.relay.server_sessions.RELAYED_SESSIONS", 4)
    monkeypatch.setattr("handfast.gateway.build.TRANSLATED_SESSIONS", 4)
    with serving_ways(tmp_path) as found:
        yield found


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with serving_ways(tmp_path) as found:
        yield found


@contextmanager
def serving_ways(tmp_path: Path) -> Iterator[Rig]:
    stub = write_stub(tmp_path, tools=[tool(name) for name in ANSWERS], answers=ANSWERS)
    config = tmp_path / "handfast.json"
    with serving(stub, "http-sse") as url:
        compact = {"url": url, "handfast": {"surface": "compact"}}
        servers = {"stdio": stdio(stub), "http": {"url": url}, "compact": compact}
        config.write_text(json.dumps({"mcpServers": servers}))
        with naming(config, tmp_path / "state") as base:
            yield Rig(base, tmp_path / "state", stub)


SERVERS = pytest.mark.parametrize("server", ["stdio", "http"])
EVERY = ""  # all servers at /mcp
# Relayed to a process and over HTTP, translated for one server, and for all of them.
WAYS = pytest.mark.parametrize("server", ["stdio", "http", "compact", EVERY])


@pytest.mark.requirement("P1")
@SERVERS
@pytest.mark.parametrize("capabilities", [None, {"roots": {}}], ids=["no capabilities", "capabilities"])
def test_nobody_else_can_use_a_session(rig: Rig, server: str, capabilities: Json) -> None:
    ada, eve = (rig.caller(name, server, capabilities=capabilities) for name in ("ada", "eve"))
    nobody = rig.caller("", server, opens=False)
    for thief in (eve, nobody):
        own, thief.session = thief.session, ada.session
        refused = [thief.request("ping"), thief.post(call(7, "add"))]
        assert [(one.status, one.message["error"]) for one in refused] == [(404, UNKNOWN)] * 2
        for method in ("GET", "DELETE"):
            stolen = thief.status(method, ada.session)
            assert (stolen.status, stolen.error) == (404, UNKNOWN)
        thief.session = own
    assert rig.stub is not None
    journal = rig.stub.journal  # nothing of it came to the server
    assert ("ping" in journal.methods(), journal.calls("add")) == (False, [])
    seen = [entry.http for entry in journal.entries() if entry.headers.get("mcp-session-id") == ada.session]
    assert [http for http in seen if http.startswith(("GET", "DELETE"))] == []
    assert [caller.call("add").text for caller in (ada, eve)] == ["fine", "fine"]


@pytest.mark.requirement("P1")
@WAYS
def test_the_attempt_is_on_record_with_who_made_it(rig: Rig, server: str) -> None:
    ada, eve = rig.caller("ada", server), rig.caller("eve", server)
    eve.session = ada.session
    eve.request("ping")
    record = one_record(rig.state, type="auth_failure")
    assert (record.status, record.server, record.rule, record.actor, record.reason) == (
        "blocked",
        server,
        "session.stranger",
        "eve",
        "A session was used by another caller than the one that opened it.",
    )


@pytest.mark.requirement("P1")
@WAYS
def test_a_session_that_never_was_is_refused_in_the_same_words_and_is_no_theft(rig: Rig, server: str) -> None:
    eve = rig.caller("eve", server)
    eve.session = "A" * 32
    guessed = eve.request("ping")
    assert (guessed.status, guessed.message["error"]) == (404, UNKNOWN)
    assert read_records(rig.state, type="auth_failure") == []


@pytest.mark.requirement("F7")
@WAYS
def test_one_caller_ends_only_sessions_of_its_own(few_sessions: Rig, server: str) -> None:
    ada = few_sessions.caller("ada", server)
    assert ada.request("tools/list").status == 200
    eves = [few_sessions.caller("eve", server) for _ in range(3)]  # two of four are one caller's share
    assert [one.request("tools/list").status for one in (ada, *eves)] == [200, 200, 404, 200]
    record = one_record(few_sessions.state, rule="session.evicted")
    assert (record.server, record.status.value) == (server, "warning")


@pytest.mark.requirement("F7")
@WAYS
def test_a_session_that_listens_does_not_make_way(few_sessions: Rig, server: str) -> None:
    idle, listening = (few_sessions.caller("eve", server) for _ in range(2))  # else the newest goes first
    with listening.listening():
        few_sessions.caller("eve", server)
        assert [one.request("tools/list").status for one in (listening, idle)] == [200, 404]


@pytest.mark.requirement("P1")
def test_the_right_event_id_does_not_help_either(rig: Rig) -> None:
    ada, eve = rig.caller("ada", "stdio"), rig.caller("eve", "stdio")
    body = call(1, "busy", _meta={"progressToken": 1})
    stream = send(rig.base, "POST", ada.path, body, ada.headers(body)).body
    event = next(line[4:] for line in stream.splitlines() if line.startswith(b"id: ")).decode()
    resumed = ada.status("GET", ada.session, **{"Last-Event-ID": event})
    assert (resumed.status, b'"fine"' in resumed.body) == (200, True)
    assert eve.status("GET", ada.session, **{"Last-Event-ID": event}).status == 404
    assert eve.status("GET", eve.session, **{"Last-Event-ID": event}).status == 400


@pytest.mark.requirement("P1")
def test_a_session_that_was_ended_is_nobodys(rig: Rig) -> None:
    ada, eve = rig.caller("ada", "http"), rig.caller("eve", "http")
    assert ada.status("DELETE", ada.session).status == 204
    assert [one.status("DELETE", ada.session).status for one in (ada, eve)] == [404, 404]


class Lasting(http.server.BaseHTTPRequestHandler):
    """A server that gives sessions and does not let clients end them, which it may."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": {}}).encode()
        self.send_response(200 if "id" in asked else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Mcp-Session-Id", "lasting")
        self.send_header("Content-Length", str(len(reply) if "id" in asked else 0))
        self.end_headers()
        self.wfile.write(reply if "id" in asked else b"")

    def do_DELETE(self) -> None:
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.mark.requirement("P1")
def test_a_session_that_the_server_does_not_end_stays_with_its_owner(tmp_path: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Lasting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        config = tmp_path / "handfast.json"
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        config.write_text(json.dumps({"mcpServers": {"http": {"url": url}}}))
        try:
            with naming(config, tmp_path / "state") as base:
                rig = Rig(base, tmp_path / "state")
                ada, eve = rig.caller("ada", "http"), rig.caller("eve", "http", opens=False)
                assert ada.status("DELETE", ada.session).status == 405
                assert ada.request("ping").result == {}
                assert eve.status("DELETE", ada.session).status == 404
        finally:
            server.shutdown()
            thread.join()
