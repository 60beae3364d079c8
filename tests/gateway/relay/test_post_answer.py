"""The answer to one POST before a stdio child: who may leave, how long it may take, and in which form it comes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.contracts.rig import Json
from tests.gateway.running import (
    TEXT,
    OpenPost,
    Serving,
    at_once,
    call,
    eventually,
    notification,
    outcome,
    read_records,
    running,
    send,
    stdio,
)
from tests.stubs.run import Stub, answer, tool, write_stub

ANSWERS = {
    "plain": answer(TEXT),
    "legacy": answer(TEXT, "slow:0.5"),
    "modern": answer(TEXT, "slow:0.5"),
    "busy": answer(TEXT, "progress:4:0.4"),
    "mute": answer(TEXT, "silence"),
    "stopped": answer(TEXT, "silence"),
    "unwanted": answer(TEXT, "silence"),
    "begun": answer(TEXT, "progress:1:0.1", "silence"),
}


class Rig(NamedTuple):
    gateway: Serving
    stub: Stub


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp("posts")
    stub = write_stub(folder, tools=[tool(name) for name in ANSWERS], answers=ANSWERS)
    with running({"up": stdio(stub)}, folder, limits={"call_timeout_s": 0.8}) as gateway:
        yield Rig(gateway, stub)


def cancellations(stub: Stub) -> list[Json]:
    messages = [entry.message for entry in stub.journal.messages()]
    return [m["params"] for m in messages if m.get("method") == "notifications/cancelled"]


@pytest.mark.requirement("P3")
def test_a_modern_client_that_leaves_cancels_its_call(rig: Rig) -> None:
    client = rig.gateway.client(is_modern=True)
    post = OpenPost(client, call(1, "modern", _meta=client.render("x")["params"]["_meta"]))
    rig.stub.journal.wait_for(lambda journal: journal.calls("modern"))
    post.leave()
    own_id = rig.stub.journal.calls("modern")[0].message["id"]
    params = {"requestId": own_id, "reason": "the client left"}
    eventually(lambda: params in cancellations(rig.stub), "the child is told")
    assert outcome(rig.gateway.state, "modern") == ("cancelled", "")
    assert client.call("plain").text == "fine"


@pytest.mark.requirement("P3")
def test_a_legacy_client_that_leaves_does_not(rig: Rig) -> None:
    client = rig.gateway.client()
    post = OpenPost(client, call(1, "legacy"))
    rig.stub.journal.wait_for(lambda journal: journal.calls("legacy"))
    before = len(cancellations(rig.stub))
    post.leave()
    assert outcome(rig.gateway.state, "legacy") == ("success", "")
    assert len(cancellations(rig.stub)) == before


@pytest.mark.requirement("P3")
def test_a_call_that_a_legacy_client_cancelled_ends_there_without_an_answer(rig: Rig) -> None:
    """A server owes no answer to a cancelled request. What it says next must not go to a request that is over."""
    client = rig.gateway.client()
    post = OpenPost(client, call(1, "unwanted"))
    rig.stub.journal.wait_for(lambda journal: journal.calls("unwanted"))
    client.send(notification("notifications/cancelled", requestId=1))
    assert post.next_event() is None
    assert outcome(rig.gateway.state, "unwanted") == ("cancelled", "")
    _, report = rig.gateway.health()
    assert report["servers"]["up"]["in_progress"] == 0
    assert "nor reported progress" not in report["servers"]["up"]["last_error"]
    post.leave()


@pytest.mark.requirement("P3")
def test_a_stream_with_ids_that_was_cancelled_ends_with_an_error(rig: Rig) -> None:
    """No answer is due, but clients come back for a stream that has ids and ended without one."""
    client = rig.gateway.client()
    post = OpenPost(client, call(1, "begun", _meta={"progressToken": "p"}))
    assert post.next_event()["method"] == "notifications/progress"
    client.send(notification("notifications/cancelled", requestId=1))
    error = {"code": -32600, "message": "The request was cancelled."}
    assert post.next_event() == {"jsonrpc": "2.0", "id": 1, "error": error}
    assert post.next_event() is None
    assert outcome(rig.gateway.state, "begun") == ("cancelled", "")
    post.leave()


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("is_modern", [False, True])
def test_the_timeout_is_for_silence_and_progress_starts_it_anew(rig: Rig, is_modern: bool) -> None:
    client = rig.gateway.client(is_modern=is_modern)
    meta = {"progressToken": "p"} | (client.render("x")["params"]["_meta"] if is_modern else {})
    before = len(rig.stub.journal.calls("mute"))
    busy, mute = at_once(
        lambda: client.post(call(1, "busy", _meta=meta)).message,
        lambda: client.post(call(2, "mute", _meta=meta)).message,
    )
    assert busy["result"] == json.loads(TEXT)
    text = "The server neither answered nor reported progress for 0.8 s. The call was given up."
    assert mute["error"] == {"code": -31002, "message": text}
    own_id = rig.stub.journal.calls("mute")[before].message["id"]
    assert {"requestId": own_id, "reason": "timeout"} in cancellations(rig.stub)
    ended = eventually(lambda: read_records(rig.gateway.state, type="tool_call", tool="mute"), "its record")
    assert {(record.status.value, record.rule) for record in ended} == {("error", "upstream.timeout")}


def test_an_answer_alone_is_json_and_one_with_progress_is_a_stream(rig: Rig) -> None:
    client = rig.gateway.client()
    kinds = []
    for name, meta in (("plain", {"progressToken": 1}), ("busy", {}), ("busy", {"progressToken": 1})):
        body = call(1, name, _meta=meta)
        kinds.append(send(rig.gateway.base, "POST", client.path, body, client.headers(body)).headers["content-type"])
    assert kinds == ["application/json", "application/json", "text/event-stream; charset=utf-8"]


def test_a_call_under_way_is_on_record_when_the_gateway_is_stopped(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("stopped")], answers=ANSWERS)
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        post = OpenPost(gateway.client(), call(1, "stopped"))
        stub.journal.wait_for(lambda journal: journal.calls("stopped"))
    post.leave()
    assert len(read_records(gateway.state, type="tool_call", tool="stopped")) == 1
    assert outcome(gateway.state, "stopped")[0] in ("cancelled", "error")
