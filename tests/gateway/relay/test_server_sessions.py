"""Sessions of an HTTP server that the gateway remembers: short ids, nothing of their requests, none for ever."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contracts.rig import Json
from tests.faults.measured import resident_mb
from tests.gateway.running import Serving, eventually, read_records, request, running, send

JSON_AND_EVENTS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
PREFIX = "io.modelcontextprotocol/"
REFUSED = {"code": -32600, "message": "This session has had its initialize. Open another one."}


RESULTS = {
    "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "fine"}]},
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"},
}


class Careless(http.server.BaseHTTPRequestHandler):
    """A server that answers requests in any session, also one that it never gave."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together
    initialised = listed = 0

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Careless.initialised += asked["method"] == "initialize"
        Careless.listed += asked["method"] == "tools/list"
        reply = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS.get(asked["method"], {})}).encode()
        self.send_response(404 if asked["method"] == "un/known" else 200)
        self.send_header("Content-Type", "application/json")
        if asked["method"] == "initialize" and "Mcp-Session-Id" not in self.headers:
            self.send_header("Mcp-Session-Id", "given")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        """Silent."""


@contextmanager
def careless(folder: Path, **settings: Json) -> Iterator[Serving]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Careless) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
            with running({"up": {"url": url}}, folder, **settings) as gateway:
                yield gateway
        finally:
            server.shutdown()
            thread.join()


def ping(gateway: Serving, session: str, **more: str) -> int:
    headers = JSON_AND_EVENTS | {"Mcp-Session-Id": session, **more}
    return send(gateway.base, "POST", "/mcp/up", request(1, "ping"), headers).status


def diagnoses(gateway: Serving, rule: str) -> list[str]:
    records = eventually(lambda: read_records(gateway.state, rule=rule), f"a record of {rule}")
    return [record.reason for record in records]


@pytest.mark.requirement("F7")
def test_invented_sessions_and_their_headers_take_no_room(tmp_path: Path) -> None:
    with careless(tmp_path) as gateway:
        for number in range(20):
            ping(gateway, f"warm-{number}", **{"X-Much": "x" * 50_000})
        before = resident_mb(gateway.process.pid)
        for number in range(150):
            assert ping(gateway, f"short-{number}", **{"X-Much": "x" * 50_000}) == 200
            assert ping(gateway, f"{number:04}" + "y" * 20_000) == 200
        assert resident_mb(gateway.process.pid) - before < 5
        assert diagnoses(gateway, "session.no_room")[0] == (
            "A session is not remembered: its id is over the limit of 1024 bytes."
        )


@pytest.mark.requirement("F2")
def test_an_open_session_is_not_initialised_again(tmp_path: Path) -> None:
    opening = request(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "x"})
    with careless(tmp_path) as gateway:
        first = send(gateway.base, "POST", "/mcp/up", opening, JSON_AND_EVENTS)
        before = Careless.initialised
        again = send(gateway.base, "POST", "/mcp/up", opening, JSON_AND_EVENTS | {"Mcp-Session-Id": "given"})
        assert (first.headers["mcp-session-id"], again.error, Careless.initialised) == ("given", REFUSED, before)
        assert diagnoses(gateway, "session.initialized") == [f"initialize was refused. {REFUSED['message']}"]


@pytest.mark.requirement("F7")
def test_a_session_without_requests_is_not_remembered_for_ever(tmp_path: Path) -> None:
    opening = request(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "x"})
    with careless(tmp_path, limits={"session_idle_s": 0.2, "call_timeout_s": 0.4}) as gateway:
        ping(gateway, "given")

        def is_forgotten() -> bool:
            """Asking uses the session."""
            again = send(gateway.base, "POST", "/mcp/up", opening, JSON_AND_EVENTS | {"Mcp-Session-Id": "given"})
            return b"error" not in again.body

        def is_forgotten_later() -> bool:
            time.sleep(0.6)
            return is_forgotten()

        assert not is_forgotten()
        eventually(is_forgotten_later, "a forgotten session")


@pytest.mark.requirement("F7")
@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy", "modern"])
def test_an_invented_session_that_the_server_does_not_know_costs_nobody_the_list(
    tmp_path: Path, is_modern: bool
) -> None:
    meta = {"_meta": {f"{PREFIX}protocolVersion": "2026-07-28", f"{PREFIX}clientCapabilities": {}}} if is_modern else {}

    def ask(number: int, method: str, session: str = "", **params: Json) -> int:
        headers = JSON_AND_EVENTS | ({"Mcp-Session-Id": session} if session else {})
        if is_modern:
            headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
            headers |= {"Mcp-Name": "add"} if method == "tools/call" else {}
        return send(gateway.base, "POST", "/mcp/up", request(number, method, **params, **meta), headers).status

    with careless(tmp_path, input_validation={"mode": "strict"}) as gateway:
        assert ask(1, "tools/call", name="add", arguments={}) == 200
        before = Careless.listed
        for number in range(5):
            assert ask(2, "ping" if not is_modern else "server/discover", f"mine-{number}") == 200
            assert ask(3, "un/known", f"mine-{number}") == 404
            assert ask(4, "tools/call", name="add", arguments={}) == 200
        assert Careless.listed == before
