"""One era's messages in the other's words: what both know keeps its bytes."""

import json
from typing import Any

import msgspec
import pytest

from handfast.wire.message import Message, read_message
from handfast.wire.translate import (
    discovery_of,
    greeting_of,
    input_required,
    to_legacy_answer,
    to_legacy_request,
    to_modern_answer,
)

_P = "io.modelcontextprotocol/"


def _read(text: bytes) -> Message:
    return read_message(text)


def test_a_legacy_server_is_not_sent_what_only_a_modern_one_reads() -> None:
    raw = (
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"n": 1.0},"requestState":"s",'
        b'"inputResponses":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":"p",'
        b'"io.modelcontextprotocol/clientCapabilities":{},"traceparent":"00-x"}}}'
    )
    assert to_legacy_request(_read(raw)).raw == (
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"n": 1.0},'
        b'"_meta":{"progressToken":"p","traceparent":"00-x"}}}'
    )


def test_a_meta_that_would_be_empty_is_not_sent_at_all() -> None:
    raw = b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v"}}}'
    assert to_legacy_request(_read(raw)).raw == b'{"jsonrpc":"2.0","id":7,"method":"x","params":{}}'


def test_a_legacy_answer_becomes_complete_and_keeps_its_bytes() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"result":{ "content": [],"structuredContent":{"n":1.0}}}'
    assert to_modern_answer(_read(raw), "tools/call", None).raw == (
        b'{"jsonrpc":"2.0","id":1,"result":{ "content": [],"structuredContent":{"n":1.0},"resultType":"complete"}}'
    )


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
def test_a_legacy_list_says_that_it_may_not_be_kept(method: str) -> None:
    found = to_modern_answer(
        _read(b'{"jsonrpc":"2.0","id":1,"result":{"x":[]}}'), method, b'{"name":"s","version":"1"}'
    )
    assert json.loads(found.raw)["result"] == {
        "x": [],
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {_P + "serverInfo": {"name": "s", "version": "1"}},
    }


@pytest.mark.requirement("E3")
@pytest.mark.parametrize(("old", "new"), [(-32002, -32602), (-32050, -32603), (-32601, -32601), (-32020, -32020)])
def test_numbers_that_a_modern_answer_may_not_have_are_replaced(old: int, new: int) -> None:
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": old, "message": "m", "data": {"uri": "u"}}}
    answer = json.loads(to_modern_answer(_read(json.dumps(error).encode()), "resources/read", None).raw)
    assert answer == {"jsonrpc": "2.0", "id": 1, "error": {"code": new, "message": "m", "data": {"uri": "u"}}}


def test_a_legacy_greeting_becomes_a_discovery_without_what_modern_clients_cannot_use() -> None:
    greeting = _members(
        {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": True}, "tasks": {"list": {}}},
            "serverInfo": {"name": "s", "version": "1"},
            "instructions": "read me",
        }
    )
    assert json.loads(_encode(discovery_of(greeting))) == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28", "2025-06-18"],
        "capabilities": {"tools": {"listChanged": True}},
        "ttlMs": 0,
        "cacheScope": "private",
        "instructions": "read me",
        "_meta": {_P + "serverInfo": {"name": "s", "version": "1"}},
    }


def test_a_strict_legacy_client_finds_nothing_in_an_empty_result() -> None:
    assert to_legacy_answer(_read(b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}'), "ping").raw == (
        b'{"jsonrpc":"2.0","id":1,"result":{}}'
    )


@pytest.mark.requirement("E3")
def test_only_output_schemas_of_objects_are_shown_to_legacy_clients() -> None:
    tools = [
        {"name": "a", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "title": "kept"}},
        {"name": "b", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}},
        {"name": "c", "inputSchema": {"type": "object"}, "outputSchema": {"anyOf": []}},
        {"name": "d", "inputSchema": {"type": "object"}, "outputSchema": True},
        {"name": "e", "inputSchema": {"type": "object"}},
    ]
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools, "ttlMs": 5, "nextCursor": "n"}}).encode()
    result = json.loads(to_legacy_answer(_read(raw), "tools/list").raw)["result"]
    assert [(tool["name"], tool.get("outputSchema")) for tool in result["tools"]] == [
        ("a", {"type": "object", "title": "kept"}),
        ("b", None),
        ("c", None),
        ("d", None),
        ("e", None),
    ]
    assert {key: value for key, value in result.items() if key != "tools"} == {"nextCursor": "n"}


@pytest.mark.requirement("E3")
@pytest.mark.parametrize(
    ("structured", "is_kept"), [("[1]", False), ("null", False), ("3", False), ('{"n":1.0}', True)]
)
def test_structured_content_that_is_no_object_is_withheld_and_the_text_kept(structured: str, is_kept: bool) -> None:
    text = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"t"}],"structuredContent":%s}}'
    result = json.loads(to_legacy_answer(_read((text % structured).encode()), "tools/call").raw)["result"]
    assert result["content"] == [{"type": "text", "text": "t"}]
    assert ("structuredContent" in result) is is_kept


@pytest.mark.parametrize(("old", "new"), [(-32020, -32603), (-32021, -32600), (-32022, -32602), (-32602, -32602)])
def test_numbers_that_only_modern_clients_know_are_replaced(old: int, new: int) -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"m"}}' % old
    assert json.loads(to_legacy_answer(_read(raw), "tools/call").raw)["error"] == {"code": new, "message": "m"}


def test_a_discovery_becomes_a_greeting_in_the_client_s_revision() -> None:
    discovery = _members(
        {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}, "extensions": {"x/y": {}}},
            "_meta": {_P + "serverInfo": {"name": "s", "version": "1"}},
        }
    )
    assert json.loads(_encode(greeting_of(discovery, "2025-06-18"))) == {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }


def test_a_question_for_the_client_is_an_answer_that_is_not_final() -> None:
    message = _read(b'{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"t"}}')
    assert json.loads(input_required(message, {"1": {"method": "roots/list"}}, "state").raw) == {
        "jsonrpc": "2.0",
        "id": "q",
        "result": {
            "resultType": "input_required",
            "inputRequests": {"1": {"method": "roots/list"}},
            "requestState": "state",
        },
    }


def _members(value: dict[str, Any]) -> Any:
    return _read(json.dumps({"jsonrpc": "2.0", "id": 1, "result": value}).encode()).result()


def _encode(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(value)
