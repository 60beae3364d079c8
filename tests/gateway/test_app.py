"""The gateway's routes: what is refused before any server sees it, each time with a clear error."""

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.contracts.rig import Json
from tests.gateway.running import TEXT, Serving, at_once, eventually, read_records, running, send, stdio
from tests.stubs.run import Stub, answer, tool, write_stub

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
LIMIT = 4096


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Stub:
    return write_stub(tmp_path_factory.mktemp("stub"), tools=[tool("add")], answers={"add": answer(TEXT)})


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, stub: Stub) -> Iterator[Serving]:
    servers = {"up": stdio(stub), "off": stdio(stub, disabled=True)}
    with running(servers, tmp_path_factory.mktemp("app"), limits={"body_bytes": LIMIT}) as serving:
        yield serving


@pytest.fixture(autouse=True)
def _others_are_not_disturbed(gateway: Serving) -> Iterator[None]:
    yield
    assert gateway.client().call("add").text == "fine"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', -32700),
        (b'"text"', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping\xff"}', -32700),
        (b"\xef\xbb\xbf{}", -32700),
        (b"{}", -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', -32600),
    ],
)
def test_what_is_no_message_is_a_bad_request(gateway: Serving, body: bytes, code: int) -> None:
    refused = send(gateway.base, "POST", "/mcp/up", body, JSON)
    assert (refused.status, refused.error["code"]) == (400, code)


@pytest.mark.requirement("B4")
def test_a_batch_is_refused(gateway: Serving) -> None:
    refused = send(gateway.base, "POST", "/mcp/up", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', JSON)
    error = {"code": -32600, "message": "A batch is not supported. Send one message at a time."}
    assert (refused.status, refused.error) == (400, error)


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_another_content_type_is_refused(gateway: Serving, kind: str | None) -> None:
    refused = send(gateway.base, "POST", "/mcp/up", b"{}", {} if kind is None else {"Content-Type": kind})
    text = "The body must be application/json in UTF-8. Send it so, with no other parameter."
    assert (refused.status, refused.error["message"]) == (415, text)


def test_a_charset_beside_the_content_type_is_fine(gateway: Serving) -> None:
    client = gateway.client()
    body = json.dumps(client.render("ping")).encode()
    headers = client.headers(body) | {"Content-Type": "Application/JSON; charset=utf-8"}
    assert client.post(body, headers).result == {}


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(gateway: Serving) -> None:
    address = urlsplit(gateway.base)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=10) as client:
        head = "POST /mcp/up HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: {LIMIT + 1}\r\n\r\n".encode())
        assert client.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_turns_out_too_large_is_refused(gateway: Serving) -> None:
    refused = send(gateway.base, "POST", "/mcp/up", iter([b" " * 1000] * 5), JSON)
    text = "The body is over the limit of 4096 bytes. Send a smaller one."
    assert (refused.status, refused.error["message"]) == (413, text)


def test_a_body_of_exactly_the_limit_is_not(gateway: Serving) -> None:
    client = gateway.client()
    body = json.dumps(client.render("ping")).encode().ljust(LIMIT)
    assert client.post(body).result == {}


@pytest.mark.parametrize("name", ["nobody", "off", "up/more", "../health"])
def test_an_unknown_server_is_not_found_and_the_known_ones_are_named(gateway: Serving, name: str) -> None:
    missing = send(gateway.base, "POST", f"/mcp/{name}", b"{}", JSON)
    assert missing.status == 404
    assert missing.error == {"code": -32600, "message": "There is no server of this name. Servers: up."}


def test_what_is_nowhere_is_not_found(gateway: Serving) -> None:
    missing = send(gateway.base, "GET", "/")
    text = "There is nothing here. Use /mcp, or /mcp/<server>; servers: up."
    assert (missing.status, missing.error["message"]) == (404, text)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD"])
def test_another_method_is_not_allowed(gateway: Serving, method: str) -> None:
    refused = send(gateway.base, method, "/mcp/up")
    assert (refused.status, refused.headers["allow"]) == (405, "POST, GET, DELETE")


def test_health_names_the_servers_and_how_they_are(gateway: Serving) -> None:
    gateway.client()
    status, report = gateway.health()
    states = {name: server["state"] for name, server in report.pop("servers").items()}
    assert (status, report, states) == (200, {"status": "ok", "recording": "ok"}, {"off": "disabled", "up": "up"})


def test_an_unknown_tool_is_the_servers_to_refuse(gateway: Serving) -> None:
    assert gateway.client().call("nothing").message["error"] == {"code": -32602, "message": "Unknown tool"}
    (record,) = eventually(lambda: read_records(gateway.state, tool="nothing"), "the record")
    assert (record.type, record.status) == ("tool_call", "error")


def test_a_call_without_a_tools_name_is_refused(gateway: Serving, stub: Stub) -> None:
    client = gateway.client()
    for params in ({}, {"name": 7}, {"name": None}):
        error = client.request("tools/call", params).message["error"]
        assert error == {"code": -32602, "message": "params.name must be the name of a tool. Add it and call again."}
    assert all(entry.message["params"].get("name") in ("add", "nothing") for entry in calls(stub))


def calls(stub: Stub) -> list[Json]:
    return [entry for entry in stub.journal.messages() if entry.message["method"] == "tools/call"]


def test_bad_requests_beside_good_ones_change_nothing(gateway: Serving) -> None:
    client = gateway.client()
    good = [lambda: client.call("add").text] * 10
    bad = [lambda: str(send(gateway.base, "POST", "/mcp/up", b"{", JSON).status)] * 10
    assert sorted(at_once(*good, *bad)) == ["400"] * 10 + ["fine"] * 10
