"""HTTP servers behind the gateway: every way they can fail, and what their clients are told."""

import http.server
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.contracts.rig import HttpGateway, Json
from tests.gateway.running import (
    TEXT,
    OpenPost,
    Serving,
    at_once,
    call,
    eventually,
    outcome,
    read_records,
    running,
    send,
)
from tests.stubs.run import Stub, answer, serving, tool, write_stub

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
WRONG = '{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":"no"}}'
LARGE = json.dumps({"content": [{"type": "text", "text": "x" * 100_000}]})
HUGE = json.dumps({"content": [{"type": "text", "text": "x" * 1_000_000}]})
SECONDS = 0.8
ANSWERS = {
    "plain": answer(TEXT),
    "encoded": answer(TEXT, "encoded"),
    "injected": answer(TEXT, "headers_injection"),
    "status": answer(TEXT, "status:500"),
    "text": answer(TEXT, "wrong_content_type"),
    "closed": answer(TEXT, "close"),
    "half": answer(TEXT, "half_line"),
    "garbage": answer(TEXT, "garbage"),
    "mute": answer(TEXT, "silence"),
    "forever": answer(TEXT, "forever"),
    "stray": answer(TEXT, "wrong_id"),
    "twice": answer(TEXT, "twice"),
    "batch": answer(message='[{"jsonrpc":"2.0","id":$ID,"result":{}}]'),
    "respelled": answer(TEXT, "respell_id"),
    "large": answer(LARGE),
    "huge": answer(HUGE),
    "lines": answer(message='{"jsonrpc":"2.0",\n"id":$ID,\n"result":{"content":[]}}'),
    "blocked": answer(WRONG),
    "slow": answer(TEXT, "slow:0.5"),
    "busy": answer(TEXT, "progress:4:0.4"),
    "resumed": answer(WRONG, "resume", "slow:0.1"),
}


class Rig(NamedTuple):
    gateway: Serving
    stub: Stub
    kind: str

    def client(self, *, is_modern: bool = False) -> HttpGateway:
        return self.gateway.client(self.kind, is_modern=is_modern)


class Both(NamedTuple):
    gateway: Serving
    stubs: dict[str, Stub]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("http")
    tools = [tool(name, None, NUMBER if name in ("blocked", "resumed") else None) for name in ANSWERS]
    with ExitStack() as stack:
        stubs = {kind: write_stub(folder, tools=tools, answers=ANSWERS, name=kind) for kind in ("json", "sse")}
        servers: dict[str, Json] = {
            "json": {"url": stack.enter_context(serving(stubs["json"], "http-json"))},
            "sse": {"url": stack.enter_context(serving(stubs["sse"], "http-sse"))},
        }
        limits = {"call_timeout_s": SECONDS, "message_bytes": 500_000, "body_bytes": 10_000}
        strict = {"output_validation": {"mode": "strict"}}
        yield Both(stack.enter_context(running(servers, folder, leaves_calls=True, limits=limits, **strict)), stubs)


@pytest.fixture(params=["json", "sse"])
def rig(request: pytest.FixtureRequest, both: Both) -> Rig:
    return Rig(both.gateway, both.stubs[request.param], request.param)


def ended(rig: Rig, tool: str) -> list[tuple[str, str]]:
    found = eventually(
        lambda: read_records(rig.gateway.state, type="tool_call", tool=tool, server=rig.kind), f"a record of {tool}"
    )
    return [(record.status.value, record.rule) for record in found]


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "code"),
    [
        pytest.param("encoded", -31001, marks=pytest.mark.requirement("B7")),
        pytest.param("injected", -31001, marks=pytest.mark.requirement("B7")),
        ("closed", -31001),
        ("garbage", -31001),
        pytest.param("batch", -31001, marks=pytest.mark.requirement("B4")),
        ("half", -31002),
        ("mute", -31002),
        pytest.param("huge", -31001, marks=pytest.mark.requirement("B6")),
    ],
)
@pytest.mark.parametrize("is_modern", [False, True])
def test_a_failing_server_is_one_clear_error_and_one_record(rig: Rig, name: str, code: int, is_modern: bool) -> None:
    client = rig.client(is_modern=is_modern)
    before = len(read_records(rig.gateway.state, type="tool_call", tool=name, server=rig.kind))
    got = client.call(name)
    assert (got.status, got.message["error"]["code"]) == (200, code)
    assert got.text.endswith(".")
    rule = "upstream.timeout" if code == -31002 else "upstream.failed"
    eventually(lambda: ended(rig, name)[before:] == [("error", rule)], "its record")
    assert client.call("plain").text == "fine"


def test_an_answer_without_end_is_stopped(rig: Rig) -> None:
    got = rig.client().call("forever")
    assert got.message["error"]["code"] in (-31001, -31002)
    assert ended(rig, "forever")[0][0] == "error"
    rig.stub.journal.wait_for(lambda journal: journal.events("disconnected"))


@pytest.mark.requirement("B4")
def test_an_answer_to_nothing_never_reaches_the_client(rig: Rig) -> None:
    got = rig.client().call("stray")
    assert got.message["error"]["code"] in (-31001, -31002)
    assert ended(rig, "stray")[0][0] == "error"


@pytest.mark.requirement("B4")
def test_an_answer_pairs_by_value(rig: Rig) -> None:
    client = rig.client()
    assert client.call("respelled").text == "fine"
    assert client.post(call("A", "respelled")).text == "fine"


def test_an_http_error_keeps_its_status_and_is_recorded(rig: Rig) -> None:
    assert rig.client().call("status").status == 500
    assert len(ended(rig, "status")) == 1


@pytest.mark.requirement("S1")
def test_json_under_another_content_type_is_no_answer(both: Both) -> None:
    got = both.gateway.client("json").call("text")
    assert (got.status, got.message["error"]["code"]) == (200, -31001)
    assert "its Content-Type is neither application/json nor text/event-stream in UTF-8." in got.text


def test_a_server_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with running({"up": {"url": f"http://127.0.0.1:{port}/mcp"}}, tmp_path) as gateway:
        for is_modern in (False, True):
            client = gateway.client(is_modern=is_modern, opens=False)
            got = client.call("add")
            assert (got.status, got.message["error"]["code"]) == (200, -31001)
        assert send(gateway.base, "GET", "/mcp/up").status == 502
        assert gateway.health()[0] == 200
    assert [r.rule for r in read_records(gateway.state, type="tool_call")] == ["upstream.failed"] * 2


def test_servers_that_fail_do_not_hold_up_the_others(both: Both) -> None:
    client = both.gateway.client("json")
    mute = [lambda: str(client.call("mute").message["error"]["code"])] * 5
    plain = [lambda: client.call("plain").text] * 20
    assert at_once(*mute, *plain) == ["-31002"] * 5 + ["fine"] * 20


# --- long and odd events ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("B6")
def test_what_is_longer_than_64_kib_passes_whole(rig: Rig) -> None:
    client = rig.client()
    expected = b'{"jsonrpc":"2.0","id":"l","result":' + LARGE.encode() + b"}"
    assert client.post(call("l", "large")).raw == expected


@pytest.mark.requirement("B6")
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_events_leave_in_one_form_whatever_line_ends_they_came_with(tmp_path: Path, newline: str) -> None:
    answers = {"plain": answer(TEXT), "lines": ANSWERS["lines"], "blocked": answer(WRONG)}
    tools = [tool("plain"), tool("lines"), tool("blocked", None, NUMBER)]
    stub = write_stub(tmp_path, tools=tools, answers=answers, newline=newline)
    with (
        serving(stub, "http-sse") as url,
        running({"up": {"url": url}}, tmp_path, output_validation={"mode": "strict"}) as gateway,
    ):
        client = gateway.client()
        plain, lines, blocked = (stream(client, name) for name in answers)
    message = b'{"jsonrpc":"2.0","id":1,"result":' + TEXT.encode() + b"}"
    assert re.fullmatch(rb"event: message\nid: [0-9]+\ndata: " + re.escape(message) + b"\n\n", plain)
    assert lines.count(b"data: ") == 3
    assert (lines.count(b"\n"), lines.count(b"\r")) == (6, 0)
    fields = dict(line.split(b": ", 1) for line in blocked.splitlines() if line)
    assert list(fields) == [b"event", b"id", b"data"]
    assert json.loads(fields[b"data"])["result"]["isError"] is True


def stream(client: HttpGateway, name: str) -> bytes:
    body = call(1, name)
    return send(client.base, "POST", client.path, body, client.headers(body)).body


class ScriptedStream(http.server.BaseHTTPRequestHandler):
    """Answers every POST with one event, written in every way that is allowed and unusual."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = b'{"tools":' + json.dumps([tool("t", None, NUMBER)]).encode() + b"}"
        if message["method"] == "tools/call":
            result = WRONG.encode()
        lines = [b"\xef\xbb\xbf: hello", b"retry: 5", b"id: 9", b"event: message", b'data: {"jsonrpc":"2.0",']
        lines += [b'data:"id":%s,' % json.dumps(message["id"]).encode(), b'data: "result":' + result, b"data: }"]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"\r".join(lines) + b"\r\r")
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.mark.requirement("B6")
@pytest.mark.parametrize("mode", ["strict", "off"])
def test_an_event_with_a_mark_many_lines_and_a_retry_is_read_and_keeps_what_it_must(tmp_path: Path, mode: str) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), ScriptedStream) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        try:
            with running({"up": {"url": url}}, tmp_path, output_validation={"mode": mode}) as gateway:
                client = gateway.client(opens=False)
                client.request("tools/list")
                seen = stream(client, "t")
        finally:
            server.shutdown()
            thread.join()
    if mode == "off":
        assert seen.startswith(b"event: message\nid: 9\nretry: 5\ndata: {")
        assert seen.endswith(b'data: "result":' + WRONG.encode() + b"\ndata: }\n\n")
        return
    fields = dict(line.split(b": ", 1) for line in seen.splitlines() if b": " in line)
    assert (fields[b"id"], fields[b"retry"], fields[b"event"]) == (b"9", b"5", b"message")
    assert json.loads(fields[b"data"])["result"]["isError"] is True


@pytest.mark.requirement("B6")
@pytest.mark.requirement("P2")
def test_a_stream_that_is_resumed_is_judged_and_keeps_its_ids(both: Both) -> None:
    client = both.gateway.client("sse")
    body = call(1, "resumed")
    first = send(client.base, "POST", client.path, body, client.headers(body)).body
    fields = dict(line.split(b": ", 1) for line in first.splitlines() if b": " in line)
    assert (set(fields) >= {b"id", b"retry"}, fields[b"retry"]) == (True, b"10")
    headers = {"Mcp-Session-Id": str(client.session), "Last-Event-ID": fields[b"id"].decode()}
    second = send(client.base, "GET", client.path, headers=headers).body
    assert json.loads(next(line[6:] for line in second.splitlines() if line.startswith(b"data: ")))["result"]["isError"]
    assert b"id: " in second
    assert b'"no"' not in second
    assert outcome(both.gateway.state, "resumed") == ("blocked", "result.schema")


@pytest.mark.requirement("B4")
def test_a_second_answer_on_a_stream_is_dropped(both: Both) -> None:
    assert stream(both.gateway.client("sse"), "twice").count(b"data: ") == 1
    assert outcome(both.gateway.state, "twice") == ("success", "")


# --- leaving and waiting ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("is_modern", [False, True])
def test_only_a_modern_client_cancels_by_leaving(rig: Rig, is_modern: bool) -> None:
    client = rig.client(is_modern=is_modern)
    left = len(rig.stub.journal.events("disconnected"))
    calls = len(rig.stub.journal.calls("slow"))
    records = len(read_records(rig.gateway.state, type="tool_call", tool="slow", server=rig.kind))
    meta = client.render("x")["params"].get("_meta", {})
    post = OpenPost(client, call(1, "slow", _meta=meta))
    rig.stub.journal.wait_for(lambda journal: len(journal.calls("slow")) > calls)
    post.leave()
    expected = ("cancelled", "") if is_modern else ("success", "")
    eventually(lambda: ended(rig, "slow")[records:] == [expected], "its record")
    if is_modern:
        rig.stub.journal.wait_for(lambda journal: len(journal.events("disconnected")) > left)
    else:
        assert len(rig.stub.journal.events("disconnected")) == left


@pytest.mark.requirement("P3")
def test_the_timeout_is_for_silence_and_progress_starts_it_anew(both: Both) -> None:
    client = both.gateway.client("sse")
    assert client.post(call(1, "busy", _meta={"progressToken": 1})).text == "fine"


def test_the_end_of_a_session_goes_through(rig: Rig) -> None:
    client = rig.client()
    ending = {"Mcp-Session-Id": str(client.session)}
    assert send(rig.gateway.base, "DELETE", client.path, headers=ending).status == 204
    assert client.request("ping").status == 404
