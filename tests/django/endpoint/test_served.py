"""The endpoint behind real servers, WSGI and ASGI: what HTTP itself can do to it."""

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from tests.django.endpoint.live import WAYS, Way, running_project
from tests.django.endpoint.offered import body

JSON = {"Content-Type": "application/json"}
PONG = {"jsonrpc": "2.0", "id": 1, "result": {}}
HEARD = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


@pytest.fixture(scope="module", params=WAYS)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Way, str]]:
    way: Way = request.param
    with running_project(way, tmp_path_factory.mktemp(way)) as url:
        yield way, url


def connect(url: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)


def ask(url: str, method: str = "POST", content: object = b"", **headers: str) -> tuple[int, bytes]:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection = connect(url)
    try:
        connection.request(method, urlsplit(url).path, content, {**JSON, **names})  # type: ignore[arg-type]  # chunks too
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.quick
def test_one_connection_serves_many_messages(served: tuple[Way, str]) -> None:
    connection = connect(served[1])
    try:
        for number in range(5):
            connection.request("POST", "/mcp/", body("ping", id=number), JSON)
            response = connection.getresponse()
            assert (response.status, json.loads(response.read())) == (200, {**PONG, "id": number})
            connection.request("POST", "/mcp/", HEARD, JSON)
            response = connection.getresponse()
            assert (response.status, response.read()) == (202, b"")
    finally:
        connection.close()


def test_many_clients_at_once_each_get_their_own_answer(served: tuple[Way, str]) -> None:
    def ping(number: int) -> object:
        return json.loads(ask(served[1], content=body("ping", id=number))[1])["id"]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ping, range(40))) == list(range(40))


def test_a_body_in_chunks_is_read_or_its_length_asked_for(served: tuple[Way, str]) -> None:
    way, url = served
    status, answer = ask(url, content=iter([body("ping")[:10], body("ping")[10:]]))
    if way == "asgi":
        assert (status, json.loads(answer)) == (200, PONG)
    else:
        assert (status, json.loads(answer)["error"]["code"]) == (411, -32600)


def test_a_body_over_the_bound_is_refused_in_json(served: tuple[Way, str]) -> None:
    status, answer = ask(served[1], content=b" " * (3 * 1024 * 1024))
    assert (status, json.loads(answer)["error"]["code"]) == (413, -31004)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_is_nothing_to_get_and_nothing_to_end(served: tuple[Way, str], method: str) -> None:
    status, answer = ask(served[1], method, Accept="text/event-stream")
    assert (status, json.loads(answer)["error"]["code"]) == (405, -32600)


def test_head_and_options_have_no_body(served: tuple[Way, str]) -> None:
    assert ask(served[1], "HEAD") == (405, b"")
    assert ask(served[1], "OPTIONS") == (204, b"")


def test_a_header_that_comes_twice_is_refused(served: tuple[Way, str]) -> None:
    connection = connect(served[1])
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    content = body("tools/list", {"_meta": meta})
    try:
        connection.putrequest("POST", "/mcp/")
        for name, value in [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(content))),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/list"),
            ("Mcp-Method", "tools/list"),
        ]:
            connection.putheader(name, value)
        connection.endheaders(content)
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["error"]["code"]) == (400, -32020)
    finally:
        connection.close()
