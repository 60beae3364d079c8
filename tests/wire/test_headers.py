"""Headers of 2026-07-28 against the body they repeat."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.wire.headers import check_modern_headers, decode_header
from handfast.wire.message import read_message

VERSION = "io.modelcontextprotocol/protocolVersion"


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


@given(st.text())
def test_any_name_survives_the_encoding(name: str) -> None:
    import base64

    encoded = b"=?base64?" + base64.b64encode(name.encode()) + b"?="
    assert decode_header(encoded) == name


@given(st.binary())
def test_no_header_is_too_odd_to_be_read(value: bytes) -> None:
    assert isinstance(decode_header(value), str)
