"""Sessions that end under a call: the call has one answer and one record, both true, and calls of others go on."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from handfast.gateway.sessions.session_table import ENDED, INITIALIZED
from tests.attacks.test_shared_process import Caller
from tests.contracts.rig import Json
from tests.gateway.running import OpenPost, Serving, meanwhile, one_record, outcome, running, send
from tests.gateway.translate.servers.asking import LEGACY, MODERN, WAYS, Way, entry_for
from tests.stubs.run import Stub, answer, tool, write_stub

FINE = {"resultType": "complete", "content": [{"type": "text", "text": "fine"}]}
FRONTS = {"server": "/mcp/up", "own": "/mcp/up", "compact": "/mcp/compact", "all": "/mcp#up"}
HTTP: list[Way] = ["http-json", "http-sse"]


@contextmanager
def ending(folder: Path, way: Way, **spec: Json) -> Iterator[tuple[Serving, Stub]]:
    answers = {
        "add": answer(FINE),
        "slow": answer(FINE, "slow:2"),
        "lost": answer(None, "status:404", error={"code": -32001, "message": "not found"}),
        "endless": answer(FINE, "silence"),
        "ask": answer(FINE, "server_request"),
    }
    stub = write_stub(folder, tools=[tool(name) for name in answers], answers=answers, **spec)
    with entry_for(stub, way) as entry:
        compact = entry | {"handfast": {"surface": "compact"}}
        with running({"up": entry, "compact": compact}, folder) as gateway:
            yield gateway, stub


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("versions", [LEGACY, MODERN], ids=["legacy", "modern"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("front", FRONTS)
def test_a_call_whose_client_ends_its_session_says_so(
    tmp_path: Path, front: str, way: Way, versions: list[str]
) -> None:
    """`own`: a client that declares roots has a process of its own."""
    with ending(tmp_path, way, versions=versions) as (gateway, stub):
        mine = Caller(gateway, FRONTS[front], "mine", is_modern=False)
        mine.open({"roots": {}} if front == "own" else {})
        assert mine.run("add").text == "fine"
        with meanwhile(partial(mine.run, "endless")) as call:
            stub.journal.wait_for(lambda journal: journal.calls("endless"))
            assert send(gateway.base, "DELETE", mine.path, headers={"Mcp-Session-Id": mine.session}).status < 300
            found = call.result(10)
        assert (found.message["error"]["code"], found.text) == (-31001, ENDED)
        record = one_record(gateway.state, type="tool_call", tool="endless")
        assert (record.status.value, record.rule, record.reason) == ("cancelled", "session.ended", ENDED)


@pytest.mark.requirement("F7")
def test_sessions_under_invented_ids_end_no_call_of_another(tmp_path: Path) -> None:
    """The server takes any session id, as some do; so has every session of before a restart of the gateway."""
    with ending(tmp_path, "http-sse", versions=LEGACY, sessions=False) as (gateway, _):
        victim = Caller(gateway, "/mcp/up", "victim", is_modern=False)
        victim.session = "of-before-the-restart"
        assert victim.call("add").text == "fine"
        # The tool runs until its question is answered, which is after the flood.
        call = OpenPost(victim, json.dumps(victim.render("tools/call", {"name": "ask", "arguments": {}})).encode())
        question = call.next_event()
        flood(gateway, 5010)
        victim.send(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}).encode())
        assert call.next_event()["result"] == FINE
        call.leave()
        assert outcome(gateway.state, "ask") == ("success", "")


def flood(gateway: Serving, count: int) -> None:
    """Calls under a new session id each, on one connection."""
    address = urlsplit(gateway.base)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {}}})
    for number in range(count):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        connection.request("POST", "/mcp/up", body, headers | {"Mcp-Session-Id": f"invented-{number}"})
        response = connection.getresponse()
        assert (response.status, b"fine" in response.read()) == (200, True)
    connection.close()


@pytest.mark.requirement("F7")
@pytest.mark.parametrize("way", HTTP)
@pytest.mark.parametrize("is_modern", [True, False])
@pytest.mark.parametrize("place", ["/mcp/up", "/mcp/compact", "/mcp#up"])
def test_a_server_that_loses_a_session_under_one_call_ends_no_other(
    tmp_path: Path, place: str, is_modern: bool, way: Way
) -> None:
    """Callers that can be asked nothing share the gateway's session with a legacy server."""
    with ending(tmp_path, way, versions=LEGACY) as (gateway, stub):
        mine, yours = (Caller(gateway, place, name, is_modern=is_modern) for name in ("mine", "yours"))
        for caller in (mine, yours):
            caller.open()
            assert caller.run("add").text == "fine"
        with meanwhile(partial(yours.run, "slow")) as call:
            stub.journal.wait_for(lambda journal: journal.calls("slow"))
            assert mine.run("lost").is_error
            if is_modern:
                assert mine.run("add").text == "fine"  # in a new session
            assert call.result(20).text == "fine"
        assert outcome(gateway.state, "slow") == ("success", "")
        assert len(stub.journal.calls("slow")) == 1


@pytest.mark.requirement("F7")
@pytest.mark.parametrize("way", HTTP)
def test_a_clients_own_call_goes_on_when_the_server_refuses_another_with_404(tmp_path: Path, way: Way) -> None:
    with ending(tmp_path, way, versions=LEGACY) as (gateway, stub):
        mine = Caller(gateway, "/mcp/up", "mine", is_modern=False)
        mine.open()
        with meanwhile(partial(mine.run, "slow")) as call:
            stub.journal.wait_for(lambda journal: journal.calls("slow"))
            assert mine.run("lost").status == 404
            assert call.result(20).text == "fine"
        assert outcome(gateway.state, "slow") == ("success", "")


@pytest.mark.requirement("F11")
def test_a_call_that_was_answered_on_the_listening_stream_leaves_no_request_without_a_response(tmp_path: Path) -> None:
    early = b'data: {"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}\n\n'
    twice = {"both": answer(FINE, "heard", events=early)}
    stub = write_stub(tmp_path, tools=[tool("both")], answers=twice, versions=LEGACY)
    with entry_for(stub, "http-json") as entry, running({"up": entry}, tmp_path) as gateway:
        mine = Caller(gateway, "/mcp/up", "mine", is_modern=False)
        mine.open()
        stream = OpenPost(mine, b"", method="GET")
        with meanwhile(partial(mine.run, "both")) as call:
            assert stream.next_event()["result"] == {"content": []}
            ping = stream.next_event()
            mine.send(json.dumps({"jsonrpc": "2.0", "id": ping["id"], "result": {}}).encode())
            found = call.result(10)
        stream.leave()
    assert (found.status, "another stream" in found.text) == (502, True)


@contextmanager
def unknown_session(folder: Path, way: Way) -> Iterator[tuple[Serving, Stub, Caller]]:
    """A caller in a session that its server knows and the gateway does not, as after a restart of the gateway."""
    answers = {"add": answer(FINE), "slow": answer(FINE, "silence"), "late": answer(FINE, "slow:1")}
    stub = write_stub(folder, tools=[tool(name) for name in answers], answers=answers, versions=LEGACY)
    with entry_for(stub, way) as entry:
        with running({"up": entry}, folder) as gateway:
            before = Caller(gateway, "/mcp/up", "mine", is_modern=False)
            before.open()
        with running({"up": entry}, folder) as gateway:
            mine = Caller(gateway, "/mcp/up", "mine", is_modern=False)
            mine.session = before.session
            yield gateway, stub, mine


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("way", HTTP)
@pytest.mark.parametrize("ending", ["cancelled", "session.ended"])
def test_the_first_call_of_a_session_that_the_gateway_does_not_know_can_be_ended(
    tmp_path: Path, way: Way, ending: str
) -> None:
    with unknown_session(tmp_path, way) as (gateway, stub, mine):
        message = json.dumps(mine.render("tools/call", {"name": "slow", "arguments": {}}) | {"id": 50}).encode()
        with meanwhile(partial(mine.exchange, message)) as call:
            stub.journal.wait_for(lambda journal: journal.calls("slow"))
            if ending == "cancelled":
                mine.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":50}}')
                stub.journal.wait_for(lambda journal: "notifications/cancelled" in journal.methods())
            else:
                assert send(gateway.base, "DELETE", mine.path, headers={"Mcp-Session-Id": mine.session}).status < 300
            found = call.result(10)
        assert found.is_error
        record = one_record(gateway.state, type="tool_call", tool="slow")
        expected = ("cancelled", "session.ended", ENDED) if ending == "session.ended" else ("cancelled", "")
        assert (record.status.value, record.rule, record.reason)[: len(expected)] == expected
        assert found.text == (ENDED if ending == "session.ended" else "The request was cancelled.")


@pytest.mark.requirement("F7")
def test_a_session_that_the_gateway_does_not_know_is_shared_with_no_other_address(tmp_path: Path) -> None:
    """Nor is it initialised again by its own caller while a call is under way in it."""
    with unknown_session(tmp_path, "http-json") as (gateway, stub, mine):
        message = json.dumps(mine.render("tools/call", {"name": "late", "arguments": {}}) | {"id": 50}).encode()
        with meanwhile(partial(mine.exchange, message)) as call:
            stub.journal.wait_for(lambda journal: journal.calls("late"))
            cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":50}}'
            address = urlsplit(gateway.base)
            connection = http.client.HTTPConnection(
                address.hostname or "", address.port, timeout=30, source_address=("127.0.0.2", 0)
            )
            connection.request("POST", mine.path, cancel, mine.headers(cancel))
            assert connection.getresponse().status == 202
            connection.close()
            assert mine.request("initialize").text == INITIALIZED
            assert call.result(10).text == "fine"
        assert outcome(gateway.state, "late") == ("success", "")
