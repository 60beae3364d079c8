"""`handfast wrap` where client and server differ in era or transport, and with a compact surface."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contracts.rig import HANDFAST, Json, WrapGateway, end, rig
from tests.gateway.running import TEXT, eventually, read_records, running, wrapping
from tests.gateway.translate.servers.asking import LEGACY, MODERN
from tests.parts import Parts
from tests.real.gateways import wrap_command
from tests.stubs.run import Stub, answer, serving, tool, write_stub


def stub_of(folder: Path, versions: list[str], *faults: str) -> Stub:
    return write_stub(folder, tools=[tool("add")], answers={"add": answer(TEXT, *faults)}, versions=versions)


@pytest.mark.parametrize(
    ("is_modern", "versions", "has_handshake"),
    [(True, LEGACY, True), (False, MODERN, False), (True, MODERN, False), (False, LEGACY, True)],
)
def test_a_client_and_a_server_of_any_two_eras_understand_each_other(
    tmp_path: Path, is_modern: bool, versions: list[str], has_handshake: bool
) -> None:
    stub = stub_of(tmp_path, versions)
    with rig("wrap", stub, tmp_path, is_modern=is_modern) as gateway:
        assert gateway.call("add", b'{"n": 1.0}').text == "fine"
        assert [tool["name"] for tool in gateway.list_tools()] == ["add"]
    (sent,) = stub.journal.calls("add")
    assert b'"arguments":{"n": 1.0}' in sent.bytes
    assert ("notifications/initialized" in stub.journal.methods()) is has_handshake
    assert [record.status for record in read_records(gateway.state, type="tool_call")] == ["success"]


@pytest.mark.requirement("E4")
def test_with_the_bridge_off_the_server_refuses_itself(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, LEGACY)
    with rig("wrap", stub, tmp_path, server={"bridge": "off"}, is_modern=True) as gateway:
        assert gateway.request("server/discover").message["error"]["code"] == -32601
    assert stub.journal.methods() == ["server/discover"]


def test_what_a_client_sends_while_the_era_is_found_out_is_answered_in_full(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, LEGACY)
    with rig("wrap", stub, tmp_path, is_modern=True) as gateway:
        messages = [gateway.render("tools/list"), *(gateway.render("tools/call", {"name": "add"}) for _ in range(5))]
        for message in messages:
            gateway.send(json.dumps(message).encode())
        assert isinstance(gateway, WrapGateway)
        answers = [gateway.answer_to(message["id"]) for message in messages]
        assert [answer.text for answer in answers[1:]] == ["fine"] * 5


AT_ONCE: list[Json] = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "add", "arguments": {}}},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "add", "arguments": {}}},
]
STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


# Answers one line after the other, to the last: what it leaves unanswered was never sent to it.
ONE_BY_ONE = """
import json, sys
knows = {
    "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "fine"}]},
}
if sys.argv[1] == "modern":
    knows["server/discover"] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
else:
    info = {"name": "s", "version": "1"}
    knows["initialize"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        known = knows.get(message["method"])
        told = {"error": {"code": -32601, "message": "unknown"}} if known is None else {"result": known}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)
"""


def one_by_one(era: str) -> list[str]:
    return [sys.executable, "-c", ONE_BY_ONE, era]


def run_once(folder: Path, command: list[str], messages: list[Json]) -> "subprocess.CompletedProcess[bytes]":
    """A client that writes everything and closes its end, as a pipe in a shell does."""
    whole = [*HANDFAST, "wrap", "--state", str(folder / "state"), "--", *command]
    given = "".join(json.dumps(message) + "\n" for message in messages).encode()
    return subprocess.run(whole, input=given, capture_output=True, timeout=60, check=False, cwd=folder)


def calls_on_record(folder: Path) -> int:
    return len(read_records(folder / "state", type="tool_call"))


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_what_a_client_sends_with_its_handshake_is_answered_and_recorded_also_where_that_is_refused(
    tmp_path: Path, era: str
) -> None:
    with wrapping(one_by_one(era), tmp_path, opens=False) as gateway:
        gateway.send(b"\n".join(json.dumps(message).encode() for message in AT_ONCE))
        assert [gateway.answer_to(number).text for number in (2, 4)] == ["fine", "fine"]
    assert len(read_records(gateway.state, type="tool_call")) == 2


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy-client", "modern-client"])
def test_a_client_that_writes_and_closes_gets_all_its_answers(tmp_path: Path, era: str, is_modern: bool) -> None:
    call = {"name": "add", "arguments": {}, "_meta": STATELESS}
    modern: list[Json] = [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call} for number in (2, 4)]
    done = run_once(tmp_path, one_by_one(era), modern if is_modern else AT_ONCE)
    replies = {reply["id"]: reply for reply in map(json.loads, done.stdout.splitlines())}
    assert [replies[number]["result"]["content"][0]["text"] for number in (2, 4)] == ["fine", "fine"]
    assert (done.stderr, len(replies), calls_on_record(tmp_path)) == (b"", 2 if is_modern else 4, 2)


def test_calls_that_come_while_the_server_exits_are_answered_and_recorded_or_neither(tmp_path: Path) -> None:
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "add", "arguments": {"text": "x" * 2000}}}
    messages = [AT_ONCE[0], *({"id": number, **call} for number in range(2, 12))]
    done = run_once(tmp_path, [sys.executable, "-c", "import sys; sys.stdin.readline(); sys.exit(4)"], messages)
    answered = [reply["id"] for reply in map(json.loads, done.stdout.splitlines()) if reply["id"] != 1]
    assert (done.returncode, done.stderr, len(set(answered))) == (4, b"", len(answered))
    assert calls_on_record(tmp_path) == len(answered)


ENDS_AT_WHAT_IT_DOES_NOT_KNOW = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    info = {"name": "s", "version": "1"}
    known = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info},
        "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "fine"}]},
    }
    if "id" in message:
        if message["method"] not in known:
            sys.exit(3)
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": known[message["method"]]}), flush=True)
"""


def test_a_server_that_ends_at_a_question_about_its_era_is_a_legacy_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ENDS_AT_WHAT_IT_DOES_NOT_KNOW]
    with wrapping(command, tmp_path, opens=False) as gateway:
        gateway.is_modern = True
        assert gateway.call("add").text == "fine"
    (tmp_path / "served").mkdir()
    with running({"up": {"command": command[0], "args": command[1:]}}, tmp_path / "served") as served:
        assert served.client(is_modern=True).call("add").text == "fine"
        assert served.health()[1]["servers"]["up"]["era"] == "legacy"


@contextmanager
def wrap_url(url: str, folder: Path, *flags: str, is_modern: bool = False) -> Iterator[WrapGateway]:
    command = [*HANDFAST, "wrap", "--url", url, "--state", str(folder / "state"), *flags]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        gateway = WrapGateway(process, folder / "state", is_modern=is_modern)
        try:
            gateway.open()
            yield gateway
        finally:
            assert process.stdin is not None
            process.stdin.close()
            end(process)


@pytest.mark.parametrize("versions", [LEGACY, MODERN], ids=["legacy server", "modern server"])
@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy client", "modern client"])
@pytest.mark.parametrize("way", ["http-json", "http-sse"])
def test_a_server_over_http_is_used_by_a_client_that_only_starts_commands(
    tmp_path: Path, way: str, is_modern: bool, versions: list[str]
) -> None:
    stub = stub_of(tmp_path, versions)
    with serving(stub, way) as url, wrap_url(url, tmp_path, is_modern=is_modern) as gateway:  # type: ignore[arg-type]  # one of the two
        assert gateway.call("add", b'{"n": 1.0}').text == "fine"
    assert b'"arguments":{"n": 1.0}' in stub.journal.calls("add")[0].bytes
    assert [record.server for record in read_records(tmp_path / "state", type="tool_call")] == ["127.0.0.1"]


def test_a_compact_surface_is_offered_on_stdin_too(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, LEGACY)
    with rig("wrap", stub, tmp_path, server={"surface": "compact"}) as gateway:
        assert [tool["name"] for tool in gateway.list_tools()] == ["up"]
        assert gateway.call("up", {"action": "add", "arguments": {"n": 1}}).text == "fine"
    assert len(stub.journal.calls("add")) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_bridged_server_with_its_wrapper(tmp_path: Path, number: signal.Signals) -> None:
    stub = stub_of(tmp_path, LEGACY, "slow:60")
    with rig("wrap", stub, tmp_path, is_modern=True) as gateway:
        assert isinstance(gateway, WrapGateway)
        gateway.send(json.dumps(gateway.render("tools/call", {"name": "add"})).encode())
        stub.journal.wait_for(lambda journal: journal.calls("add"))
        gateway.process.send_signal(number)
        gateway.process.wait(10)
    pids = {entry.pid for entry in stub.journal.events("started")}
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the children are gone")
    assert [record.status for record in read_records(tmp_path / "state", type="tool_call")] == ["cancelled"]


def test_a_real_modern_client_uses_a_real_legacy_server(tmp_path: Path, parts: Parts) -> None:
    steps: Json = [{"call": {"name": "echo", "arguments": {"message": "hi"}}}]
    (outcome,) = parts.py_client(wrap_command(tmp_path, parts.everything), steps, mode="2026-07-28")
    assert "Echo: hi" in json.dumps(outcome)
