"""Bodies of HTTP's own beside the messages: errors, redirects, thanks for a notification. None reaches a client."""

import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contracts.rig import HANDFAST, HttpGateway, Json, WrapGateway
from tests.gateway.running import Response, Serving, eventually, read_records, running, send

MARK = "smuggled"
STRICT: dict[str, Json] = {"input_validation": {"mode": "strict"}, "output_validation": {"mode": "strict"}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOL = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": NUMBER}
JSON_TYPE = ("Content-Type", "application/json")
EVENTS_TYPE = ("Content-Type", "text/event-stream")
RESULT = {"content": [{"type": "text", "text": MARK}], "structuredContent": {"n": MARK}, "resultType": "complete"}


class Odd(http.server.BaseHTTPRequestHandler):
    """Answers what the class variables say to a call, a notification, a GET or a DELETE; else as it should."""

    protocol_version = "HTTP/1.1"
    status = 200
    given: tuple[tuple[str, str], ...] = (JSON_TYPE,)
    body = b""
    odd = "tools/call"
    is_modern = False

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = message.get("method", "")
        if method == self.odd:
            self.say(self.status, self.given, self.body.replace(b"$ID", json.dumps(message.get("id")).encode()))
        elif "id" not in message:
            self.say(202, (), b"")
        else:
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": self.result(method)}
            self.say(200, (JSON_TYPE, ("Mcp-Session-Id", "one")), json.dumps(reply).encode())

    def result(self, method: str) -> Json:
        if method == "server/discover" and self.is_modern:
            return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"}
        if method == "tools/list":
            return {"tools": [TOOL], "resultType": "complete"}
        info = {"name": "odd", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}

    def do_GET(self) -> None:
        is_odd = self.odd == "GET"
        self.say(self.status if is_odd else 405, self.given if is_odd else (), self.body if is_odd else b"")

    def do_DELETE(self) -> None:
        is_odd = self.odd == "DELETE"
        self.say(self.status if is_odd else 200, self.given if is_odd else (), self.body if is_odd else b"")

    def say(self, status: int, headers: tuple[tuple[str, str], ...], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if status in (204, 304) else body)

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_address[1]}/mcp"
        listening.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def gateway(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    compact = {"url": server, "handfast": {"surface": "compact"}}
    with running({"up": {"url": server}, "small": compact}, tmp_path_factory.mktemp("odd"), **STRICT) as serving:
        yield serving


def says(
    status: int, body: Json = "", *given: tuple[str, str], odd: str = "tools/call", is_modern: bool = False
) -> None:
    Odd.status, Odd.given, Odd.odd, Odd.is_modern = status, given, odd, is_modern
    text = body if isinstance(body, str) else json.dumps(body).replace('"$ID"', "$ID")
    Odd.body = text.encode()


def error(request_id: Json) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": -1, "message": MARK}}


def answer(request_id: Json) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "result": RESULT}


def batch() -> Json:
    return [answer("$ID"), error(1)]


TWICE = json.dumps(answer("$ID")).replace('"$ID"', "$ID")[:-1] + ',"result":{"structuredContent":{"n":1}}}'
# The server, whether the client is modern, and the call. The server is a legacy one.
WAYS: dict[str, tuple[str, bool, Json]] = {
    "relayed": ("up", False, {"name": "t", "arguments": {}}),
    "bridged": ("up", True, {"name": "t", "arguments": {}}),
    "combined": ("", False, {"name": "up__t", "arguments": {}}),
    "combined, bridged": ("", True, {"name": "up__t", "arguments": {}}),
    "compact": ("small", False, {"name": "small", "arguments": {"action": "t", "arguments": {}}}),
    "compact, bridged": ("small", True, {"name": "small", "arguments": {"action": "t", "arguments": {}}}),
}
ODD_ANSWERS = [
    pytest.param(500, MARK, (("Content-Type", "text/html"),), id="html"),
    pytest.param(400, error(None), (JSON_TYPE,), id="no id"),
    pytest.param(400, error(999), (JSON_TYPE,), id="another id"),
    pytest.param(400, error(None) | {"error": {"code": 10**40, "message": MARK}}, (JSON_TYPE,), id="huge number"),
    pytest.param(400, error(None) | {"error": {"code": -32000, "message": MARK}}, (JSON_TYPE,), id="no session"),
    pytest.param(404, answer(999), (JSON_TYPE,), id="another result"),
    pytest.param(400, batch(), (JSON_TYPE,), id="batch"),
    pytest.param(403, TWICE, (JSON_TYPE,), id="twice"),
    pytest.param(400, answer("$ID"), (("Content-Type", "text/plain"),), id="text"),
    pytest.param(429, answer("$ID"), (JSON_TYPE, JSON_TYPE), id="two types"),
    pytest.param(503, answer("$ID"), (("Content-Type", "application/json; charset=utf-7"),), id="charset"),
    pytest.param(401, "data: " + json.dumps(answer(1)) + "\n\n", (EVENTS_TYPE,), id="events"),
    pytest.param(418, MARK, (), id="no type"),
    pytest.param(302, answer("$ID"), (JSON_TYPE,), id="redirect"),
    pytest.param(200, answer("$ID"), (JSON_TYPE, ("Content-Type", "text/plain")), id="two types of 200"),
    pytest.param(200, answer("$ID"), (("Content-Type", "application/json; charset=utf-16"),), id="charset of 200"),
    pytest.param(200, MARK, (("Content-Type", "application/xml"),), id="xml"),
    pytest.param(200, "data: x\n\n", (("Content-Type", "text/event-stream; charset=utf-7"),), id="events in utf-7"),
    pytest.param(203, answer(999), (JSON_TYPE,), id="another status"),
    pytest.param(700, answer("$ID"), (("Content-Type", "text/plain"),), id="impossible status"),
]


@pytest.mark.requirement("S7")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("status", "body", "given"), ODD_ANSWERS)
def test_what_is_no_answer_to_the_call_is_our_own_error(
    gateway: Serving, way: str, status: int, body: Json, given: tuple[tuple[str, str], ...]
) -> None:
    says(status, body, *given)
    server, is_modern, called = WAYS[way]
    client = gateway.client(server, is_modern=is_modern, opens=False)
    client.path = f"/mcp/{server}" if server else "/mcp"
    client.open()
    before = len(read_records(gateway.state, type="tool_call", tool="t"))
    got = post(client, called)
    assert_own(got.body, got.headers)
    if way == "relayed" and 400 <= status < 600:
        assert got.status == status
    eventually(lambda: len(read_records(gateway.state, type="tool_call", tool="t")) > before, "its record")


def assert_own(body: bytes, headers: Json) -> None:
    """One answer of ours to the request that was asked."""
    assert headers["content-type"] in ("application/json", "text/event-stream")
    assert MARK.encode() not in body
    text = body if headers["content-type"] == "application/json" else body.split(b"data: ", 1)[1]
    message = json.loads(text)
    assert message["id"] is not None
    if "error" in message:
        assert message["error"]["code"] in (-31001, -31002) or "HTTP status" in message["error"]["message"]
    else:
        assert message["result"]["isError"] is True


@pytest.mark.requirement("S7")
@pytest.mark.parametrize(("status", "body", "given"), ODD_ANSWERS)
def test_neither_is_it_from_a_modern_server(
    server: str, tmp_path: Path, status: int, body: Json, given: tuple[tuple[str, str], ...]
) -> None:
    says(status, body, *given, is_modern=True)
    with running({"up": {"url": server}}, tmp_path, **STRICT) as gateway:
        got = post(gateway.client(is_modern=True), {"name": "t", "arguments": {}})
    assert_own(got.body, got.headers)
    assert got.status == (status if 400 <= status < 600 else 502 if status >= 600 else 200)


@pytest.mark.requirement("S7")
@pytest.mark.parametrize(("status", "body", "given"), ODD_ANSWERS)
def test_neither_with_wrap(
    server: str, tmp_path: Path, status: int, body: Json, given: tuple[tuple[str, str], ...]
) -> None:
    says(status, body, *given)
    with wrapped(server, tmp_path) as client:
        got = client.call("t")
    assert_own(got.raw, {"content-type": "application/json"})


@contextmanager
def wrapped(url: str, folder: Path) -> Iterator[WrapGateway]:
    config = folder / "handfast.json"
    config.write_text(json.dumps({"mcpServers": {}, **STRICT}))
    flags = ["--name", "up", "--config", str(config), "--state", str(folder / "state"), "--url", url]
    command = [*HANDFAST, "wrap", *flags]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        gateway = WrapGateway(process, folder / "state", is_modern=False)
        try:
            gateway.open()
            yield gateway
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(10)


@pytest.mark.requirement("S7")
@pytest.mark.parametrize(
    ("given", "wanted"),
    [(("Retry-After", "7"), "7"), (("Allow", "POST"), "POST"), (("WWW-Authenticate", "Bearer"), None)],
)
def test_what_clients_act_on_stays_beside_our_own_error(
    gateway: Serving, given: tuple[str, str], wanted: str | None
) -> None:
    says(503, MARK, ("Content-Type", "text/html"), given, ("Set-Cookie", "a=b"), ("Location", "/x"))
    got = post(gateway.client(), {"name": "t", "arguments": {}})
    assert (got.status, got.headers.get(given[0].lower())) == (503, wanted)
    assert not {"set-cookie", "location", "server"} & set(got.headers)


def post(client: HttpGateway, params: Json) -> Response:
    body = json.dumps(client.render("tools/call", params)).encode()
    return send(client.base, "POST", client.path, body, client.headers(body))


@pytest.mark.requirement("S7")
@pytest.mark.parametrize("is_modern", [False, True])
def test_an_error_of_the_server_s_that_answers_the_request_keeps_its_words_and_status(
    server: str, tmp_path: Path, is_modern: bool
) -> None:
    says(400, error("$ID"), ("Content-Type", 'application/json;charset="UTF-8"'), is_modern=is_modern)
    with running({"up": {"url": server}}, tmp_path, **STRICT) as gateway:
        got = post(gateway.client(is_modern=is_modern), {"name": "t", "arguments": {}})
    assert (got.status, got.error, got.headers["content-type"]) == (
        400, {"code": -1, "message": MARK}, "application/json"
    )  # fmt: skip


NOTIFIED = [
    pytest.param(200, answer(1), JSON_TYPE, 202, id="result"),
    pytest.param(202, MARK, ("Content-Type", "text/plain"), 202, id="text"),
    pytest.param(200, "data: " + json.dumps(answer(1)) + "\n\n", EVENTS_TYPE, 202, id="events"),
    pytest.param(404, answer(1), JSON_TYPE, 404, id="error"),
    pytest.param(302, MARK, ("Content-Type", "text/html"), 502, id="redirect"),
]


@pytest.mark.requirement("S7")
@pytest.mark.parametrize(("status", "body", "kind", "wanted"), NOTIFIED)
def test_thanks_for_a_notification_have_no_body_of_the_server_s(
    gateway: Serving, status: int, body: Json, kind: tuple[str, str], wanted: int
) -> None:
    client = gateway.client()
    says(status, body, kind, odd="notifications/roots/list_changed")
    message = b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'
    got = send(gateway.base, "POST", client.path, message, client.headers(message))
    assert (got.status, MARK.encode() in got.body) == (wanted, False)
    assert got.body == b"" if wanted == 202 else got.error["code"] == -31001


@pytest.mark.requirement("S7")
@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize(
    ("status", "body", "given"),
    [
        (200, answer(1), (JSON_TYPE,)),
        (405, MARK, (("Content-Type", "text/html"), ("Allow", "POST"))),
        (404, answer(1), (JSON_TYPE,)),
        (200, MARK, (EVENTS_TYPE, EVENTS_TYPE)),
        (500, "data: " + json.dumps(answer(1)) + "\n\n", (EVENTS_TYPE,)),
        (301, MARK, (("Content-Type", "text/html"),)),
        (200, "data: x\n\n", (("Content-Type", "text/event-stream; charset=utf-16"),)),
    ],
)
def test_a_get_or_delete_brings_no_body_of_the_server_s(
    gateway: Serving, method: str, status: int, body: Json, given: tuple[tuple[str, str], ...]
) -> None:
    client = gateway.client()
    says(status, body, *given, odd=method)
    headers = {"Mcp-Session-Id": client.session, "Accept": "text/event-stream"}
    got = send(gateway.base, method, client.path, headers=headers)
    assert MARK.encode() not in got.body
    expected = status if status >= 400 else 502 if status >= 300 else 405 if method == "GET" else 200
    assert got.status == expected
    assert got.headers.get("allow") == ("POST" if status == 405 else None)
    assert got.body == b"" if got.status == 200 else got.error["code"] == -31001


@pytest.mark.requirement("S1")
def test_of_an_answer_s_headers_only_those_on_the_list_reach_the_client(gateway: Serving) -> None:
    result = {"content": [], "structuredContent": {"n": 1}}
    given = [JSON_TYPE, ("Set-Cookie", "a=b"), ("X-Rate", "1"), ("Access-Control-Allow-Origin", "*")]
    says(200, {"jsonrpc": "2.0", "id": "$ID", "result": result}, *given)
    got = post(gateway.client(), {"name": "t", "arguments": {}})
    assert set(got.headers) == {"content-type", "content-length", "date"}
    assert json.loads(got.body)["result"] == result


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("accept", ["application/xml", "text/event-stream;charset=utf-16", "*/*"])
def test_whatever_a_client_accepts_it_gets_what_we_read(gateway: Serving, accept: str) -> None:
    says(406, MARK, ("Content-Type", "application/xml"))
    client = gateway.client()
    body = json.dumps(client.render("tools/call", {"name": "t", "arguments": {}})).encode()
    got = send(gateway.base, "POST", client.path, body, client.headers(body) | {"Accept": accept})
    assert got.status == 406
    assert_own(got.body, got.headers)
