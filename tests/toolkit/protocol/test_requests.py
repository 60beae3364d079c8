"""Messages as they come: sound ones go on, the others are answered at once."""

import json

import pytest

from handfast.toolkit.protocol.requests import HEARD, ClientRequest, Headers, PostReply, read_request
from tests.django.endpoint.offered import MODERN, body, modern

VERSION = "io.modelcontextprotocol/protocolVersion"
SUPPORTED = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


def code_of(raw: bytes, headers: Headers | None = None) -> tuple[int, int, object]:
    """Status, code and id of what is answered in the request's place."""
    found = read_request(raw, headers or [])
    assert isinstance(found, PostReply)
    message = json.loads(found.body)
    return found.status, message["error"]["code"], message["id"]


def test_a_sound_request_goes_on_in_its_era() -> None:
    found = read_request(body("tools/list"), [])
    assert isinstance(found, ClientRequest)
    assert (found.message.method, found.is_modern) == ("tools/list", False)
    found = read_request(*modern("tools/list"))
    assert isinstance(found, ClientRequest)
    assert (found.message.method, found.is_modern) == ("tools/list", True)


@pytest.mark.parametrize(
    ("raw", "code", "request_id"),
    [
        (b"", -32700, None),
        (b"nonsense", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"', -32700, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700, 1),
        (b'"text"', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', -32700, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":Infinity}}}', -32700, 1),
        (b'{"id":1,"method":"tools/list"}', -32600, 1),
        (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"tools/list"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","result":{}}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}', -32600, 2),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","name":"b"}}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","Name":"b"}}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"deep":{"a":1,"a":2}}}', -32600, 1),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"a":{"b":1,"b":1}}}}',
            -32600,
            1,
        ),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\\ud800"}}', -32600, 1),
    ],
)
def test_what_is_no_sound_request_is_refused(raw: bytes, code: int, request_id: object) -> None:
    assert code_of(raw) == (400, code, request_id)


def test_a_meta_that_is_no_object_is_refused_as_a_sound_message_would_be() -> None:
    assert code_of(body("tools/list", {"_meta": 5})) == (200, -32602, 1)
    assert isinstance(read_request(body("tools/list", {"_meta": None}), []), ClientRequest)


def test_arguments_of_a_call_are_left_to_the_one_path() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":1,"a":2}}}'
    assert isinstance(read_request(raw, []), ClientRequest)


def test_a_message_that_is_deep_beyond_reading_is_refused() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":' + b"[" * 5000 + b"]" * 5000 + b"}}"
    assert code_of(raw) == (400, -32600, 1)


# --- what wants no answer --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, b"2025-06-18", b"2025-11-25", b"2026-07-28"])
@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "notifications/x"])
def test_a_notification_is_heard(version: bytes | None, method: str) -> None:
    raw = json.dumps({"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}}).encode()
    assert read_request(raw, [(b"mcp-protocol-version", version)] if version else []) == HEARD


@pytest.mark.parametrize("version", [None, b"2025-06-18", b"2025-11-25", b"2026-07-28"])
@pytest.mark.parametrize("method", ["x", "tools/call"])
def test_what_wants_no_answer_is_a_notification_or_refused(version: bytes | None, method: str) -> None:
    raw = json.dumps({"jsonrpc": "2.0", "method": method, "params": {"name": "x"}}).encode()
    assert code_of(raw, [(b"mcp-protocol-version", version)] if version else []) == (400, -32600, None)


def test_a_notification_of_an_unknown_revision_is_refused() -> None:
    raw = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    assert code_of(raw, [(b"mcp-protocol-version", b"1999-01-01")]) == (400, -32022, None)


@pytest.mark.parametrize("raw", [b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","id":1,"error":{}}'])
def test_an_answer_is_heard_from_legacy_clients_alone(raw: bytes) -> None:
    assert read_request(raw, []) == HEARD
    assert read_request(raw, [(b"mcp-protocol-version", b"2025-11-25")]) == HEARD
    assert code_of(raw, [(b"mcp-protocol-version", b"2026-07-28")]) == (400, -32600, None)


# --- revisions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [b"2024-11-05", b"2025-03-26", b"2025-06-18", b"2025-11-25"])
def test_a_legacy_request_may_name_any_legacy_revision(version: bytes) -> None:
    assert isinstance(read_request(body("tools/list"), [(b"mcp-protocol-version", version)]), ClientRequest)


def test_a_revision_that_nobody_knows_is_answered_with_those_that_are_spoken() -> None:
    found = read_request(body("tools/list"), [(b"mcp-protocol-version", b"1999-01-01")])
    assert isinstance(found, PostReply)
    error = json.loads(found.body)["error"]
    assert (found.status, error["code"]) == (400, -32022)
    assert error["data"] == {"supported": SUPPORTED, "requested": "1999-01-01"}


def test_so_is_one_that_the_body_names() -> None:
    raw = body("tools/list", {"_meta": {**MODERN, VERSION: "2099-01-01"}})
    headers = [(b"mcp-protocol-version", b"2099-01-01"), (b"mcp-method", b"tools/list")]
    found = read_request(raw, headers)
    assert isinstance(found, PostReply)
    error = json.loads(found.body)["error"]
    assert (found.status, error["code"]) == (400, -32022)
    assert error["data"] == {"supported": SUPPORTED, "requested": "2099-01-01"}


@pytest.mark.parametrize("version", [b"2026-07-28", b"1999-01-01"])
def test_a_handshake_is_not_judged_by_the_header_of_an_earlier_attempt(version: bytes) -> None:
    assert isinstance(read_request(body("initialize"), [(b"mcp-protocol-version", version)]), ClientRequest)


# --- what a modern request must say ----------------------------------------------------------------------------------


@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_every_header_of_a_modern_call_must_be_there(left_out: int) -> None:
    raw, headers = modern("tools/call", {"name": "add", "arguments": {}})
    del headers[left_out]
    assert code_of(raw, headers) == (400, -32020, 1)


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_every_header_of_a_modern_call_must_agree_with_the_body(wrong: int) -> None:
    raw, headers = modern("tools/call", {"name": "add", "arguments": {}})
    headers[wrong] = (headers[wrong][0], b"other")
    assert code_of(raw, headers) == (400, -32020, 1)


def test_a_name_that_is_not_plain_travels_encoded() -> None:
    raw, headers = modern("tools/call", {"name": "é", "arguments": {}})
    assert isinstance(read_request(raw, [*headers[:2], (b"mcp-name", b"=?base64?w6k=?=")]), ClientRequest)
    assert code_of(raw, [*headers[:2], (b"mcp-name", b"=?base64?w6k?=")]) == (400, -32020, 1)


@pytest.mark.parametrize("left_out", sorted(MODERN))
def test_a_modern_request_must_say_its_revision_and_what_its_client_can_do(left_out: str) -> None:
    meta = {key: value for key, value in MODERN.items() if key != left_out}
    headers = [(b"mcp-protocol-version", b"2026-07-28"), (b"mcp-method", b"tools/list")]
    assert code_of(body("tools/list", {"_meta": meta}), headers) == (400, -32602, 1)


def test_what_only_the_handshakes_revisions_have_is_not_found() -> None:
    assert code_of(*modern("ping")) == (404, -32601, 1)
