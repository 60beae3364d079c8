"""A session's own stream: what waits for it, who gets it, when it ends; before a process and before a Backend."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.contracts.rig import HttpGateway
from tests.gateway.running import TEXT, OpenPost, Serving, call, eventually, running, send, stdio
from tests.gateway.translate.clients.fronted import Fronted, fronted
from tests.gateway.translate.clients.scripted import ELICITATION, Json, ScriptedServer, text
from tests.stubs.run import Stub, answer, tool, write_stub

NEWS = '{"jsonrpc":"2.0","method":"notifications/message","params":{"n":%d,"data":"%s"}}'
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
TOOLS = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}
RESOURCES = {"jsonrpc": "2.0", "method": "notifications/resources/list_changed", "params": {}}


class Rig(NamedTuple):
    gateway: Serving
    stub: Stub


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        yield Rig(gateway, stub)


def test_what_came_while_nobody_listened_is_there_when_somebody_does(rig: Rig) -> None:
    client, other = rig.gateway.client(), rig.gateway.client()
    listening = OpenPost(other, b"", method="GET")
    for _ in range(3):
        rig.stub.take_next()
        assert listening.next_event() == CHANGED  # so it has passed for the one that does not listen as well
    late = OpenPost(client, b"", method="GET")
    assert [late.next_event() for _ in range(3)] == [CHANGED] * 3
    late.leave()
    listening.leave()


def test_a_newer_stream_takes_over(rig: Rig) -> None:
    client = rig.gateway.client()
    old = OpenPost(client, b"", method="GET")
    rig.stub.take_next()
    assert old.next_event() == CHANGED
    new = OpenPost(client, b"", method="GET")
    assert old.next_event() is None
    rig.stub.take_next()
    assert new.next_event() == CHANGED
    old.leave()
    new.leave()


def test_the_end_of_the_session_ends_its_stream(rig: Rig) -> None:
    client = rig.gateway.client()
    stream = OpenPost(client, b"", method="GET")
    rig.stub.take_next()
    assert stream.next_event() == CHANGED
    send(rig.gateway.base, "DELETE", client.path, headers={"Mcp-Session-Id": client.session})
    assert stream.next_event() is None
    stream.leave()


def telling(folder: Path, *lines: str) -> Stub:
    """A server that answers and says something else in the same breath."""
    said = "\n".join(['{"jsonrpc":"2.0","id":$ID,"result":' + TEXT + "}", *lines])
    return write_stub(folder, tools=[tool("tell")], answers={"tell": answer(message=said)})


def test_what_follows_an_answer_at_once_is_not_lost_with_it(tmp_path: Path) -> None:
    with running({"up": stdio(telling(tmp_path, NEWS % (1, "x")))}, tmp_path) as gateway:
        client = gateway.client(capabilities={"roots": {}})
        assert client.post(call(1, "tell")).text == "fine"
        stream = OpenPost(client, b"", method="GET")
        assert stream.next_event()["params"]["n"] == 1
        stream.leave()


@pytest.mark.requirement("P3")
def test_a_question_for_a_client_that_left_its_call_waits_on_the_listening_stream(tmp_path: Path) -> None:
    faults = ("progress:1:0.8", "server_request:roots/list")  # nobody asked for progress: it is a silence here
    stub = write_stub(tmp_path, tools=[tool("ask")], answers={"ask": answer(TEXT, *faults)})
    with running({"up": stdio(stub)}, tmp_path, leaves_calls=True) as gateway:
        client = gateway.client(capabilities={"roots": {}})
        post = OpenPost(client, call(1, "ask"))
        stub.journal.wait_for(lambda journal: journal.calls("ask"))
        post.leave()
        stream = OpenPost(client, b"", method="GET")
        assert stream.next_event()["method"] == "roots/list"
        stream.leave()


@pytest.mark.requirement("P1")
def test_nobody_listens_to_a_session_that_is_not_theirs(rig: Rig) -> None:
    rig.gateway.client()
    assert send(rig.gateway.base, "GET", "/mcp/up").status == 400
    assert send(rig.gateway.base, "GET", "/mcp/up", headers={"Mcp-Session-Id": "guess"}).status == 404
    assert send(rig.gateway.base, "DELETE", "/mcp/up", headers={"Mcp-Session-Id": "guess"}).status == 404


# --- in front of a Backend -------------------------------------------------------------------------------------------


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Fronted]:
    with fronted(ScriptedServer(), tmp_path) as found:
        yield found


class Stream:
    """A GET stream, or one that is resumed; events with their ids."""

    def __init__(self, client: HttpGateway, **headers: str) -> None:
        address = urlsplit(client.base)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
        given = {"Mcp-Session-Id": client.session or "", "Accept": "text/event-stream"}
        self._connection.request(
            "GET", client.path, headers=given | {k.replace("_", "-"): v for k, v in headers.items()}
        )
        self._response = self._connection.getresponse()
        assert self._response.status == 200
        self.last_id = ""

    def next_event(self) -> Json:
        while line := self._response.readline():
            if line.startswith(b"id: "):
                self.last_id = line[4:].strip().decode()
            if line.startswith(b"data: ") and line.strip() != b"data:":
                return json.loads(line[6:])
        return None

    def leave(self) -> None:
        self._response.close()
        self._connection.close()


def listening_client(front: Fronted) -> HttpGateway:
    client = front.client("legacy")
    eventually(lambda: front.server.listeners, "the session listening")
    return client


def test_a_client_that_comes_late_gets_what_it_missed(front: Fronted) -> None:
    client = listening_client(front)
    client.call("touch")
    stream = Stream(client)
    assert [stream.next_event(), stream.next_event()] == [TOOLS, RESOURCES]
    client.call("touch")
    assert [stream.next_event(), stream.next_event()] == [TOOLS, RESOURCES]
    stream.leave()


def test_updates_come_on_the_clients_own_stream_and_on_nobody_elses(front: Fronted) -> None:
    client, other = listening_client(front), front.client("legacy")
    eventually(lambda: len(front.server.listeners) == 2, "both listening")
    stream, others = Stream(client), Stream(other)
    assert client.request("resources/subscribe", {"uri": "a:1"}).result == {}
    eventually(lambda: len(front.server.listeners) == 2, "the old subscription gone")
    client.call("touch")
    updated = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "a:1"}}
    assert [stream.next_event() for _ in range(3)] == [TOOLS, RESOURCES, updated]
    front.on_loop(front.legacy.quiesce)
    assert [others.next_event() for _ in range(3)] == [TOOLS, RESOURCES, None]
    assert stream.next_event() is None
    stream.leave()
    others.leave()


def test_a_newer_stream_takes_over_in_front_and_nothing_comes_twice(front: Fronted) -> None:
    client = listening_client(front)
    first = Stream(client)
    client.call("touch")
    assert [first.next_event(), first.next_event()] == [TOOLS, RESOURCES]
    second = Stream(client)
    assert first.next_event() is None
    client.call("touch")
    assert [second.next_event(), second.next_event()] == [TOOLS, RESOURCES]
    front.on_loop(front.legacy.quiesce)
    assert second.next_event() is None
    first.leave()
    second.leave()


def test_a_stream_can_be_taken_up_again_where_it_was_left(front: Fronted) -> None:
    client = listening_client(front)
    first = Stream(client)
    client.call("touch")
    assert first.next_event() == TOOLS
    first.leave()
    again = Stream(client, Last_Event_ID=first.last_id)
    assert again.next_event() == RESOURCES
    again.leave()


def test_a_call_whose_client_lost_the_connection_can_be_taken_up_again(front: Fronted) -> None:
    client = front.client("legacy", capabilities={"elicitation": {}})
    opened = OpenPost(client, call("c", "ask", arguments={"rounds": [{"q": ELICITATION}, {"q": ELICITATION}]}))
    first = opened.next_event()
    assert opened._response is not None
    opened.leave()
    # The id of the first event, as the log numbers them: the client had it before the connection was lost.
    session = next(iter(front.legacy._sessions))
    last_id = f"{session.log._tag}-0-1"
    client.send(json.dumps({"jsonrpc": "2.0", "id": first["id"], "result": {"action": "accept"}}).encode())
    again = Stream(client, Last_Event_ID=last_id)
    second = again.next_event()
    client.send(json.dumps({"jsonrpc": "2.0", "id": second["id"], "result": {"action": "decline"}}).encode())
    answer = again.next_event()
    assert (answer["id"], answer["result"]) == ("c", text([{"q": {"action": "accept"}}, {"q": {"action": "decline"}}]))
    assert again.next_event() is None
    again.leave()


def test_an_event_that_was_never_sent_cannot_be_resumed_after(front: Fronted) -> None:
    client = front.client("legacy")
    headers = {"Mcp-Session-Id": client.session or "", "Last-Event-ID": "x"}
    assert send(front.base, "GET", client.path, headers=headers).status == 400


def test_a_stream_begins_with_an_id_for_clients_that_know_what_it_means(front: Fronted) -> None:
    client = front.client("legacy")
    stream = Stream(client, MCP_Protocol_Version="2025-11-25")
    line = b""
    while not line.startswith(b"id: "):
        line = stream._response.readline()
    stream.leave()
    again = Stream(client, Last_Event_ID=line[4:].strip().decode())
    eventually(lambda: front.server.listeners, "the session listening")
    client.call("touch")
    assert again.next_event() == TOOLS
    again.leave()
