"""What is refused before it can be a call: heads without end, half requests, crowds; answered, bounded, on record."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.contracts.matrix.places import Place, connected
from tests.contracts.rig import MODERN_META, Json
from tests.gateway.edge.listening import Answer, read_answer, read_to_end
from tests.gateway.running import (
    TEXT,
    OpenPost,
    Serving,
    eventually,
    one_record,
    read_records,
    running,
    send,
    stdio,
    wrapping,
)
from tests.stubs.run import Stub, answer, serving, tool, write_stub

HOST = b"Host: localhost\r\n"
JSON = b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
LIMIT = 100_000
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
BATCH = b"[" + PING + b"]"
TWICE = b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}'
PLACES = {"a child": b"/mcp/up", "an HTTP server": b"/mcp/far", "a compact one": b"/mcp/small", "all": b"/mcp"}
OF_SERVER = {b"/mcp/up": "up", b"/mcp/far": "far", b"/mcp/small": "small", b"/mcp/new": "new", b"/mcp": ""}
EVERY_FRONT = [
    Place("wrap", "stdio", "legacy", "legacy"),
    Place("wrap", "stdio", "modern", "legacy"),
    Place("wrap", "http-json", "legacy", "modern"),
    Place("server", "stdio", "legacy", "legacy"),
    Place("server", "stdio", "modern", "modern"),
    Place("server", "stdio", "legacy", "modern"),
    Place("server", "http-sse", "modern", "legacy"),
    Place("server", "http-json", "legacy", "legacy"),
    Place("all", "stdio", "legacy", "legacy"),
    Place("all", "http-json", "modern", "modern"),
]


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Stub:
    return write_stub(tmp_path_factory.mktemp("stub"), tools=[tool("add")], answers={"add": answer(TEXT)})


@pytest.fixture(scope="module")
def gateway(stub: Stub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("modern")
    modern_stub = write_stub(folder, tools=[tool("add")], answers={"add": answer(TEXT)}, versions=["2026-07-28"])
    legacy_stub = write_stub(
        tmp_path_factory.mktemp("legacy"),
        tools=[tool("add")],
        answers={"add": answer(TEXT)},
        versions=["2025-11-25"],
    )
    with serving(legacy_stub, "http-json") as url:
        servers = {
            "up": stdio(stub),
            "far": {"url": url},
            "small": stdio(stub, handfast={"surface": "compact"}),
            "new": stdio(modern_stub),
        }
        with running(servers, tmp_path_factory.mktemp("edge"), limits={"body_bytes": LIMIT}) as found:
            yield found


@pytest.fixture(autouse=True)
def _others_are_not_disturbed(gateway: Serving) -> Iterator[None]:
    yield
    assert gateway.client().call("add").text == "fine"


def connect(gateway: Serving) -> socket.socket:
    address = urlsplit(gateway.base)
    return socket.create_connection((address.hostname or "", address.port or 0), timeout=40)


def post(path: bytes, body: bytes, *, head: bytes = HOST + JSON) -> bytes:
    return b"POST %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (path, head, len(body), body)


def ask(gateway: Serving, request: bytes) -> Answer:
    with connect(gateway) as client:
        with suppress(ConnectionError):
            client.sendall(request)
        return read_answer(client)


def recorded(gateway: Serving, rule: str, server: str) -> list[Json]:
    return [
        (record.type, record.status)
        for record in read_records(gateway.state, rule=rule, server=server)
        if record.server == server
    ]


REFUSED: dict[str, tuple[Callable[[bytes], bytes], int, str]] = {
    "a batch": (lambda path: post(path, BATCH), 400, "message.refused"),
    "a key twice": (lambda path: post(path, TWICE), 400, "message.refused"),
    "another host": (lambda path: post(path, PING, head=b"Host: evil.example\r\n" + JSON), 403, "request.unknown_host"),
    "another origin": (
        lambda path: post(path, PING, head=HOST + JSON + b"Origin: https://evil.example\r\n"),
        403,
        "request.unknown_origin",
    ),
    "a large body": (lambda path: post(path, b" " * (LIMIT + 1)), 413, "request.body_too_large"),
    "a large body in chunks": (
        lambda path: (
            b"POST %b HTTP/1.1\r\n%b%bTransfer-Encoding: chunked\r\n\r\n" % (path, HOST, JSON)
            + b"ffff\r\n%b\r\n" % (b" " * 0xFFFF) * 2
        ),
        413,
        "request.body_too_large",
    ),
    "a session that never was": (
        lambda path: post(path, PING, head=HOST + JSON + b"Mcp-Session-Id: invented\r\n"),
        404,
        "session.unknown",
    ),
    "a header twice": (lambda path: post(path, PING, head=HOST + HOST + JSON), 400, "request.repeated_header"),
}


@pytest.mark.requirement("F9")
@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize("what", list(REFUSED))
def test_what_is_refused_before_it_can_be_a_call_is_on_record(gateway: Serving, what: str, place: str) -> None:
    make, status, rule = REFUSED[what]
    path = PLACES[place]
    before = len(recorded(gateway, rule, OF_SERVER[path]))
    refused = ask(gateway, make(path))
    assert refused.status == status
    if "application/json" in refused.headers.get("content-type", ""):
        assert refused.json["error"]["message"].count("\n") == 0
    eventually(lambda: len(recorded(gateway, rule, OF_SERVER[path])) == before + 1, "its record")
    assert recorded(gateway, rule, OF_SERVER[path])[-1] == ("diagnostic", "blocked")


CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"%b}}'
MODERN_CALL = CALL % (b',"_meta":' + json.dumps(MODERN_META).encode())
MODERN = b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: add\r\n"
LATER = MODERN_CALL.replace(b"2026-07-28", b"2099-07-28"), MODERN.replace(b"2026-07-28", b"2099-07-28")
# Where a server is asked itself, as one over HTTP is without a session, it is not for the gateway to refuse.
ILL_FORMED: dict[str, tuple[bytes, bytes, int, tuple[bytes, ...]]] = {
    "without a session": (CALL % b"", b"", 400, (b"/mcp/up", b"/mcp/small", b"/mcp")),
    "modern without headers": (MODERN_CALL, b"", 400, (b"/mcp/up", b"/mcp/far", b"/mcp/small", b"/mcp/new", b"/mcp")),
    "with half a _meta": (
        CALL % b',"_meta":{}',
        MODERN,
        400,
        (b"/mcp/up", b"/mcp/far", b"/mcp/small", b"/mcp/new", b"/mcp"),
    ),
    "in a revision to come": (*LATER, 400, (b"/mcp/up", b"/mcp/far", b"/mcp/small", b"/mcp")),
    "for a server that is not there": (CALL % b"", b"", 404, (b"/mcp/none",)),
    "for a path that is not there": (CALL % b"", b"", 404, (b"/none",)),
    "for servers that are not there": (MODERN_CALL, MODERN, 404, (b"/mcp?servers=none",)),
    "for a choice of nothing known": (MODERN_CALL, MODERN, 400, (b"/mcp?tools=none",)),
}


@pytest.mark.requirement("F9")
@pytest.mark.parametrize(
    ("what", "path"),
    [(what, path) for what, (*_, paths) in ILL_FORMED.items() for path in paths],
    ids=lambda value: value.decode() if isinstance(value, bytes) else value,
)
def test_a_call_that_is_refused_before_it_is_judged_is_on_record(gateway: Serving, what: str, path: bytes) -> None:
    body, more, status, _ = ILL_FORMED[what]
    server = OF_SERVER.get(path, "")
    before = len(recorded(gateway, "request.refused", server))
    refused = ask(gateway, post(path, body, head=HOST + JSON + more))
    assert refused.status == status
    text = refused.json["error"]["message"]
    eventually(lambda: len(recorded(gateway, "request.refused", server)) == before + 1, "its record")
    assert recorded(gateway, "request.refused", server)[-1] == ("diagnostic", "blocked")
    assert read_records(gateway.state, rule="request.refused")[-1].reason == f"A request was refused: {text}"


@pytest.mark.requirement("F9")
def test_a_request_that_is_no_call_and_is_not_understood_leaves_no_record(gateway: Serving) -> None:
    """A client that looks for the right revision, or a browser at the wrong place, is no refused call."""
    before = len(read_records(gateway.state, rule="request.refused"))
    body, more = (text.replace(b"tools/call", b"server/discover") for text in LATER)
    assert ask(gateway, post(b"/mcp/up", body, head=HOST + JSON + more)).status == 400
    assert ask(gateway, b"GET /favicon.ico HTTP/1.1\r\n%b\r\n" % HOST).status == 404
    assert ask(gateway, post(b"/none", PING)).status == 404
    eventually(lambda: len(read_records(gateway.state, rule="request.refused")) == before + 1, "the last one's record")


NAMELESS = (b'"arguments":{}', b'"name":5,"arguments":{}', b'"name":"add","name":"b"')


@pytest.mark.requirement("F9")
@pytest.mark.parametrize("place", EVERY_FRONT, ids=str)
def test_a_call_without_a_name_to_go_by_is_on_record(place: Place, tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)}, versions=place.versions)
    with connected(place, stub, tmp_path, {}) as client:
        client.ask("tools/list")
        before = len(blocked(tmp_path / "state"))
        for members in NAMELESS:
            assert "error" in client.ask("tools/call", members).message
        eventually(lambda: len(blocked(tmp_path / "state")) == before + len(NAMELESS), "a record of each")


def blocked(state: Path) -> list[Json]:
    return [record.rule for record in read_records(state) if record.status in ("blocked", "error")]


@pytest.mark.requirement("F9")
@pytest.mark.parametrize("place", [one for one in EVERY_FRONT if one.front == "wrap"], ids=str)
def test_a_line_that_is_too_long_is_on_record(place: Place, tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)}, versions=place.versions)
    with connected(place, stub, tmp_path, {}, limits={"message_bytes": 5000, "body_bytes": 5000}) as client:
        client.ask("tools/list")
        client.send(CALL % (b',"arguments":{"n":"%b"}' % (b"x" * 6000)))
        eventually(lambda: read_records(tmp_path / "state", rule="message.refused"), "its record")


@pytest.mark.requirement("F9")
@pytest.mark.parametrize(
    ("request_bytes", "status", "rule"),
    [
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", 431, "request.head_too_large"),
        (b"GET /mcp/up HTTP/1.1\r\n" + b"X-A: " + b"b" * 200_000_000 + b"\r\n\r\n", 431, "request.head_too_large"),
        (b"GET /mcp/up HTTP/1.1\r\nX-A : b\r\n\r\n", 400, "request.malformed"),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400, "request.malformed"),
    ],
    ids=["url", "header", "blank", "tls"],
)
@pytest.mark.requirement("F5")
def test_a_head_that_cannot_be_taken_is_refused_and_on_record(
    gateway: Serving, request_bytes: bytes, status: int, rule: str
) -> None:
    before = len(recorded(gateway, rule, ""))
    with connect(gateway) as client:
        try:
            client.sendall(request_bytes)
        except ConnectionError:
            assert len(request_bytes) > 16 * 1024 * 1024, "only who writes on and on is cut off"
        else:
            refused = read_answer(client)
            assert (refused.status, refused.headers["connection"]) == (status, "close")
            assert read_to_end(client) == b""
    eventually(lambda: len(recorded(gateway, rule, "")) == before + 1, "its record")
    size = Path(f"/proc/{gateway.process.pid}/status").read_text().split("VmHWM:")[1].split()[0]
    assert int(size) < 150_000, "kilobytes; none of it was kept"


@pytest.mark.requirement("F9")
def test_a_flood_of_one_kind_hides_no_other(tmp_path: Path, stub: Stub) -> None:
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        for _ in range(60):
            ask(gateway, post(b"/mcp/up", BATCH))
        ask(gateway, post(b"/mcp/up", TWICE))
        ask(gateway, post(b"/mcp", BATCH))
        wanted = 20 + 1 + 1
        eventually(lambda: len(read_records(gateway.state, rule="message.refused")) == wanted, "the records")
        gateway.process.terminate()
        assert gateway.process.wait(15) == 0
    *_, last = read_records(gateway.state, rule="message.refused")
    assert (last.details["unrecorded"], last.server, last.reason.partition(". ")[0]) == (
        40,
        "up",
        "40 more of this kind had no record of their own",
    )


@pytest.mark.requirement("F9")
@pytest.mark.parametrize("body", [BATCH, TWICE])
def test_a_wrapper_records_them_too(tmp_path: Path, stub: Stub, body: bytes) -> None:
    with wrapping(stub.command, tmp_path) as wrapped:
        wrapped.send(body)
        eventually(lambda: read_records(wrapped.state, rule="message.refused"), "its record")


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    ("half", "seconds", "status"),
    [(b"", 10, None), (b"POST /mcp/up HTTP/1.1\r\nHost: local", 10, 408), (post(b"/mcp/up", PING)[:-1], 30, 408)],
    ids=["nothing", "half a head", "half a body"],
)
def test_half_a_request_does_not_stay_open(gateway: Serving, half: bytes, seconds: float, status: int | None) -> None:
    before = len(read_records(gateway.state, rule="request.slow"))
    began = time.monotonic()
    with connect(gateway) as client:
        client.sendall(half)
        found = read_to_end(client)
    assert seconds - 1 < time.monotonic() - began < seconds + 8
    assert (int(found.split()[1]) if found else None) == status
    eventually(lambda: len(read_records(gateway.state, rule="request.slow")) == before + bool(status), "its record")


@pytest.mark.requirement("F5")
def test_the_number_of_connections_is_a_setting_and_half_a_request_holds_no_place(tmp_path: Path, stub: Stub) -> None:
    with running({"up": stdio(stub)}, tmp_path, limits={"connections": 8}) as gateway, ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(connect(gateway)).sendall(b"POST /mcp/up HTTP/1.1\r\nHost: local")
            stack.enter_context(connect(gateway)).sendall(post(b"/mcp/up", PING)[:-1])
        assert gateway.client().call("add").text == "fine", "who asks for something comes before who does not"
        busy = []
        for _ in range(8):  # listening is a request under way, once it has arrived
            busy.append(stream := OpenPost(gateway.client(), b"", method="GET"))
            stack.callback(stream.leave)
            assert stream.response.status == 200
        refused = eventually(lambda: refusal(gateway), "the bound")
        assert refused is not None
        assert refused.headers["retry-after"] == "5"
        assert refused.json["error"] == {
            "code": -32600,
            "message": "Too many connections are open at once. Close some, or try again later.",
        }
        eventually(lambda: read_records(gateway.state, rule="connection.refused"), "the record")
        for stream in busy:
            stream.leave()
        eventually(lambda: refusal(gateway) is None, "a free place")


def refusal(gateway: Serving) -> Answer | None:
    """The answer to another connection, where there is no room for it."""
    found = ask(gateway, post(b"/mcp/up", PING))
    return found if found.status == 503 else None


@pytest.mark.requirement("F7")
@pytest.mark.parametrize("path", ["/mcp/up", "/mcp"])
def test_an_initialize_that_its_session_would_keep_is_bounded(tmp_path: Path, path: str) -> None:
    stub = write_stub(tmp_path, tools=[], answers={})
    info = {"name": "x" * 20_000, "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        got = send(gateway.base, "POST", path, body, {"Content-Type": "application/json"})
        text = "The initialize is over the limit of 16384 bytes. Say less of the client."
        assert (got.status, json.loads(got.body)["error"]["message"]) == (413, text)
        assert one_record(gateway.state, rule="request.body_too_large").reason.endswith(text)
