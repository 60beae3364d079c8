"""The demo server, driven over its real stdin and stdout."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any  # JSON as it comes off the wire

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

DEMO = Path(__file__).parents[2] / "examples" / "demo"
META = "io.modelcontextprotocol/"
STATELESS = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}
SERVER_INFO = {"name": "contacts", "title": "Contacts (demo)", "version": "1.0.0"}


class Conversation:
    """One running server, one line out and one line in."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout

    def send(self, line: bytes) -> None:
        self._stdin.write(line + b"\n")
        self._stdin.flush()

    def read(self) -> Any:  # Any: a JSON message
        return json.loads(self._stdout.readline(), parse_constant=pytest.fail)

    def ask(self, method: str, params: dict[str, Any] | None = None, *, request_id: object = 1) -> Any:  # Any: JSON
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self.send(json.dumps(message if params is None else message | {"params": params}).encode())
        return self.read()

    def call(self, name: str, arguments: dict[str, object]) -> Any:  # Any: a tool's result
        return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]


@contextmanager
def running_server(database: Path) -> Iterator[Conversation]:
    command = [sys.executable, str(DEMO / "contacts.py"), str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Conversation(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=10) == 0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Conversation]:
    with running_server(tmp_path / "contacts.db") as conversation:
        yield conversation


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("2024-11-05", "2025-11-25"), (7, "2025-11-25")],
)
def test_a_2025_client_gets_its_revision_or_the_newest_of_that_era(
    server: Conversation, asked: object, answered: str
) -> None:
    assert server.ask("initialize", {"protocolVersion": asked}) == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"protocolVersion": answered, "capabilities": {"tools": {}}, "serverInfo": SERVER_INFO},
    }
    assert server.ask("ping", request_id="a") == {"jsonrpc": "2.0", "id": "a", "result": {}}


def test_a_2026_client_discovers_and_lists_without_a_handshake(server: Conversation) -> None:
    assert server.ask("server/discover", {"_meta": STATELESS})["result"] == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "public",
        "_meta": {f"{META}serverInfo": SERVER_INFO},
    }
    listed = server.ask("tools/list", {"_meta": STATELESS})["result"]
    assert listed == {
        "resultType": "complete",
        "tools": server.ask("tools/list")["result"]["tools"],
        "ttlMs": 0,
        "cacheScope": "public",
        "_meta": {f"{META}serverInfo": SERVER_INFO},
    }


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("server/discover", None, -32602),
        ("server/discover", {"_meta": {f"{META}protocolVersion": "2026-07-28"}}, -32602),
        ("tools/list", {"_meta": STATELESS | {f"{META}protocolVersion": "2031-01-01"}}, -32022),
        ("ping", {"_meta": STATELESS}, -32601),
        ("resources/list", None, -32601),
        ("tools/call", {"name": "no_such_tool"}, -32602),
        ("tools/call", {"name": "list_contacts", "arguments": []}, -32602),
    ],
)
def test_what_it_cannot_do_is_a_json_rpc_error(
    server: Conversation, method: str, params: dict[str, object] | None, code: int
) -> None:
    answer = server.ask(method, params)
    assert (answer["id"], answer["error"]["code"], "result" in answer) == (1, code, False)


def test_every_tool_declares_its_schemas_and_leaves_room_for_unknown_arguments(server: Conversation) -> None:
    tools = server.ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["create_contact", "list_contacts", "contact_stats"]
    for tool in tools:
        assert {"title", "description", "inputSchema", "outputSchema", "annotations"} < tool.keys()
        assert "additionalProperties" not in tool["inputSchema"]
        jsonschema_rs.validator_for(tool["inputSchema"])


def test_a_flat_call_stores_the_contact(server: Conversation) -> None:
    created = server.call("create_contact", {"email": "ada@example.com", "first_name": "Ada"})
    assert created["structuredContent"] == {"created": True, "id": 1}
    assert json.loads(created["content"][0]["text"]) == created["structuredContent"]
    listed = server.call("list_contacts", {})["structuredContent"]
    assert listed == {"contacts": [{"id": 1, "email": "ada@example.com", "first_name": "Ada", "notes": ""}]}


def test_a_wrapped_call_succeeds_and_loses_the_contact(server: Conversation) -> None:
    created = server.call("create_contact", {"data": {"email": "ada@example.com"}})
    assert created["structuredContent"] == {"created": True, "id": 1}
    listed = server.call("list_contacts", {})["structuredContent"]
    assert listed == {"contacts": [{"id": 1, "email": "", "first_name": "", "notes": ""}]}


def test_only_the_statistics_break_their_promise(server: Conversation) -> None:
    declared = {tool["name"]: tool["outputSchema"] for tool in server.ask("tools/list")["result"]["tools"]}
    answers = {name: server.call(name, {"email": "a@example.com"})["structuredContent"] for name in declared}
    assert answers["contact_stats"] == {"total": "1", "with_email": 1}
    kept = {name: jsonschema_rs.is_valid(declared[name], answers[name]) for name in declared}
    assert kept == {"create_contact": True, "list_contacts": True, "contact_stats": False}


def test_the_contacts_outlive_the_process(tmp_path: Path) -> None:
    with running_server(tmp_path / "new" / "contacts.db") as first:
        first.call("create_contact", {"email": "ada@example.com"})
    with running_server(tmp_path / "new" / "contacts.db") as second:
        assert len(second.call("list_contacts", {})["structuredContent"]["contacts"]) == 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"1" * 10_000, -32700),
        (b"[]", -32600),
        (b'{"method": 1, "id": 1}', -32600),
        (b'{"method": "ping", "id": ' + b"[" * 500 + b"]" * 500 + b"}", -32600),
        (b'{"method": "ping", "id": 1e400}', -32600),
    ],
)
def test_a_line_that_is_no_request_gets_an_error_without_an_id(server: Conversation, line: bytes, code: int) -> None:
    server.send(line)
    answer = server.read()
    assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert server.ask("ping")["result"] == {}


def test_a_value_the_database_cannot_hold_is_a_tool_error(server: Conversation) -> None:
    server.send(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
        b'"params":{"name":"create_contact","arguments":{"email":"\\ud83d"}}}'
    )
    assert server.read()["result"]["isError"] is True


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
REQUESTS = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["initialize", "server/discover", "tools/list", "tools/call", "ping"]) | JSON_VALUES,
        "params": JSON_VALUES
        | st.fixed_dictionaries({}, optional={"name": st.just("create_contact"), "arguments": JSON_VALUES})
        | st.fixed_dictionaries({"_meta": st.fixed_dictionaries({f"{META}protocolVersion": JSON_VALUES})}),
    },
    optional={"id": JSON_VALUES},
)


def test_no_input_stops_it(tmp_path: Path) -> None:
    with running_server(tmp_path / "contacts.db") as server:

        @settings(deadline=None, max_examples=200)
        @given(REQUESTS.map(lambda request: json.dumps(request).encode()) | st.binary())
        def survives(line: bytes) -> None:
            server.send(line.replace(b"\n", b" "))
            server.send(b'{"jsonrpc":"2.0","id":"still here","method":"ping"}')
            # At most one answer to the line, then the answer to the ping.
            if server.read() != {"jsonrpc": "2.0", "id": "still here", "result": {}}:
                assert server.read() == {"jsonrpc": "2.0", "id": "still here", "result": {}}

        survives()


def test_the_demo_settings_start_it_from_the_root_of_the_repository() -> None:
    entry = json.loads((DEMO / "handfast.json").read_text())["mcpServers"]["contacts"]
    assert entry["command"] == "${HANDFAST_DEMO_PYTHON:-python3}"
    assert (DEMO.parents[1] / entry["args"][0]).samefile(DEMO / "contacts.py")
