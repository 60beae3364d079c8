"""What belongs to no request comes on the client's own stream, now or when it comes back."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.contracts.rig import HttpGateway
from tests.gateway.running import OpenPost, call, eventually, send
from tests.gateway.translate.clients.fronted import Fronted, fronted
from tests.gateway.translate.clients.scripted import ELICITATION, Json, ScriptedServer, text

TOOLS = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}
RESOURCES = {"jsonrpc": "2.0", "method": "notifications/resources/list_changed", "params": {}}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Fronted]:
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


def listening_client(running: Fronted) -> HttpGateway:
    client = running.client("legacy")
    eventually(lambda: running.server.listeners, "the session listening")
    return client


def test_a_client_that_comes_late_gets_what_it_missed(running: Fronted) -> None:
    client = listening_client(running)
    client.call("touch")
    stream = Stream(client)
    assert [stream.next_event(), stream.next_event()] == [TOOLS, RESOURCES]
    client.call("touch")
    assert [stream.next_event(), stream.next_event()] == [TOOLS, RESOURCES]
    stream.leave()


def test_updates_come_on_the_clients_own_stream_and_on_nobody_elses(running: Fronted) -> None:
    client, other = listening_client(running), running.client("legacy")
    eventually(lambda: len(running.server.listeners) == 2, "both listening")
    stream, others = Stream(client), Stream(other)
    assert client.request("resources/subscribe", {"uri": "a:1"}).result == {}
    eventually(lambda: len(running.server.listeners) == 2, "the old subscription gone")
    client.call("touch")
    updated = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "a:1"}}
    assert [stream.next_event() for _ in range(3)] == [TOOLS, RESOURCES, updated]
    running.on_loop(running.legacy.quiesce)
    assert [others.next_event() for _ in range(3)] == [TOOLS, RESOURCES, None]
    assert stream.next_event() is None
    stream.leave()
    others.leave()


def test_a_newer_stream_takes_over_and_nothing_comes_twice(running: Fronted) -> None:
    client = listening_client(running)
    first = Stream(client)
    client.call("touch")
    assert [first.next_event(), first.next_event()] == [TOOLS, RESOURCES]
    second = Stream(client)
    assert first.next_event() is None
    client.call("touch")
    assert [second.next_event(), second.next_event()] == [TOOLS, RESOURCES]
    running.on_loop(running.legacy.quiesce)
    assert second.next_event() is None
    first.leave()
    second.leave()


def test_a_stream_can_be_taken_up_again_where_it_was_left(running: Fronted) -> None:
    client = listening_client(running)
    first = Stream(client)
    client.call("touch")
    assert first.next_event() == TOOLS
    first.leave()
    again = Stream(client, Last_Event_ID=first.last_id)
    assert again.next_event() == RESOURCES
    again.leave()


def test_a_call_whose_client_lost_the_connection_can_be_taken_up_again(running: Fronted) -> None:
    client = running.client("legacy", capabilities={"elicitation": {}})
    opened = OpenPost(client, call("c", "ask", arguments={"rounds": [{"q": ELICITATION}, {"q": ELICITATION}]}))
    first = opened.next_event()
    assert opened._response is not None
    opened.leave()
    # The id of the first event, as the log numbers them: the client had it before the connection was lost.
    session = next(iter(running.legacy._sessions.values()))
    last_id = f"{session.log._tag}-1-1"
    client.send(json.dumps({"jsonrpc": "2.0", "id": first["id"], "result": {"action": "accept"}}).encode())
    again = Stream(client, Last_Event_ID=last_id)
    second = again.next_event()
    client.send(json.dumps({"jsonrpc": "2.0", "id": second["id"], "result": {"action": "decline"}}).encode())
    answer = again.next_event()
    assert (answer["id"], answer["result"]) == ("c", text([{"q": {"action": "accept"}}, {"q": {"action": "decline"}}]))
    assert again.next_event() is None
    again.leave()


def test_an_event_that_was_never_sent_cannot_be_resumed_after(running: Fronted) -> None:
    client = running.client("legacy")
    headers = {"Mcp-Session-Id": client.session or "", "Last-Event-ID": "x"}
    assert send(running.base, "GET", client.path, headers=headers).status == 400


def test_a_stream_begins_with_an_id_for_clients_that_know_what_it_means(running: Fronted) -> None:
    client = running.client("legacy")
    stream = Stream(client, MCP_Protocol_Version="2025-11-25")
    line = b""
    while not line.startswith(b"id: "):
        line = stream._response.readline()
    stream.leave()
    again = Stream(client, Last_Event_ID=line[4:].strip().decode())
    eventually(lambda: running.server.listeners, "the session listening")
    client.call("touch")
    assert again.next_event() == TOOLS
    again.leave()
