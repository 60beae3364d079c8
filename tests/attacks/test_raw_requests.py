"""Requests that no client library sends, byte by byte: what two readers could take differently goes no further."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.contracts.rig import Json
from tests.gateway.running import TEXT, Serving, eventually, read_records, running
from tests.stubs.run import Stub, answer, serving, tool, write_stub

HOST = b"Host: localhost"
PLAIN = b"Content-Type: application/json"
CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{}}}'
LENGTH = b"Content-Length: %d" % len(CALL)
CHUNKED = b"Transfer-Encoding: chunked"
IN_CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(CALL), CALL)
POST = b"POST /mcp/up HTTP/1.1"
GET = b"GET /health HTTP/1.1"


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Stub:
    return write_stub(
        tmp_path_factory.mktemp("stub"), tools=[tool("look")], answers={"look": answer(TEXT)}, sessions=False
    )


@pytest.fixture(scope="module")
def gateway(stub: Stub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(stub, "http-json") as url:
        entry = {"url": url, "handfast": {"forward_headers": ["X-Tenant"]}}
        with running({"up": entry}, tmp_path_factory.mktemp("raw")) as found:
            yield found


def connect(gateway: Serving) -> socket.socket:
    address = urlsplit(gateway.base)
    return socket.create_connection((address.hostname or "", address.port or 0), timeout=20)


def read_all(client: socket.socket) -> tuple[int, bytes]:
    found = b""
    while piece := client.recv(65536):
        found += piece
    return int(found.split(b" ", 2)[1]), found.partition(b"\r\n\r\n")[2]


def ask(gateway: Serving, opening: bytes, *lines: bytes, body: bytes = b"") -> tuple[int, bytes]:
    """The status and body of the answer to these very bytes."""
    with connect(gateway) as client:
        client.sendall(b"\r\n".join([opening, *lines, b"Connection: close", b"", body]))
        return read_all(client)


def calls(stub: Stub) -> int:
    return len(stub.journal.calls("look"))


@pytest.mark.requirement("S7")
def test_a_call_spelled_as_it_should_be_arrives(gateway: Serving, stub: Stub) -> None:
    before = calls(stub)
    assert ask(gateway, POST, HOST, PLAIN, LENGTH, body=CALL)[0] == 200
    assert ask(gateway, POST, HOST, PLAIN, CHUNKED, body=IN_CHUNKS)[0] == 200
    assert calls(stub) == before + 2


@pytest.mark.requirement("S7")
@pytest.mark.parametrize(
    "lines",
    [
        (HOST, HOST),
        (HOST, b"Host: evil.example"),
        (b"Host: evil.example", HOST),
        (HOST, b"Origin: http://localhost", b"Origin: https://evil.example"),
        (HOST, b"X-A: 1\r\n 2"),
        (HOST, b"X-A : 1"),
        (HOST, b"X-A: 1\x002"),
        (HOST, b"X-A: 1\x012"),
        (HOST, b"X-A: 1\x7f2"),
        (HOST, b"X-A: 1\r2"),
        (HOST, b"X-A: 1\nX-B: 2"),
        (HOST, b"Mcp-Session-Id: a", b"mcp-session-id: b"),
        (HOST, b"Last-Event-ID: 1", b"Last-Event-ID: 2"),
    ],
)
def test_a_head_that_reads_in_two_ways_is_a_bad_request(gateway: Serving, lines: tuple[bytes, ...]) -> None:
    assert ask(gateway, GET, *lines)[0] == 400


@pytest.mark.requirement("S7")
@pytest.mark.parametrize(
    "lines",
    [
        (),
        (b"Host:",),
        (b"Host: localhost:99999",),
        (b"Host: localhost:",),
        (b"Host: [::1]evil.example",),
        (b"Host: evil.example@localhost",),
        (b"Host: localhost, evil.example",),
        (HOST, b"Origin: http://evil.example@localhost"),
    ],
)
def test_a_host_or_origin_outside_the_grammar_is_refused(gateway: Serving, lines: tuple[bytes, ...]) -> None:
    assert ask(gateway, GET, *lines)[0] == 403


@pytest.mark.requirement("S7")
def test_the_host_of_a_whole_url_is_not_looked_at_and_that_of_the_header_is(gateway: Serving) -> None:
    whole = b"GET http://evil.example/health HTTP/1.1"
    assert ask(gateway, whole, HOST)[0] == 200
    assert ask(gateway, b"GET http://localhost/health HTTP/1.1", b"Host: evil.example")[0] == 403


@pytest.mark.requirement("S1")
@pytest.mark.requirement("S7")
@pytest.mark.parametrize(
    ("status", "lines", "body"),
    [
        (400, (PLAIN, LENGTH, CHUNKED), IN_CHUNKS),
        (400, (PLAIN, CHUNKED, LENGTH), IN_CHUNKS),
        (400, (PLAIN, LENGTH, LENGTH), CALL),
        (400, (PLAIN, b"Content-Length: +%d" % len(CALL)), CALL),
        (400, (PLAIN, b"Transfer-Encoding: xchunked"), IN_CHUNKS),
        (400, (PLAIN, b"Transfer-Encoding: gzip, chunked"), IN_CHUNKS),
        (400, (PLAIN, b"Transfer-Encoding: chunked, identity"), IN_CHUNKS),
        (400, (PLAIN, b"Transfer-Encoding: identity", CHUNKED), IN_CHUNKS),
        (400, (PLAIN, PLAIN, LENGTH), CALL),
        (400, (PLAIN, b"Content-Type: application/json; charset=utf-7", LENGTH), CALL),
        (400, (b"Content-Type: application/json; charset=utf-7", PLAIN, LENGTH), CALL),
        (415, (b"Content-Type: application/json; charset=utf-7", LENGTH), CALL),
        (415, (b"Content-Type: application/json, application/json", LENGTH), CALL),
        (415, (PLAIN, b"Content-Encoding: gzip", LENGTH), CALL),
        (400, (PLAIN, b"Content-Encoding: identity", b"Content-Encoding: gzip", LENGTH), CALL),
        (400, (PLAIN, b"Mcp-Name: look", b"Mcp-Name: look", LENGTH), CALL),
        (400, (PLAIN, b"Mcp-Name: pay", LENGTH), CALL),
        (400, (PLAIN, b"Mcp-Method: ping", LENGTH), CALL),
        (400, (PLAIN, b"Mcp-Param-A: 1", b"Mcp-Param-A: 1", LENGTH), CALL),
    ],
)
def test_a_call_whose_body_could_be_another_does_not_arrive(
    gateway: Serving, stub: Stub, status: int, lines: tuple[bytes, ...], body: bytes
) -> None:
    before = calls(stub)
    assert ask(gateway, POST, HOST, *lines, body=body)[0] == status
    assert calls(stub) == before


@pytest.mark.requirement("S7")
def test_what_was_refused_for_its_head_is_on_record(tmp_path: Path) -> None:
    with running({"up": {"command": "true"}}, tmp_path) as gateway:
        ask(gateway, POST, HOST, PLAIN, PLAIN, LENGTH, body=CALL)
        ask(gateway, b"POST /mcp/invented HTTP/1.1", HOST, PLAIN, PLAIN, LENGTH, body=CALL)
        eventually(lambda: len(read_records(gateway.state, rule="request.repeated_header")) == 2, "records")
    found = read_records(gateway.state, rule="request.repeated_header")
    assert [(record.type, record.status, record.server) for record in found] == [
        ("diagnostic", "blocked", "up"),
        ("diagnostic", "blocked", ""),
    ]


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("method", [b"GET", b"DELETE"])
def test_a_request_without_a_body_reaches_the_server_as_no_call(gateway: Serving, stub: Stub, method: bytes) -> None:
    before = len(stub.journal.entries())
    named = (b"Mcp-Method: tools/call", b"Mcp-Name: look", b"Mcp-Param-A: 1", b"Content-Length: %d" % len(CALL))
    assert ask(gateway, method + b" /mcp/up?a=b HTTP/1.1", HOST, PLAIN, *named, body=CALL)[0] == 405
    (reached,) = [entry for entry in stub.journal.entries()[before:] if entry.http]
    assert (reached.http, reached.bytes) == (f"{method.decode()} /mcp", b"")
    assert set(reached.headers) == {"host", "accept-encoding"}


@pytest.mark.requirement("S1")
def test_what_follows_a_body_is_no_header(gateway: Serving, stub: Stub) -> None:
    with connect(gateway) as client:
        head = [POST, HOST, PLAIN, CHUNKED, b"Expect: 100-continue", b"Connection: close", b"", b""]
        client.sendall(b"\r\n".join(head))
        assert client.recv(65536).startswith(b"HTTP/1.1 100 ")  # the gateway has seen the head, and reads the body
        trailers = b"Mcp-Name: pay\r\nMcp-Param-A: 1\r\nX-Tenant: other\r\nAccept: a/b\r\n\r\n"
        client.sendall(IN_CHUNKS.removesuffix(b"\r\n") + trailers)
        status, body = read_all(client)
    assert (status, json.loads(body)["id"]) == (200, 1)
    headers: Json = stub.journal.calls("look")[-1].headers
    assert not {"mcp-name", "mcp-param-a", "x-tenant", "accept"} & set(headers)
