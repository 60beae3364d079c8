"""The stub upstream itself: what it sends is what the script says, and what it received is in the journal."""

import http.client
import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import pytest

from tests.stubs.run import Stub, Transport, answer, serving, tool, write_stub

RESULT = '{"content":[], "n":1.0,"big":9007199254740993,"e":"\\u00e9"}'
CALL = b'{"jsonrpc":"2.0", "id":7,"method":"tools/call","params":{"name":"t","arguments":{"n":1.0}}}'
INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}'
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
ENVELOPE = b'"_meta":' + json.dumps(META).encode()
MODERN_CALL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t",' + ENVELOPE + b"}}"
MODERN_HEADERS = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "t"}
WHOLE = b'{"jsonrpc":"2.0","id":7,"result":' + RESULT.encode() + b"}"
TRANSPORTS: list[Transport] = ["http-json", "http-sse"]


@contextmanager
def over_stdio(stub: Stub) -> Iterator[tuple[IO[bytes], IO[bytes], "subprocess.Popen[bytes]"]]:
    with subprocess.Popen(stub.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdin, process.stdout, process
        process.kill()


def say(stdin: IO[bytes], line: bytes) -> None:
    stdin.write(line + b"\n")
    stdin.flush()


def stub_with(folder: Path, *faults: str, **more: object) -> Stub:
    return write_stub(folder, tools=[tool("t")], answers={"t": answer(RESULT, *faults)}, **more)  # type: ignore[arg-type]  # SPEC keys


OPENED: list[http.client.HTTPConnection] = []


@pytest.fixture(autouse=True)
def close_connections() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def send(url: str, method: str, headers: dict[str, str], body: bytes = b"") -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    OPENED.append(connection)
    connection.request(method, "/mcp", body, headers)
    return connection.getresponse()


def post(url: str, body: bytes, headers: dict[str, str] | None = None) -> http.client.HTTPResponse:
    return send(url, "POST", headers or {}, body)


def open_session(url: str) -> dict[str, str]:
    response = post(url, INITIALIZE)
    response.read()
    return {"Mcp-Session-Id": response.headers["Mcp-Session-Id"]}


@pytest.mark.parametrize(
    ("faults", "sent"),
    [
        ([], WHOLE + b"\n"),
        (["id_last"], b'{"result":' + RESULT.encode() + b',"id":7,"jsonrpc":"2.0"}\n'),
        (["wrong_id"], WHOLE.replace(b'"id":7', b'"id":987654321') + b"\n"),
        (["respell_id"], WHOLE.replace(b'"id":7', b'"id":7.0') + b"\n"),
        (["shred"], WHOLE + b"\n"),
        (["garbage"], b"%%% not JSON %%%\n"),
        (["twice"], (WHOLE + b"\n") * 2),
        (["slow:0.01"], WHOLE + b"\n"),
    ],
)
def test_over_stdio_the_result_goes_out_in_the_exact_bytes_of_the_script(
    tmp_path: Path, faults: list[str], sent: bytes
) -> None:
    stub = stub_with(tmp_path, *faults)
    with over_stdio(stub) as (stdin, stdout, _):
        say(stdin, CALL)
        assert stdout.read(len(sent)) == sent
    assert [entry.bytes for entry in stub.journal.calls("t")] == [CALL + b"\n"]


@pytest.mark.parametrize(("fault", "status", "sent"), [("close", 0, b""), ("exit:3", 3, b"")])
def test_over_stdio_the_process_can_end_in_the_middle_of_a_call(
    tmp_path: Path, fault: str, status: int, sent: bytes
) -> None:
    with over_stdio(stub_with(tmp_path, fault)) as (stdin, stdout, process):
        say(stdin, CALL)
        assert (stdout.read(), process.wait(timeout=10)) == (sent, status)


def test_half_a_line_is_followed_by_nothing(tmp_path: Path) -> None:
    with over_stdio(stub_with(tmp_path, "half_line")) as (stdin, stdout, _):
        say(stdin, CALL)
        half = WHOLE[: len(WHOLE) // 2]
        assert stdout.read(len(half)) == half
        stdin.close()
        assert stdout.read() == b""


def test_a_silent_tool_does_not_silence_the_server(tmp_path: Path) -> None:
    with over_stdio(stub_with(tmp_path, "silence")) as (stdin, stdout, _):
        say(stdin, CALL)
        say(stdin, b'{"jsonrpc":"2.0","id":8,"method":"ping"}')
        assert stdout.readline() == b'{"jsonrpc":"2.0","id":8,"result":{}}\n'


def test_an_endless_line_has_no_end(tmp_path: Path) -> None:
    with over_stdio(stub_with(tmp_path, "forever")) as (stdin, stdout, _):
        say(stdin, CALL)
        assert b"\n" not in stdout.read(3 * 65536)


def test_progress_and_questions_come_before_the_answer(tmp_path: Path) -> None:
    with over_stdio(stub_with(tmp_path, "progress:2:0.001", "server_request:roots/list")) as (stdin, stdout, _):
        say(stdin, CALL.replace(b'"arguments"', b'"_meta":{"progressToken":"p"},"arguments"'))
        lines = [json.loads(stdout.readline()) for _ in range(3)]
        assert [line["method"] for line in lines] == ["notifications/progress"] * 2 + ["roots/list"]
        assert [line["params"]["progressToken"] for line in lines[:2]] == ["p", "p"]
        say(stdin, b'{"jsonrpc":"2.0","id":"stub-1","result":{"roots":[]}}')
        assert stdout.readline() == WHOLE + b"\n"


def test_answers_in_a_list_are_used_up_and_the_last_one_stays(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, answers={"t": [answer("1"), answer(error='{"code":-1,"message":"m"}')]})
    with over_stdio(stub) as (stdin, stdout, _):
        for sent in (
            b'"result":1}\n',
            b'"error":{"code":-1,"message":"m"}}\n',
            b'"error":{"code":-1,"message":"m"}}\n',
        ):
            say(stdin, CALL)
            assert stdout.readline() == b'{"jsonrpc":"2.0","id":7,' + sent


def test_a_whole_message_can_be_scripted_around_the_id(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, answers={"t": answer(message=b'{"id":$ID,"id":$ID,"x":"\xff"}')})
    with over_stdio(stub) as (stdin, stdout, _):
        say(stdin, CALL)
        assert stdout.readline() == b'{"id":7,"id":7,"x":"\xff"}\n'


def test_the_list_comes_in_pages_in_its_own_spelling(tmp_path: Path) -> None:
    with over_stdio(write_stub(tmp_path, pages=['[ {"name":"a"} ]', '[{"name":"b"}]'])) as (stdin, stdout, _):
        say(stdin, b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        first = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[ {"name":"a"} ],"nextCursor":"page-1"}}\n'
        assert stdout.readline() == first
        say(stdin, b'{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"page-1"}}')
        assert stdout.readline() == b'{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"b"}]}}\n'


def test_which_era_it_serves_is_scripted(tmp_path: Path) -> None:
    discover = b'{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{' + ENVELOPE + b"}}"
    codes = {}
    for versions in (["2025-11-25"], ["2026-07-28"]):
        with over_stdio(write_stub(tmp_path, versions=versions)) as (stdin, stdout, _):
            for line in (discover, INITIALIZE):
                say(stdin, line)
                codes[(versions[0], json.loads(line)["method"])] = (
                    json.loads(stdout.readline()).get("error", {}).get("code")
                )
    assert codes == {
        ("2025-11-25", "server/discover"): -32601,
        ("2025-11-25", "initialize"): None,
        ("2026-07-28", "server/discover"): None,
        ("2026-07-28", "initialize"): -32022,
    }


def test_a_signal_changes_the_tools_and_announces_it(tmp_path: Path) -> None:
    after = write_stub(tmp_path, name="after", tools='[{"name":"new"}]')
    stub = write_stub(tmp_path, tools='[{"name":"old"}]', next=str(after.spec))
    with over_stdio(stub) as (stdin, stdout, _):
        say(stdin, INITIALIZE)
        stdout.readline()
        stub.take_next()
        assert stdout.readline() == b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
        say(stdin, b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        assert stdout.readline() == b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"new"}]}}\n'


def test_json_over_http_is_the_message_and_nothing_else(tmp_path: Path) -> None:
    stub = stub_with(tmp_path)
    with serving(stub, "http-json") as url:
        response = post(url, CALL, open_session(url))
        assert (response.status, response.headers["Content-Type"], response.read()) == (
            200,
            "application/json",
            WHOLE,
        )
    (call,) = stub.journal.calls("t")
    assert (call.bytes, call.http, call.headers["mcp-session-id"]) == (CALL, "POST /mcp", "stub-session-1")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_sse_over_http_is_one_event_with_an_id(tmp_path: Path, newline: str) -> None:
    with serving(stub_with(tmp_path, newline=newline), "http-sse") as url:
        response = post(url, CALL, open_session(url))
        event = b"id: 2\nevent: message\ndata: " + WHOLE + b"\n\n"
        assert response.headers["Content-Type"] == "text/event-stream"
        assert response.read() == event.replace(b"\n", newline.encode())


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_2025_revisions_need_their_session(tmp_path: Path, transport: Transport) -> None:
    with serving(stub_with(tmp_path), transport) as url:
        assert post(url, CALL).status == 400
        assert post(url, CALL, {"Mcp-Session-Id": "other"}).status == 404
        session = open_session(url)
        assert post(url, b'{"jsonrpc":"2.0","method":"notifications/initialized"}', session).status == 202
        assert post(url, CALL, session).status == 200
        assert send(url, "DELETE", session).status == 204
        assert post(url, CALL, session).status == 404


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        (MODERN_HEADERS, 200, None),
        (MODERN_HEADERS | {"Mcp-Name": "=?base64?dA==?="}, 200, None),
        (MODERN_HEADERS | {"Mcp-Name": "other"}, 400, -32020),
        ({}, 400, -32020),
    ],
)
def test_the_2026_revision_needs_headers_that_agree(
    tmp_path: Path, headers: dict[str, str], status: int, code: int | None
) -> None:
    with serving(stub_with(tmp_path), "http-json") as url:
        response = post(url, MODERN_CALL, headers)
        assert (response.status, json.loads(response.read()).get("error", {}).get("code")) == (status, code)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("fault", "status", "header", "value"),
    [
        ("encoded", 200, "Content-Encoding", "gzip"),
        ("status:503", 503, "Content-Type", "application/json"),
        ("wrong_content_type", 200, "Content-Type", "text/plain"),
    ],
)
def test_http_faults_are_in_the_head(
    tmp_path: Path, transport: Transport, fault: str, status: int, header: str, value: str
) -> None:
    with serving(stub_with(tmp_path, fault), transport) as url:
        response = post(url, MODERN_CALL, MODERN_HEADERS)
        assert (response.status, response.headers[header]) == (status, value)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_dropped_connection_has_no_answer(tmp_path: Path, transport: Transport) -> None:
    with serving(stub_with(tmp_path, "close"), transport) as url, pytest.raises(ConnectionError):
        post(url, MODERN_CALL, MODERN_HEADERS)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(("fault", "enough"), [("half_line", 40), ("forever", 200_000)])
def test_an_unfinished_body_can_be_read_but_not_to_its_end(
    tmp_path: Path, transport: Transport, fault: str, enough: int
) -> None:
    with serving(stub_with(tmp_path, fault), transport) as url:
        assert len(post(url, MODERN_CALL, MODERN_HEADERS).read(enough)) == enough


def test_an_injected_header_has_a_bare_carriage_return(tmp_path: Path) -> None:
    with serving(stub_with(tmp_path, "headers_injection"), "http-json") as url:
        head = "".join(f"{name}: {value}\r\n" for name, value in MODERN_HEADERS.items())
        with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=10) as client:
            client.sendall(
                f"POST /mcp HTTP/1.1\r\n{head}Content-Length: {len(MODERN_CALL)}\r\n\r\n".encode() + MODERN_CALL
            )
            assert b"X-Stub: one\rX-Injected: two\r\n" in client.recv(65536)


def test_an_answer_cut_off_is_found_again_from_any_event_id(tmp_path: Path) -> None:
    with serving(stub_with(tmp_path, "resume", "progress:1:0.02", "slow:0.02"), "http-sse") as url:
        session = open_session(url)
        assert post(url, CALL, session).read() == b"id: 2\nretry: 10\ndata: \n\n"
        from_start = send(url, "GET", session | {"Last-Event-ID": "2"}).read()
        from_progress = send(url, "GET", session | {"Last-Event-ID": "3"}).read()
    assert from_progress == b"id: 4\nevent: message\ndata: " + WHOLE + b"\n\n"
    assert from_start.startswith(b"id: 3\n")
    assert from_start.endswith(from_progress)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_change_of_tools_reaches_get_streams_and_subscriptions(tmp_path: Path, transport: Transport) -> None:
    listen = b'{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{' + ENVELOPE
    listen += b',"notifications":{"toolsListChanged":true}}}'
    change = CALL.replace(b'"t"', b'"_change_tools"').replace(b'{"n":1.0}', b'{"tools":[{"name":"new"}]}')
    with serving(stub_with(tmp_path), transport) as url:
        session = open_session(url)
        messages = send(url, "GET", session)
        subscription = post(url, listen, MODERN_HEADERS | {"Mcp-Method": "subscriptions/listen"})
        assert json.loads(event_data(subscription))["method"] == "notifications/subscriptions/acknowledged"
        post(url, change, session).read()
        changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        assert json.loads(event_data(messages)) == changed
        meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": "s"}}
        assert json.loads(event_data(subscription)) == changed | {"params": meta}


def event_data(response: http.client.HTTPResponse) -> bytes:
    while not (line := response.readline()).startswith(b"data: "):
        assert line, "the stream ended"
    return line.removeprefix(b"data: ")


def test_a_client_that_leaves_is_in_the_journal(tmp_path: Path) -> None:
    stub = stub_with(tmp_path, "silence")
    with serving(stub, "http-json") as url:
        with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=10) as client:
            client.sendall(b"POST /mcp HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(INITIALIZE) + INITIALIZE)
            client.recv(10)
            client.sendall(b"POST /mcp HTTP/1.1\r\nMcp-Session-Id: stub-session-1\r\n")
            client.sendall(b"Content-Length: %d\r\n\r\n" % len(CALL) + CALL)
            stub.journal.wait_for(lambda journal: journal.calls("t"))
        stub.journal.wait_for(lambda journal: journal.events("disconnected"))
