"""What a tool wants repeated in headers, against a server whose contracts are known."""

import asyncio
import json
from pathlib import Path

import pytest

from handfast.catalog.listing import read_tool_page
from handfast.gateway.calls.param_headers import modern_headers, param_mismatch
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.runtime import Runtime
from handfast.gateway.settings import load_settings
from handfast.wire.message import Message, read_level, read_message
from tests.gateway.running import TEXT, eventually, read_records, running, stdio
from tests.stubs.run import answer, serving, write_stub

_TOOL = {
    "name": "deploy",
    "inputSchema": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "count": {"type": "integer"}},
    },
}


@pytest.fixture
def server(tmp_path: Path) -> ServerSide:
    side = Runtime(load_settings(None, environ={}), tmp_path).server_side("up", ("up",))
    page = asyncio.run(read_tool_page(read_level(json.dumps({"tools": [_TOOL]}).encode())))
    assert page is not None
    side.learner.contracts.learn(page.contracts, cursor=None, next_cursor=None)
    return side


def _call(name: str, arguments: object, method: str = "tools/call") -> Message:
    params = {"name": name, "arguments": arguments}
    return read_message(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())


def test_a_request_says_in_headers_what_its_tool_wants_there(server: ServerSide) -> None:
    assert modern_headers(server, _call("deploy", {"region": "östlich", "count": 2})) == [
        (b"mcp-protocol-version", b"2026-07-28"),
        (b"mcp-method", b"tools/call"),
        (b"mcp-name", b"deploy"),
        (b"mcp-param-region", b"=?base64?w7ZzdGxpY2g=?="),
    ]


def test_a_tool_that_is_not_known_wants_nothing_there(server: ServerSide) -> None:
    assert [name for name, _ in modern_headers(server, _call("other", {"region": "x"}))] == [
        b"mcp-protocol-version",
        b"mcp-method",
        b"mcp-name",
    ]


def test_what_was_written_agrees_with_what_is_compared(server: ServerSide) -> None:
    message = _call("deploy", {"region": " two  spaces "})
    assert param_mismatch(server, modern_headers(server, message), message) is None


def test_a_header_that_is_missing_is_named(server: ServerSide) -> None:
    assert "Mcp-Param-Region" in (param_mismatch(server, [], _call("deploy", {"region": "x"})) or "")
    assert param_mismatch(server, [], _call("deploy", {"count": 1})) is None
    assert param_mismatch(server, [], _call("deploy", {"region": "x"}, "prompts/get")) is None


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("is_modern", [False, True])
def test_an_http_server_never_sees_an_argument_s_header_that_says_something_else(
    tmp_path: Path, is_modern: bool
) -> None:
    stub = write_stub(tmp_path, tools=[_TOOL], answers={"deploy": answer(TEXT)})
    with serving(stub, "http-json") as url, running({"up": {"url": url}}, tmp_path) as gateway:
        client = gateway.client(is_modern=is_modern)
        body = json.dumps(client.render("tools/call", {"name": "deploy", "arguments": {"region": "eu"}})).encode()
        for wrong in ("us", "", "=?base64?dXM=?="):
            refused = client.post(body, client.headers(body) | {"Mcp-Param-Region": wrong})
            assert (refused.status, refused.message["error"]["code"]) == (400, -32020)
        assert stub.journal.calls("deploy") == []
        assert client.post(body, client.headers(body) | {"Mcp-Param-Region": "eu"}).text == "fine"
        eventually(lambda: len(read_records(gateway.state, type="tool_call", tool="deploy")) == 4, "the records")
    rules = [record.rule for record in read_records(gateway.state, type="tool_call", tool="deploy")]
    assert rules == [*["message.header_mismatch"] * 3, ""]


@pytest.mark.requirement("S1")
def test_a_call_that_is_refused_for_its_name_in_a_header_is_on_record_as_that_call(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[_TOOL], answers={"deploy": answer(TEXT)})
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        client = gateway.client(is_modern=True)
        client.list_tools()
        body = json.dumps(client.render("tools/call", {"name": "deploy", "arguments": {}})).encode()
        refused = client.post(body, client.headers(body) | {"Mcp-Name": "other"})
        assert (refused.status, refused.message["error"]["code"]) == (400, -32020)
        eventually(lambda: read_records(gateway.state, tool="deploy"), "its record")
    (record,) = read_records(gateway.state, type="tool_call")
    assert (record.tool, record.status, record.rule) == ("deploy", "blocked", "message.header_mismatch")
    assert stub.journal.calls("deploy") == []
