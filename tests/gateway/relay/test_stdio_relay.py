"""Sessions in front of stdio children: who shares a child, who gets one, and when it ends."""

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.rig import HttpGateway, Json
from tests.gateway.running import (
    TEXT,
    OpenPost,
    Serving,
    at_once,
    call,
    eventually,
    is_running,
    meanwhile,
    notification,
    one_record,
    pids,
    read_records,
    request,
    running,
    send,
    stdio,
)
from tests.stubs.run import Stub, answer, tool, write_stub

ROOTS = {"roots": {"listChanged": True}}
ASKING = {"elicitation": {}, **ROOTS}
ANSWERS = {
    "add": answer(TEXT),
    "ask": answer(TEXT, "server_request:elicitation/create"),
    "roots": answer(TEXT, "server_request:roots/list"),
    "mute": answer(TEXT, "silence"),
    "slow": answer(TEXT, "slow:0.4"),
    "quit": answer(TEXT, "exit:3"),
}


def write(folder: Path, **more: Json) -> Stub:
    methods = {name: answer("{}") for name in ("logging/setLevel", "resources/subscribe", "resources/unsubscribe")}
    methods |= more.pop("methods", {})
    return write_stub(folder, tools=[tool(name) for name in ANSWERS], answers=ANSWERS, methods=methods, **more)


class Rig:
    def __init__(self, gateway: Serving, stub: Stub) -> None:
        self.gateway, self.stub = gateway, stub


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    stub = write(tmp_path)
    with running({"up": stdio(stub)}, tmp_path, limits={"call_timeout_s": 2.0, "session_idle_s": 60}) as gateway:
        yield Rig(gateway, stub)


# --- who shares ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P1")
def test_clients_without_capabilities_share_one_child_and_others_get_their_own(rig: Rig) -> None:
    at_once(*[rig.gateway.client] * 5)
    assert len(pids(rig.stub)) == 1
    clients = [rig.gateway.client(capabilities=ROOTS), rig.gateway.client(capabilities={"sampling": {}})]
    assert len(pids(rig.stub)) == 3
    assert [client.call("add").text for client in clients] == ["fine", "fine"]
    assert [m["params"]["capabilities"] for m in opened(rig.stub)] == [{}, ROOTS, {"sampling": {}}]


def opened(stub: Stub) -> list[Json]:
    return [entry.message for entry in stub.journal.messages() if entry.message["method"] == "initialize"]


@pytest.mark.requirement("D23")
@pytest.mark.requirement("P1")
@pytest.mark.parametrize(
    ("isolation", "capabilities", "children"),
    [("shared", ROOTS, 1), ("session", None, 3), ("auto", ROOTS, 3), ("auto", None, 1)],
)
def test_isolation_is_the_operators_choice(tmp_path: Path, isolation: str, capabilities: Json, children: int) -> None:
    stub = write(tmp_path)
    with running({"up": stdio(stub, handfast={"isolation": isolation})}, tmp_path) as gateway:
        clients = [gateway.client(capabilities=capabilities) for _ in range(3)]
        assert [client.call("add").text for client in clients] == ["fine"] * 3
        assert len(pids(stub)) == children


@pytest.mark.requirement("P1")
@pytest.mark.parametrize(
    ("method", "params"), [("logging/setLevel", {"level": "debug"}), ("resources/subscribe", {"uri": "x:y"})]
)
def test_a_log_level_or_a_subscription_moves_a_session_to_its_own_child(rig: Rig, method: str, params: Json) -> None:
    first, second = rig.gateway.client(), rig.gateway.client()
    assert first.request(method, params).result == {}
    assert len(pids(rig.stub)) == 2
    assert [first.call("add").text, second.call("add").text, first.request(method, params).result] == [
        "fine",
        "fine",
        {},
    ]
    assert len(pids(rig.stub)) == 2
    assert [m["params"]["clientInfo"]["name"] for m in opened(rig.stub)] == ["handfast", "rig"]


@pytest.mark.requirement("P1")
def test_a_session_that_moves_twice_at_once_gets_one_child(rig: Rig) -> None:
    client = rig.gateway.client()
    moves = [lambda: client.request("logging/setLevel", {"level": "debug"}).result] * 4
    assert at_once(*moves) == [{}] * 4
    assert len(pids(rig.stub)) == 2


GREETING = '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"stub","version":"1"}}'


@pytest.mark.requirement("P1")
def test_a_session_that_ends_while_its_own_child_starts_leaves_no_child(rig: Rig, tmp_path: Path) -> None:
    client = rig.gateway.client()
    write(tmp_path, methods={"initialize": answer(GREETING, "slow:0.5")})  # for the next process
    with meanwhile(lambda: client.request("logging/setLevel", {"level": "debug"}).message) as moved:
        rig.stub.journal.wait_for(lambda _: len(opened(rig.stub)) == 2)
        send(rig.gateway.base, "DELETE", client.path, headers={"Mcp-Session-Id": client.session})
    assert moved.result()["error"]["message"] == "The client ended the session before the answer came."
    shared_pid, own_pid = pids(rig.stub)
    eventually(lambda: not is_running(own_pid), "the end of the child")
    assert is_running(shared_pid)


TASK = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "add", "task": {}}}).encode()
CANCEL = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}'
RESTARTED = "The server was restarted by a change of settings before it answered. Repeat the call if that is safe."


@pytest.mark.requirement("P1")
@pytest.mark.parametrize(
    ("end", "status", "text"),
    [
        ("delete", "cancelled", "The client ended the session before the answer came."),
        ("cancel", "cancelled", "The client cancelled the call."),
        ("restart", "error", RESTARTED),
    ],
)
def test_a_call_that_moves_its_session_ends_as_every_other(
    rig: Rig, tmp_path: Path, end: str, status: str, text: str
) -> None:
    client = rig.gateway.client()
    stub = write(tmp_path, methods={"initialize": answer(GREETING, "slow:0.5")})
    with meanwhile(lambda: client.exchange(TASK)) as called:
        rig.stub.journal.wait_for(lambda _: len(opened(rig.stub)) == 2)
        if end == "delete":
            send(rig.gateway.base, "DELETE", client.path, headers={"Mcp-Session-Id": client.session})
        elif end == "cancel":
            client.send(CANCEL)
        else:
            rig.gateway.write_settings({"mcpServers": {"up": stdio(stub, env={"OTHER": "1"})}})
    assert rig.stub.journal.calls("add") == []
    record = one_record(rig.gateway.state, type="tool_call")
    assert (record.status, record.reason) == (status, text)
    assert end == "cancel" or json.loads(called.result().raw)["error"]["message"] == text


def test_a_call_is_cancelled_at_the_process_that_has_it(rig: Rig) -> None:
    client = rig.gateway.client()
    with meanwhile(lambda: client.exchange(call(7, "mute"))):
        rig.stub.journal.wait_for(lambda journal: journal.calls("mute"))
        client.request("logging/setLevel", {"level": "debug"})
        client.send(CANCEL)
    rig.stub.journal.wait_for(lambda journal: "notifications/cancelled" in journal.methods())
    assert len(pids(rig.stub)) == 2


def test_clients_of_unknown_revisions_share_one_process(rig: Rig) -> None:
    versions = ["2025-11-25", "modern", "2099-01-01", "", "2025-11-25 "]
    who = {"capabilities": {}, "clientInfo": {"name": "rig", "version": "1"}}
    clients = [(rig.gateway.client(opens=False), {"protocolVersion": version, **who}) for version in versions]
    answers = [client.request("initialize", params) for client, params in clients]
    assert [answer.result["protocolVersion"] for answer in answers] == ["2025-11-25"] * 5
    assert len(pids(rig.stub)) == 1


def test_a_process_that_one_client_ends_keeps_no_other_client_from_its_own(rig: Rig) -> None:
    for _ in range(4):
        assert "exited" in rig.gateway.client(capabilities=ROOTS).call("quit").message["error"]["message"]
    assert rig.gateway.client(capabilities=ROOTS).call("add").text == "fine"


def test_one_more_process_takes_no_list_from_the_others(tmp_path: Path) -> None:
    stub = write(tmp_path)
    strict = {"input_validation": {"mode": "strict"}}
    with running({"up": stdio(stub, handfast=strict)}, tmp_path) as gateway:
        client = gateway.client()
        assert client.call("add").text == "fine"
        lists = stub.journal.methods().count("tools/list")
        gateway.client(capabilities=ROOTS)
        assert client.call("add").text == "fine"
        assert stub.journal.methods().count("tools/list") == lists


@pytest.mark.requirement("P1")
def test_a_session_stays_where_it_is_when_its_own_child_refuses_the_handshake(rig: Rig, tmp_path: Path) -> None:
    client = rig.gateway.client()
    write(tmp_path, methods={"initialize": answer(error='{"code":-32603,"message":"no"}')})
    refused = client.request("logging/setLevel", {"level": "debug"}).message
    assert "did not complete its handshake" in refused["error"]["message"]
    shared_pid, own_pid = pids(rig.stub)
    eventually(lambda: not is_running(own_pid), "the end of the child")
    assert client.call("add").text == "fine"
    assert is_running(shared_pid)


# --- what a server asks ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("P1")
def test_a_request_of_a_shared_child_is_refused_and_recorded(rig: Rig) -> None:
    assert rig.gateway.client().call("ask").text == "fine"
    (refusal,) = [entry.message for entry in rig.stub.journal.messages() if "error" in entry.message]
    text = "Several clients share this server, and it cannot be known which one is meant."
    assert refusal == {"jsonrpc": "2.0", "id": "stub-1", "error": {"code": -32601, "message": text}}
    record = one_record(rig.gateway.state, rule="message.unowned")
    assert (record.status, record.server) == ("warning", "up")


@pytest.mark.requirement("P1")
@pytest.mark.parametrize("name", ["ask", "roots"])
def test_a_request_of_an_own_child_reaches_that_client_alone(rig: Rig, name: str) -> None:
    asked, other = rig.gateway.client(capabilities=ASKING), rig.gateway.client(capabilities=ASKING)
    others_stream = OpenPost(other, b"", method="GET")
    post = OpenPost(asked, call(1, name))
    question = post.next_event()
    assert (question["id"], question["method"]) == ("stub-1", "elicitation/create" if name == "ask" else "roots/list")
    reply = {"jsonrpc": "2.0", "id": "stub-1", "result": {"action": "accept", "content": {}}}
    other.send(json.dumps(reply).encode())  # it was not asked, so this answers nothing
    assert one_record(rig.gateway.state, rule="message.unpaired").server == "up"
    asked.send(json.dumps(reply).encode())
    assert post.next_event()["result"] == json.loads(TEXT)
    assert [e.message for e in rig.stub.journal.messages() if "method" not in e.message] == [reply]
    others_stream.leave()
    post.leave()


@pytest.mark.requirement("P1")
def test_news_about_the_tools_reach_every_client_of_a_shared_child(rig: Rig) -> None:
    clients = [rig.gateway.client() for _ in range(2)]
    streams = [OpenPost(client, b"", method="GET") for client in clients]
    rig.stub.take_next()
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    assert [stream.next_event() for stream in streams] == [changed] * 2
    for stream in streams:
        stream.leave()


# --- sessions --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P1")
def test_a_session_id_cannot_be_guessed_and_opens_nothing_elsewhere(tmp_path: Path) -> None:
    stub = write(tmp_path)
    with running({"up": stdio(stub), "other": stdio(stub)}, tmp_path) as gateway:
        clients = [gateway.client() for _ in range(20)]
        ids = [str(client.session) for client in clients]
        assert len(set(ids)) == 20
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", session_id) for session_id in ids)
        thief = gateway.client("other", opens=False)
        assert [status_with(thief, session) for session in (ids[0], ids[0][:-1] + "!", "1", None)] == [
            404,
            404,
            404,
            400,
        ]
        assert [status_with(gateway.client(opens=False), ids[0])] == [200]


def status_with(client: HttpGateway, session: str | None) -> int:
    client.session = session
    return client.request("ping").status


@pytest.mark.requirement("P1")
def test_ending_a_session_ends_its_child_and_no_other(rig: Rig) -> None:
    shared, own = rig.gateway.client(), rig.gateway.client(capabilities=ROOTS)
    shared_pid, own_pid = pids(rig.stub)
    for client in (own, shared):
        assert send(rig.gateway.base, "DELETE", client.path, headers={"Mcp-Session-Id": client.session}).status == 200
        assert client.request("ping").status == 404
    eventually(lambda: not is_running(own_pid), "the end of the child")
    assert is_running(shared_pid)


def test_ending_a_session_answers_what_it_still_waits_for(rig: Rig) -> None:
    client = rig.gateway.client(capabilities=ROOTS)
    with meanwhile(lambda: client.post(call(1, "mute")).message) as answered:
        rig.stub.journal.wait_for(lambda journal: journal.calls("mute"))
        send(rig.gateway.base, "DELETE", client.path, headers={"Mcp-Session-Id": client.session})
        assert answered.result(10)["error"]["code"] == -31001


@pytest.mark.requirement("P1")
def test_a_silent_session_ends_with_its_child_and_a_busy_one_does_not(tmp_path: Path) -> None:
    stub = write(tmp_path)
    limits = {"session_idle_s": 1.0, "call_timeout_s": 60}
    with running({"up": stdio(stub)}, tmp_path, leaves_calls=True, limits=limits) as gateway:
        # The silent one comes last: by the time it ends, the others had every chance to.
        listening = gateway.client(capabilities=ROOTS)
        stream = OpenPost(listening, b"", method="GET")
        post = OpenPost(gateway.client(capabilities=ROOTS), call(1, "mute"))
        silent = gateway.client(capabilities=ROOTS)
        *kept, gone = pids(stub)
        eventually(lambda: not is_running(gone), "the end of the silent session's child")
        assert silent.request("ping").status == 404
        assert [is_running(pid) for pid in kept] == [True, True]
        assert listening.request("ping").result == {}
        stream.leave()
        post.leave()


@pytest.mark.requirement("P1")
@pytest.mark.requirement("F7")
def test_children_are_bounded_and_the_newest_without_a_call_makes_way(tmp_path: Path) -> None:
    stub = write(tmp_path)
    limits = {"sessions": 4, "call_timeout_s": 60}  # half of it for one client
    with running({"up": stdio(stub)}, tmp_path, leaves_calls=True, limits=limits) as gateway:
        first, second = gateway.client(capabilities=ROOTS), gateway.client(capabilities=ROOTS)
        assert first.request("ping").result == {}
        third = gateway.client(capabilities=ROOTS)
        assert (second.request("ping").status, first.request("ping").status) == (404, 200)
        posts = [OpenPost(client, call(1, "mute")) for client in (first, third)]
        stub.journal.wait_for(lambda journal: len(journal.calls("mute")) == 2)
        fourth, info = gateway.client(opens=False), {"name": "rig", "version": "1"}
        asked = {"protocolVersion": "2025-11-25", "capabilities": ROOTS, "clientInfo": info}
        refused = fourth.request("initialize", asked)
        text = "2 sessions of this caller are open with the server, which is its share. End one of them."
        assert (refused.status, refused.message["error"]) == (503, {"code": -32600, "message": text})
        assert gateway.client().call("add").text == "fine"  # one that needs no child of its own
        for post in posts:
            post.leave()


@pytest.mark.requirement("P1")
def test_clients_that_come_at_once_do_not_slip_past_the_bound(tmp_path: Path) -> None:
    stub = write(tmp_path)
    with running({"up": stdio(stub)}, tmp_path, limits={"sessions": 2}) as gateway:
        at_once(*[lambda: gateway.client(capabilities=ROOTS)] * 8)
        alive = [pid for pid in pids(stub) if is_running(pid)]
        assert len(alive) <= 2


# --- children that do not start, or die ------------------------------------------------------------------------------


@pytest.mark.parametrize("is_modern", [False, True])
def test_a_command_that_is_not_there_is_one_clear_error(tmp_path: Path, is_modern: bool) -> None:
    with running({"up": {"command": "no-such-server"}}, tmp_path) as gateway:
        client = gateway.client(is_modern=is_modern, opens=False)
        method = "tools/list" if is_modern else "initialize"
        text = "The server cannot start 'no-such-server': no such command. Check the command and the PATH."
        assert client.request(method).message["error"] == {"code": -31001, "message": text}
        assert one_record(gateway.state, rule="server.failed").status == "error"


@pytest.mark.parametrize("is_modern", [False, True])
@pytest.mark.parametrize("capabilities", [None, ROOTS])
def test_a_child_that_exits_at_once_is_a_clear_error_and_not_a_long_wait(
    tmp_path: Path, is_modern: bool, capabilities: Json
) -> None:
    with running({"up": {"command": sys.executable, "args": ["-c", "raise SystemExit(4)"]}}, tmp_path) as gateway:
        client = gateway.client(is_modern=is_modern, opens=False)
        if is_modern:
            got = client.call("add")
        else:
            got = client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities or {}})
        assert (got.status, got.message["error"]["code"]) == (200, -31001)
        exited = eventually(lambda: read_records(gateway.state, rule="server.exited"), "the exit on record")
        assert exited[0].status == "error"
        assert exited[0].reason.endswith("exited with code 4.")


@pytest.mark.parametrize("capabilities", [None, ROOTS])
def test_a_child_that_dies_answers_everybody_and_the_client_goes_on_with_a_new_one(
    rig: Rig, capabilities: Json
) -> None:
    client = rig.gateway.client(capabilities=capabilities)
    waiting = [lambda n=n: client.post(call(f"m{n}", "mute")).message for n in range(5)]

    def end() -> Json:
        rig.stub.journal.wait_for(lambda journal: len(journal.calls("mute")) == 5)
        return client.post(call("q", "quit")).message

    answers = at_once(*waiting, end)
    text = "The server exited before it answered. Repeat the call if that is safe."
    assert [a["error"] for a in answers] == [{"code": -31001, "message": text}] * 6
    assert [a["id"] for a in answers] == ["m0", "m1", "m2", "m3", "m4", "q"]
    assert (client.request("ping").result, client.call("add").text) == ({}, "fine")
    assert [m["params"]["capabilities"] for m in opened(rig.stub)] == [capabilities or {}] * 2
    assert len(rig.stub.journal.calls("mute")) == 5, "no call was repeated"
    assert rig.gateway.client(capabilities=capabilities).call("add").text == "fine"


def test_what_a_session_was_asked_to_hold_holds_in_the_child_after_a_crash(rig: Rig) -> None:
    client = rig.gateway.client(capabilities=ROOTS)
    asked = [
        ("logging/setLevel", {"level": "error"}),
        ("logging/setLevel", {"level": "debug"}),
        ("resources/subscribe", {"uri": "x:gone"}),
        ("resources/subscribe", {"uri": "x:kept"}),
        ("resources/unsubscribe", {"uri": "x:gone"}),
    ]
    for method, params in asked:
        client.request(method, params)
    client.call("quit")
    assert client.call("add").text == "fine"
    said = [(entry.message["method"], entry.message.get("params")) for entry in rig.stub.journal.messages()]
    again = said[said.index(("tools/call", {"name": "quit", "arguments": {}})) + 1 :]
    assert [one for one in again if one in asked] == [asked[1], asked[3]]


@pytest.mark.requirement("F3")
def test_a_late_answer_to_a_child_that_died_answers_no_question_of_the_next_one(rig: Rig) -> None:
    client = rig.gateway.client(capabilities=ASKING)

    def answer_to(question: Json, action: str) -> None:
        client.send(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action}}).encode())

    first = OpenPost(client, call(1, "ask"))
    lost = first.next_event()
    os.kill(pids(rig.stub)[-1], signal.SIGKILL)
    assert first.next_event()["error"]["code"] == -31001
    second = OpenPost(client, call(2, "ask"))
    question = second.next_event()
    assert (lost["id"], question["id"] != lost["id"]) == ("stub-1", True), "the child would use the same id again"
    answer_to(lost, "accept")
    answer_to(question, "decline")
    assert second.next_event()["result"] == json.loads(TEXT)
    answers = [entry.message for entry in rig.stub.journal.messages() if "method" not in entry.message]
    assert [(one["id"], one["result"]) for one in answers] == [("stub-1", {"action": "decline"})]
    assert one_record(rig.gateway.state, rule="message.unpaired").server == "up"
    first.leave()
    second.leave()


@pytest.mark.parametrize("capabilities", [None, ROOTS])
def test_calls_are_judged_in_strict_after_the_child_of_a_session_died(tmp_path: Path, capabilities: Json) -> None:
    """Nothing is listed to the new child until one of them needs its contract."""
    stub = write(tmp_path)
    strict: Json = {"input_validation": {"mode": "strict"}, "output_validation": {"mode": "strict"}}
    with running({"up": stdio(stub)}, tmp_path, **strict) as gateway:
        client = gateway.client(capabilities=capabilities)
        assert client.call("add").text == "fine"
        os.kill(pids(stub)[-1], signal.SIGKILL)
        eventually(lambda: read_records(gateway.state, rule="server.exited"), "the exit on record")
        assert [client.call("add").text for _ in range(3)] == ["fine"] * 3


def opening(rig: Rig, capabilities: Json) -> Json:
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities or {}}
    return rig.gateway.client(opens=False).request("initialize", params).message


def test_what_a_child_says_on_stderr_is_the_operators_to_read(tmp_path: Path) -> None:
    script = "import sys; sys.stderr.write('needs a key\\n'); sys.exit(1)"
    with running({"up": {"command": sys.executable, "args": ["-c", script]}}, tmp_path) as gateway:
        gateway.client(opens=False).request("initialize")
        eventually(lambda: b"[up] needs a key\n" in gateway.errors, "the child's words")


def test_a_handshake_under_way_does_not_outlive_the_gateway(tmp_path: Path) -> None:
    """The child neither answers nor minds that its input ends."""
    note = tmp_path / "pid"
    script = f"import os, time\nopen({str(note)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    with running({"up": {"command": sys.executable, "args": ["-c", script]}}, tmp_path) as gateway:
        client = gateway.client(opens=False)
        post = OpenPost(client, request(1, "initialize", protocolVersion="2025-11-25", capabilities={}))
        eventually(lambda: note.exists() and note.read_text(), "the child")
        gateway.process.terminate()
        assert gateway.process.wait(15) == 0
        post.leave()
    assert not is_running(int(note.read_text()))


# --- modern clients --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P1")
def test_modern_clients_share_a_child_whatever_they_can_do(rig: Rig) -> None:
    clients = [rig.gateway.client(is_modern=True) for _ in range(3)]
    assert [client.call("add").text for client in clients] == ["fine"] * 3
    # Another was offered a handshake before, to find out which era the server is of.
    assert (len(pids(rig.stub)), len(opened(rig.stub))) == (2, 1)


@pytest.mark.parametrize(
    "wrong",
    [{"Mcp-Method": "tools/list"}, {"Mcp-Name": "mute"}, {"MCP-Protocol-Version": "2025-11-25"}, {"Mcp-Name": ""}],
)
def test_headers_that_say_something_else_than_the_body_are_refused(rig: Rig, wrong: dict[str, str]) -> None:
    client = rig.gateway.client(is_modern=True)
    body = call(1, "add", _meta=client.render("x")["params"]["_meta"])
    refused = client.post(body, client.headers(body) | wrong)
    assert (refused.status, refused.message["error"]["code"]) == (400, -32020)
    assert rig.stub.journal.calls("add") == []


def test_an_unknown_method_of_a_modern_client_keeps_the_status_the_specification_asks_for(rig: Rig) -> None:
    got = rig.gateway.client(is_modern=True).request("x/unknown")
    assert (got.status, got.message["error"]["code"]) == (404, -32601)


@pytest.mark.parametrize("left_out", ["protocolVersion", "clientCapabilities", "all of it"])
def test_a_modern_request_that_does_not_say_what_it_must_never_reaches_the_child(rig: Rig, left_out: str) -> None:
    client = rig.gateway.client(is_modern=True)
    whole: Json = client.render("x")["params"]["_meta"]
    meta = {} if left_out == "all of it" else {key: whole[key] for key in whole if not key.endswith(left_out)}
    body = request(7, "tools/list", _meta=meta)
    refused = client.post(body, client.headers(body))
    assert (refused.status, refused.message["id"], refused.message["error"]["code"]) == (400, 7, -32602)
    assert pids(rig.stub) == []


def test_a_modern_initialize_is_unknown_and_leaves_the_shared_child_alone(rig: Rig) -> None:
    client = rig.gateway.client(is_modern=True)
    got = client.request("initialize", {"protocolVersion": "2026-07-28", "capabilities": {}})
    assert (got.status, got.message["error"]["code"], pids(rig.stub)) == (404, -32601, [])
    assert client.call("add").text == "fine"
    assert [m["params"]["clientInfo"]["name"] for m in opened(rig.stub)] == ["handfast"], "not the client's"


def test_a_client_that_falls_back_to_the_handshake_may_keep_its_header(rig: Rig) -> None:
    client = rig.gateway.client(opens=False)
    body = request(1, "initialize", protocolVersion="2025-11-25", capabilities={})
    got = client.post(body, client.headers(body) | {"MCP-Protocol-Version": "2026-07-28"})
    assert (got.status, "result" in got.message, client.session is not None) == (200, True, True)


@pytest.mark.requirement("B3")
def test_a_modern_client_cannot_cancel_by_number_what_another_one_asked(rig: Rig) -> None:
    client = rig.gateway.client(is_modern=True)
    meta = client.render("x")["params"]["_meta"]
    with meanwhile(lambda: rig.gateway.client(is_modern=True).call("slow")) as slow:
        rig.stub.journal.wait_for(lambda journal: journal.calls("slow"))
        for number in range(1, 6):
            body = notification("notifications/cancelled", requestId=number, _meta=meta)
            assert client.post(body, client.headers(body)).status == 202
        assert client.call("add").text == "fine"
    assert slow.result(10).text == "fine"
    methods = [entry.message["method"] for entry in rig.stub.journal.messages()]
    assert "notifications/cancelled" not in methods


MARKED = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


def test_an_argument_that_its_header_does_not_repeat_never_reaches_the_tool(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add", MARKED)], answers={"add": answer(TEXT)})
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        client = gateway.client(is_modern=True)
        body = call(1, "add", arguments={"region": "eu"}, _meta=client.render("x")["params"]["_meta"])
        headers = client.headers(body)
        for wrong in ({}, {"Mcp-Param-Region": "us"}, {"Mcp-Param-Region": "=?base64?ZXU?="}):
            refused = client.post(body, headers | wrong)
            assert (refused.status, refused.message["error"]["code"]) == (400, -32020)
        assert stub.journal.calls("add") == []
        assert client.post(body, headers | {"Mcp-Param-Region": "eu"}).status == 200
        assert len(stub.journal.calls("add")) == 1
    calls = read_records(gateway.state, type="tool_call")
    assert [(record.status.value, record.rule) for record in calls] == [
        *[("error", "message.header_mismatch")] * 3,
        ("success", ""),
    ]


# --- what is odd about a server, and what is not ---------------------------------------------------------------------

PRINTS = """import os, sys
for _ in range(30):
    print("starting", flush=True)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("printed", ["starting", "[INFO] starting", "42", "'single'", ""])
def test_a_server_that_prints_has_one_record_of_it(tmp_path: Path, printed: str) -> None:
    stub = write(tmp_path)
    script = PRINTS.replace('"starting"', repr(printed))
    with running({"up": {"command": sys.executable, "args": ["-c", script, *stub.command]}}, tmp_path) as gateway:
        assert gateway.client().call("add").text == "fine"
    found = [record for record in read_records(gateway.state) if record.rule.startswith(("message.", "server.printed"))]
    if not printed:
        assert found == []
        return
    first, rest = found
    assert {first.rule, rest.rule} == {"server.printed"}
    assert first.reason.startswith("The server printed text that is not a message; it was dropped.")
    assert rest.details == {"unrecorded": 29}


def test_the_late_answer_to_a_cancelled_call_is_nothing_odd(tmp_path: Path) -> None:
    stub = write(tmp_path)
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        client = gateway.client()
        with meanwhile(lambda: client.post(call("c", "slow"))):
            stub.journal.wait_for(lambda journal: journal.calls("slow"))
            client.send(notification("notifications/cancelled", requestId="c"))
        assert client.call("slow").text == "fine"  # by then the first has been answered too
        assert client.call("add").text == "fine"
    assert read_records(gateway.state, rule="message.unpaired") == []
