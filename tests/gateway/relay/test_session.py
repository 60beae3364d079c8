"""A session's listening stream: what waits for it, who gets it, and when it ends."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.gateway.running import TEXT, OpenPost, Serving, call, running, send, stdio
from tests.stubs.run import Stub, answer, tool, write_stub

NEWS = '{"jsonrpc":"2.0","method":"notifications/message","params":{"n":%d,"data":"%s"}}'
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


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
