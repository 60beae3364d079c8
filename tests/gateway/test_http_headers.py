"""Which headers travel, and which never do."""

from pathlib import Path

import pytest

from handfast.gateway.http_headers import to_client, to_upstream
from tests.gateway.running import TEXT, running
from tests.stubs.run import answer, serving, tool, write_stub


def test_a_clients_credentials_and_this_hops_headers_stay_here() -> None:
    private = [b"authorization", b"cookie", b"origin", b"host", b"referer", b"proxy-authorization", b"expect"]
    hop = [b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"content-length"]
    kept = [(b"mcp-session-id", b"s"), (b"mcp-param-x", b"1"), (b"last-event-id", b"7"), (b"traceparent", b"00-")]
    assert to_upstream([*kept, *((name, b"x") for name in [*private, *hop, b"accept-encoding"])], []) == kept


def test_what_the_operator_configured_wins() -> None:
    given = [(b"x-key", b"client"), (b"accept", b"*/*")]
    configured = [(b"x-key", b"operator"), (b"authorization", b"Bearer o")]
    assert to_upstream(given, configured) == [(b"accept", b"*/*"), *configured]


def test_what_connection_names_is_for_one_hop() -> None:
    given = [(b"connection", b"close, X-Hop"), (b"x-hop", b"1"), (b"x-far", b"2")]
    assert to_upstream(given, []) == to_client(given) == [(b"x-far", b"2")]


def test_a_servers_cookies_and_framing_do_not_reach_the_client() -> None:
    given = [(b"set-cookie", b"a"), (b"content-length", b"1"), (b"server", b"x"), (b"date", b"d"), (b"x-rate", b"5")]
    assert to_client(given) == [(b"x-rate", b"5")]


@pytest.mark.requirement("B7")
def test_headers_on_the_wire(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)}, sessions=False)
    with serving(stub, "http-json") as url:
        entry = {"url": url, "headers": {"Authorization": "Bearer operator"}}
        with running({"up": entry}, tmp_path) as gateway:
            client = gateway.client()
            body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}'
            given = {
                "Authorization": "Bearer client",
                "Cookie": "c=1",
                "Mcp-Param-Region": "eu",
                "Accept-Encoding": "br",
            }
            assert client.post(body, client.headers(body) | given).text == "fine"
    (reached,) = stub.journal.calls("add")
    named = {
        name: reached.headers.get(name) for name in ("authorization", "cookie", "mcp-param-region", "accept-encoding")
    }
    assert named == {
        "authorization": "Bearer operator",
        "cookie": None,
        "mcp-param-region": "eu",
        "accept-encoding": "identity",
    }
