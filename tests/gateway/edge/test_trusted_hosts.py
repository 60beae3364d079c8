"""Host and Origin: which a gateway on this machine answers, and that every route asks."""

from collections.abc import Iterator

import pytest

from handfast.gateway.edge.trusted_hosts import check_host, check_origin
from handfast.gateway.http.exchange import HttpProblem
from handfast.gateway.settings import Settings
from tests.gateway.running import Serving, running, send

SETTINGS = Settings(listen="10.1.2.3:8480", allowed_hosts=("gate.example", "port.example:99"))
ORIGINS = Settings(allowed_origins=("https://app.example",))


@pytest.mark.parametrize(
    "host",
    [
        b"localhost",
        b"LocalHost:8480",
        b"127.0.0.1:1",
        b"[::1]",
        b"[::1]:8480",
        b"10.1.2.3:8480",
        b"gate.example",
        b"gate.example:8480",
        b"port.example:99",
    ],
)
def test_a_host_of_ours_is_served(host: bytes) -> None:
    check_host(host, SETTINGS)


@pytest.mark.requirement("S7")
@pytest.mark.parametrize(
    "host",
    [
        None,
        b"",
        b"evil.example",
        b"localhost.evil.example",
        b"port.example:98",
        b"0.0.0.0:8480",
        b"[::2]",
        b"[::1]evil.example",
        b"[::1]:evil.example",
        b"[::1",
        b"localhost:",
        b"localhost:99999",
        b"localhost:80:evil.example",
        b"localhost:8a",
        b"localhost.",
        b"127.0.0.1.",
        b"127.1",
        b"localhost@evil.example",
        b"evil.example@localhost",
        b"localhost, evil.example",
        b"localhost evil.example",
        b"localhost/evil.example",
        b"http://localhost",
        b"localhost\n",
        b"localhost\xa0",
        "localh\u00f6st".encode(),
        b"gate.example:",
    ],
)
def test_any_other_host_is_refused(host: bytes | None) -> None:
    with pytest.raises(HttpProblem) as refusal:
        check_host(host, SETTINGS)
    assert refusal.value.status == 403


def test_listening_everywhere_does_not_make_every_host_ours() -> None:
    with pytest.raises(HttpProblem):
        check_host(b"0.0.0.0:8480", Settings(listen="0.0.0.0:8480"))


@pytest.mark.parametrize(
    "origin", [None, b"http://localhost:3000", b"https://127.0.0.1", b"http://[::1]:5173", b"https://app.example"]
)
def test_pages_of_this_machine_and_allowed_ones_may_speak(origin: bytes | None) -> None:
    check_origin(origin, ORIGINS)


@pytest.mark.requirement("S7")
@pytest.mark.parametrize(
    "origin",
    [
        b"https://evil.example",
        b"http://localhost.evil.example",
        b"null",
        b"",
        b"file://localhost",
        b"http://app.example",
        b"http://[",
        b"http://[::1",
        b"\xff\xfe",
        b"http://evil.example@localhost",
        b"http://localhost@evil.example",
        b"http://localhost:",
        b"http://localhost:99999",
        b"http://localhost:80:80",
        b"http://localhost/",
        b"http://localhost/evil.example",
        b"http://localhost?evil.example",
        b"http://localhost#",
        b"http://localhost.",
        b"http://[::1]evil.example",
        b"http:localhost",
        b"http://localhost\\.evil.example",
        b"http://localhost https://evil.example",
        b"http://localhost\n",
        b"https://app.example:443",
        b"https://app.example.",
    ],
)
def test_pages_of_any_other_origin_may_not(origin: bytes) -> None:
    with pytest.raises(HttpProblem) as refusal:
        check_origin(origin, ORIGINS)
    assert refusal.value.status == 403


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with running({"up": {"command": "true"}}, tmp_path_factory.mktemp("hosts"), allowed_hosts=["Gate.Example"]) as it:
        yield it


@pytest.mark.parametrize("path", ["/health", "/mcp/up", "/mcp/nobody", "/"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_every_route_refuses_strangers_before_it_looks_at_anything_else(
    gateway: Serving, method: str, path: str
) -> None:
    assert send(gateway.base, method, path, headers={"Host": "evil.example"}).status == 403
    assert send(gateway.base, method, path, headers={"Origin": "https://evil.example"}).status == 403
    assert send(gateway.base, method, path, headers={"Origin": "http://["}).status == 403


def test_a_host_is_allowed_however_its_case_is_written(gateway: Serving) -> None:
    assert send(gateway.base, "GET", "/health", headers={"Host": "gate.example"}).status == 200
    assert send(gateway.base, "GET", "/health", headers={"Host": "GATE.example:80"}).status == 200


def test_a_refusal_says_what_to_do(gateway: Serving) -> None:
    refused = send(gateway.base, "GET", "/health", headers={"Host": "evil.example"})
    text = "This Host is not served here. Add it to allowed_hosts if it should be."
    assert (refused.headers["content-type"], refused.error) == ("application/json", {"code": -32600, "message": text})
