"""Which era a request is of, by what it says and by its headers."""

import json

import pytest

from handfast.gateway.client_era import is_modern
from handfast.gateway.http_exchange import HttpExchange, Receive, Scope, Send
from handfast.wire.message import read_message

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def _exchange(headers: dict[bytes, bytes]) -> HttpExchange:
    scope: Scope = {"method": "POST", "path": "/mcp", "headers": list(headers.items())}

    async def receive() -> dict[str, object]:
        raise AssertionError

    async def send(_event: object) -> None:
        raise AssertionError

    given: Receive = receive
    taken: Send = send
    return HttpExchange(scope, given, taken)


@pytest.mark.parametrize(
    ("method", "meta", "header", "expected"),
    [
        ("tools/list", META, b"2026-07-28", True),
        ("tools/list", META, b"", True),
        ("tools/list", {}, b"2026-07-28", True),
        ("tools/list", {}, b"2025-11-25", False),
        ("initialize", {}, b"2026-07-28", False),
        ("initialize", META, b"", True),
        ("notifications/initialized", {}, b"2026-07-28", False),
    ],
)
def test_a_request_is_modern_by_its_own_word_or_by_its_header(
    method: str, meta: dict[str, str], header: bytes, expected: bool
) -> None:
    message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": {"_meta": meta}}
    if not method.startswith("notifications/"):
        message["id"] = 1
    http = _exchange({b"mcp-protocol-version": header})
    assert is_modern(http, read_message(json.dumps(message).encode())) is expected


def test_what_can_be_read_in_two_ways_is_not_taken_for_modern() -> None:
    params = '{"_meta":{},"_META":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}'
    raw = '{"jsonrpc":"2.0","id":1,"method":"x","params":' + params + "}"
    assert is_modern(_exchange({}), read_message(raw.encode())) is False
