"""Which era a request is of, which HTTP status 2026-07-28 asks for, and which answers show that a server speaks it."""

import json

import pytest

from handfast.wire.eras import http_status, is_discovery, is_modern, opens_modern
from handfast.wire.message import read_message

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


@pytest.mark.parametrize(
    ("method", "meta", "header", "expected"),
    [
        ("tools/list", META, b"2026-07-28", True),
        ("tools/list", META, None, True),
        ("tools/list", {}, b"2026-07-28", True),
        ("tools/list", {}, b"2025-11-25", False),
        ("tools/list", {}, None, False),
        ("initialize", {}, b"2026-07-28", False),
        ("initialize", META, None, True),
        ("notifications/initialized", {}, b"2026-07-28", False),
    ],
)
def test_a_request_is_modern_by_its_own_word_or_by_its_header(
    method: str, meta: dict[str, str], header: bytes | None, expected: bool
) -> None:
    message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": {"_meta": meta}}
    if not method.startswith("notifications/"):
        message["id"] = 1
    found = read_message(json.dumps(message).encode())
    assert is_modern(found, header) is expected
    assert is_modern(found, header, b"a session") is False, "no modern client has one"


@pytest.mark.parametrize(
    ("method", "meta", "expected"),
    [("initialize", {}, False), ("initialize", META, True), ("tools/list", META, True), ("tools/list", {}, None)],
)
def test_what_a_client_sends_first_on_a_line_tells_its_era(
    method: str, meta: dict[str, str], expected: bool | None
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}}
    assert opens_modern(read_message(json.dumps(message).encode())) is expected


def test_what_can_be_read_in_two_ways_is_not_taken_for_modern() -> None:
    params = '{"_meta":{},"_META":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}'
    raw = '{"jsonrpc":"2.0","id":1,"method":"x","params":' + params + "}"
    assert is_modern(read_message(raw.encode()), None) is False


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ('"result":{}', 200),
        ('"result":{"error":{"code":-32601}}', 200),
        ('"error":{"code":-32601,"message":"x"}', 404),
        ('"error":{"code":-32020,"message":"x"}', 400),
        ('"error":{"code":-32021,"message":"x"}', 400),
        ('"error":{"code":-32022,"message":"x"}', 400),
        ('"error":{"code":-32602,"message":"x"}', 200),
        ('"error":{"message":"x"}', 200),
        ('"error":{"code":"-32601"}', 200),
        ('"error":"text"', 200),
    ],
)
def test_errors_of_the_envelope_have_a_status_of_their_own(answer: str, status: int) -> None:
    assert http_status(read_message(f'{{"jsonrpc":"2.0","id":1,{answer}}}'.encode())) == status


@pytest.mark.parametrize(
    ("answer", "is_modern"),
    [
        ('"result":{"supportedVersions":["2025-11-25","2026-07-28"]}', True),
        ('"result":{"supportedVersions":["2025-11-25"]}', False),
        ('"result":{"supportedVersions":"2026-07-28"}', False),
        ('"result":{}', False),
        ('"error":{"code":-32022,"message":"x","data":{"supported":["2026-07-28"],"requested":"y"}}', True),
        ('"error":{"code":-32022,"message":"x","data":{"supported":["2025-11-25"]}}', False),
        ('"error":{"code":-32022,"message":"x"}', False),
        ('"error":{"code":-32602,"message":"x","data":{"supported":["2026-07-28"]}}', False),
        ('"error":{"code":-32601,"message":"x"}', False),
    ],
)
def test_a_server_speaks_the_modern_revision_when_it_says_so_also_in_a_refusal(answer: str, is_modern: bool) -> None:
    assert is_discovery(read_message(f'{{"jsonrpc":"2.0","id":1,{answer}}}'.encode())) is is_modern
