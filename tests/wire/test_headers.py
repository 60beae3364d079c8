"""Headers of 2026-07-28 against the body they repeat."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.wire.headers import (
    check_envelope,
    check_modern_headers,
    decode_header,
    find_mismatch,
    find_param_mismatch,
)
from handfast.wire.message import read_message

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def check(headers: dict[bytes, bytes], method: str = "tools/call", **params: object) -> object:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": {VERSION: "2026-07-28"}}}
    problem = check_modern_headers(list(headers.items()), read_message(json.dumps(body).encode()))
    return None if problem is None else json.loads(problem)


RIGHT = {b"mcp-protocol-version": b"2026-07-28", b"mcp-method": b"tools/call", b"mcp-name": b"add"}


@pytest.mark.parametrize(
    ("headers", "method", "params"),
    [
        (RIGHT, "tools/call", {"name": "add"}),
        (RIGHT | {b"mcp-name": b"=?base64?w6k=?="}, "tools/call", {"name": "é"}),
        (RIGHT | {b"mcp-method": b"prompts/get"}, "prompts/get", {"name": "add"}),
        (RIGHT | {b"mcp-method": b"resources/read", b"mcp-name": b"x:y"}, "resources/read", {"uri": "x:y"}),
        ({b"mcp-protocol-version": b"2026-07-28", b"mcp-method": b"tools/list"}, "tools/list", {}),
    ],
)
def test_headers_that_agree_pass(headers: dict[bytes, bytes], method: str, params: dict[str, object]) -> None:
    assert check(headers, method, **params) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {b"mcp-name": b"other"},
        {b"mcp-name": b"ADD"},
        {b"mcp-name": b""},
        {b"mcp-name": b"=?base64?!!!?="},
        {b"mcp-method": b"tools/list"},
        {b"mcp-protocol-version": b"2025-11-25"},
    ],
)
def test_one_that_differs_is_a_header_mismatch(wrong: dict[bytes, bytes]) -> None:
    (name,) = wrong
    text = f"The header {name.decode()} is missing or differs from the body. Send both with the same value."
    assert check(RIGHT | wrong, name="add") == {"jsonrpc": "2.0", "id": 7, "error": {"code": -32020, "message": text}}


@pytest.mark.parametrize("missing", list(RIGHT))
def test_one_that_is_missing_is_too(missing: bytes) -> None:
    answer = check({name: value for name, value in RIGHT.items() if name != missing}, name="add")
    assert answer["error"]["code"] == -32020  # type: ignore[index]  # JSON


def test_an_ambiguous_body_is_left_to_who_has_a_better_word_for_it() -> None:
    body = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","name":"b"}}'
    assert check_modern_headers([], read_message(body)) is None
    assert check_envelope(read_message(body)) is None


# --- where the server sees the headers itself ------------------------------------------------------------------------


def differs(headers: dict[bytes, bytes], body: dict[str, object] | bytes) -> str | None:
    raw = body if isinstance(body, bytes) else json.dumps({"jsonrpc": "2.0", **body}).encode()
    return find_mismatch(headers.get, read_message(raw))


CALL: dict[str, object] = {"id": 1, "method": "tools/call", "params": {"name": "add"}}
MODERN: dict[str, object] = {"id": 1, "method": "tools/list", "params": {"_meta": {VERSION: "2026-07-28"}}}


@pytest.mark.requirement("S1")
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, CALL),
        ({b"mcp-method": b"tools/call"}, CALL),
        ({b"mcp-name": b" add\t"}, CALL),
        ({b"mcp-name": b"=?base64?YWRk?="}, CALL),
        ({b"mcp-protocol-version": b"2025-11-25"}, CALL),
        ({b"mcp-protocol-version": b"2026-07-28"}, MODERN),
        ({b"mcp-name": b"t"}, {"id": 1, "method": "tasks/get", "params": {"taskId": "t"}}),
        ({b"mcp-name": b"whatever", b"mcp-method": b"x/y"}, {"id": 1, "method": "x/y"}),
        ({b"mcp-method": b"notifications/x"}, {"method": "notifications/x"}),
        ({b"mcp-name": b"b"}, b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","name":"b"}}'),
    ],
)
def test_what_is_missing_or_agrees_is_left_to_the_server(
    headers: dict[bytes, bytes], body: dict[str, object] | bytes
) -> None:
    assert differs(headers, body) is None


@pytest.mark.requirement("S1")
@pytest.mark.parametrize(
    ("headers", "body", "name"),
    [
        ({b"mcp-method": b"ping"}, CALL, "Mcp-Method"),
        ({b"mcp-method": b"Tools/call"}, CALL, "Mcp-Method"),
        ({b"mcp-method": b""}, CALL, "Mcp-Method"),
        ({b"mcp-method": b"tools/call\x1f"}, CALL, "Mcp-Method"),
        ({b"mcp-method": b"tools/call"}, {"id": 1, "result": {}}, "Mcp-Method"),
        ({b"mcp-method": b"tools/call"}, {"method": "notifications/x"}, "Mcp-Method"),
        ({b"mcp-name": b"pay"}, CALL, "Mcp-Name"),
        ({b"mcp-name": b""}, CALL, "Mcp-Name"),
        ({b"mcp-name": b"add\xa0"}, CALL, "Mcp-Name"),
        ({b"mcp-name": "\u00e9".encode()}, {**CALL, "params": {"name": "\u00c3\u00a9"}}, "Mcp-Name"),
        ({b"mcp-name": b"\xe9"}, {**CALL, "params": {"name": "\u00e9"}}, "Mcp-Name"),
        ({b"mcp-name": b"=?base64?####?="}, {**CALL, "params": {"name": ""}}, "Mcp-Name"),
        ({b"mcp-name": b"add"}, {**CALL, "params": {}}, "Mcp-Name"),
        ({b"mcp-name": b"7"}, {**CALL, "params": {"name": 7}}, "Mcp-Name"),
        ({b"mcp-name": b"add"}, {"id": 1, "result": {}}, "Mcp-Name"),
        ({b"mcp-protocol-version": b"2025-11-25"}, MODERN, "MCP-Protocol-Version"),
    ],
)
def test_what_is_there_and_says_something_else_is_a_mismatch(
    headers: dict[bytes, bytes], body: dict[str, object], name: str
) -> None:
    assert differs(headers, body) == f"The header {name} differs from the body. Send both with the same value."


# --- what every modern request must say of itself --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("meta", "lacks"),
    [
        (None, f"{VERSION} and {CAPABILITIES}"),
        (7, f"{VERSION} and {CAPABILITIES}"),
        ({CAPABILITIES: {}}, VERSION),
        ({VERSION: "2026-07-28"}, CAPABILITIES),
    ],
)
def test_a_request_that_does_not_say_what_it_must_is_refused_under_its_own_id(meta: object, lacks: str) -> None:
    body = {"jsonrpc": "2.0", "id": "x", "method": "tools/list", "params": {"_meta": meta}}
    refused = check_envelope(read_message(json.dumps(body).encode()))
    text = f"params._meta lacks {lacks}. Add what is missing and send the request again."
    assert json.loads(refused or b"") == {"jsonrpc": "2.0", "id": "x", "error": {"code": -32602, "message": text}}


def test_a_request_that_says_what_it_must_passes() -> None:
    meta = {VERSION: "2026-07-28", CAPABILITIES: {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    assert check_envelope(read_message(json.dumps(body).encode())) is None


# --- arguments in headers --------------------------------------------------------------------------------------------

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "place": {"type": "object", "properties": {"floor": {"type": "integer", "x-mcp-header": "Floor"}}},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "free": {"type": "string"},
    },
}


def mismatch(arguments: object, *sent: tuple[bytes, bytes], schema: object = SCHEMA) -> str | None:
    """The name of the header that does not agree."""
    body = None if arguments is None else json.dumps(arguments).encode()
    text = find_param_mismatch(
        [(b"mcp-param-" + name, value) for name, value in sent], body, json.dumps(schema).encode()
    )
    if text is None:
        return None
    name, _, rest = text.removeprefix("The header Mcp-Param-").partition(" ")
    assert rest == "is missing or differs from the argument. Send both with the same value."
    return name


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({"region": "eu"}, [(b"region", b"eu")]),
        ({"region": "Grüße"}, [(b"region", b"=?base64?R3LDvMOfZQ==?=")]),
        ({"region": ""}, [(b"region", b"")]),
        ({"region": None, "free": "x"}, []),
        ({"place": {"floor": 42}}, [(b"floor", b"42")]),
        ({"place": {"floor": 42.0}}, [(b"floor", b"42")]),
        ({"place": {"floor": 9007199254740993}}, [(b"floor", b"9007199254740993")]),
        ({"dry": True}, [(b"dry", b"true"), (b"unknown", b"goes on")]),
        (None, []),
    ],
)
def test_arguments_that_their_headers_repeat_pass(arguments: object, sent: list[tuple[bytes, bytes]]) -> None:
    assert mismatch(arguments, *sent) is None


@pytest.mark.parametrize(
    ("arguments", "sent", "name"),
    [
        ({"region": "eu"}, [], "Region"),
        ({"region": "eu"}, [(b"region", b"us")], "Region"),
        ({"region": "eu"}, [(b"region", b"EU")], "Region"),
        ({"region": "eu"}, [(b"region", b"eu"), (b"region", b"us")], "Region"),
        ({"region": "Hello"}, [(b"region", b"=?base64?SGVsbG8?=")], "Region"),
        ({"region": ""}, [(b"region", b"=?base64?!!!?=")], "Region"),
        ({}, [(b"region", b"eu")], "Region"),
        ({"region": None}, [(b"region", b"null")], "Region"),
        ({"region": ["eu"]}, [(b"region", b"eu")], "Region"),
        ({"place": {"floor": 9007199254740993}}, [(b"floor", b"9007199254740992")], "Floor"),
        ({"place": {"floor": 1}}, [(b"floor", b"true")], "Floor"),
        ({"dry": True}, [(b"dry", b"1")], "Dry"),
        ({"dry": False}, [(b"dry", b"")], "Dry"),
    ],
)
def test_an_argument_that_its_header_does_not_repeat_is_found(
    arguments: object, sent: list[tuple[bytes, bytes]], name: str
) -> None:
    assert mismatch(arguments, *sent) == name


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"x-mcp-header": "Region", "type": "string"},
        {"properties": {"region": {"x-mcp-header": "Region", "type": "number"}}},
        {"properties": {"region": {"x-mcp-header": "Re gion", "type": "string"}}},
        {"properties": {"region": {"x-mcp-header": 7, "type": "string"}}},
        {"properties": {"region": {"x-mcp-header": "Region", "type": ["string"]}}},
        {"anyOf": [{"properties": {"region": {"x-mcp-header": "Region", "type": "string"}}}]},
        {"properties": ["x-mcp-header"]},
    ],
)
def test_a_mark_where_it_means_nothing_asks_for_nothing(schema: object) -> None:
    assert mismatch({"region": "eu"}, schema=schema) is None


@given(st.binary(), st.binary())
def test_no_arguments_and_no_schema_are_too_odd_to_be_compared(arguments: bytes, schema: bytes) -> None:
    find_param_mismatch([(b"mcp-param-region", b"eu")], arguments, b'{"x-mcp-header":' + schema)
    find_param_mismatch([(b"mcp-param-region", b"eu")], arguments, json.dumps(SCHEMA).encode())


@given(st.text())
def test_any_text_agrees_with_itself_in_base64(value: str) -> None:
    encoded = b"=?base64?" + base64.b64encode(value.encode()) + b"?="
    assert mismatch({"region": value}, (b"region", encoded)) is None


@given(st.text())
def test_any_name_survives_the_encoding(name: str) -> None:
    encoded = b"=?base64?" + base64.b64encode(name.encode()) + b"?="
    assert decode_header(encoded) == name


@given(st.binary())
def test_no_header_is_too_odd_to_be_read(value: bytes) -> None:
    assert isinstance(decode_header(value), str)
