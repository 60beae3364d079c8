"""Legacy clients over HTTP: sessions, who may use them, how many there are and for how long."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from handfast.gateway.settings.blocks import Limits
from tests.contracts.rig import HttpGateway
from tests.gateway.running import (
    OpenPost,
    Response,
    call,
    eventually,
    meanwhile,
    notification,
    one_record,
    request,
    send,
)
from tests.gateway.translate.clients.fronted import JSON_AND_EVENTS, Fronted, fronted
from tests.gateway.translate.clients.scripted import ELICITATION, ROOTS, SAMPLING, Json, ScriptedServer, text

PATH = "/mcp/legacy"
RIG = {"name": "rig", "version": "1"}
INITIALIZE = request(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=RIG)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Fronted]:
    with fronted(ScriptedServer(), tmp_path) as found:
        yield found


def post(running: Fronted, body: bytes, **headers: str) -> Response:
    return send(
        running.base, "POST", PATH, body, JSON_AND_EVENTS | {k.replace("_", "-"): v for k, v in headers.items()}
    )


def reply(client: HttpGateway, question: Json, result: Json) -> None:
    client.send(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": result}).encode())


def test_an_answer_alone_is_plain_json(running: Fronted) -> None:
    client = running.client("legacy")
    answer = client.call("echo", {"a": 1})
    assert (answer.status, answer.message) == (200, {"jsonrpc": "2.0", "id": 2, "result": text({"a": 1})})


def test_questions_and_notifications_come_on_the_stream_of_their_request(running: Fronted) -> None:
    client = running.client("legacy", capabilities={"elicitation": {}, "sampling": {}, "roots": {}})
    opened = OpenPost(client, call("c", "ask", arguments={"rounds": [{"a": ELICITATION, "b": SAMPLING}, {"c": ROOTS}]}))
    form, sampling = opened.next_event(), opened.next_event()
    assert (form["method"], sampling["method"]) == ("elicitation/create", "sampling/createMessage")
    reply(client, sampling, {"role": "assistant"})
    reply(client, form, {"action": "decline"})
    roots = opened.next_event()
    reply(client, roots, {"roots": []})
    answers = [{"a": {"action": "decline"}, "b": {"role": "assistant"}}, {"c": {"roots": []}}]
    assert [opened.next_event(), opened.next_event()] == [{"jsonrpc": "2.0", "id": "c", "result": text(answers)}, None]
    opened.leave()


def test_two_sessions_never_see_each_others_messages(running: Fronted) -> None:
    first = running.client("legacy", capabilities={"elicitation": {}})
    second = running.client("legacy", capabilities={"elicitation": {}})
    assert first.session != second.session
    message = call("same", "ask", arguments={"rounds": [{"q": ELICITATION}]})
    one, other = OpenPost(first, message), OpenPost(second, message)
    asked_one, asked_other = one.next_event(), other.next_event()
    assert asked_one["id"] != asked_other["id"]
    reply(second, asked_one, {"action": "accept", "content": {"n": 666}})  # not theirs to answer
    second.send(notification("notifications/cancelled", requestId="nothing"))
    reply(first, asked_one, {"action": "accept", "content": {"n": 1}})
    reply(second, asked_other, {"action": "accept", "content": {"n": 2}})
    assert one.next_event()["result"] == text([{"q": {"action": "accept", "content": {"n": 1}}}])
    assert other.next_event()["result"] == text([{"q": {"action": "accept", "content": {"n": 2}}}])
    assert one_record(running.state, rule="message.unpaired").server == "legacy"
    assert len({seen.caller for seen in running.server.asked("tools/call")}) == 2
    one.leave()
    other.leave()


@pytest.mark.requirement("P3")
def test_a_client_that_leaves_does_not_cancel_and_one_that_says_so_does(running: Fronted) -> None:
    client = running.client("legacy")
    opened = OpenPost(client, call(5, "hang", arguments={"say": 1}))
    assert opened.next_event()["params"]["data"] == 0
    opened.leave()
    enough = time.monotonic() + 0.3  # for the gateway to notice, which begins to look after a while
    while time.monotonic() < enough:
        assert client.call("echo").status == 200
    assert running.server.cancelled == []
    client.send(notification("notifications/cancelled", requestId=5))
    eventually(lambda: running.server.cancelled == ["hang"], "the call cancelled")


@pytest.mark.parametrize("said", [0, 1])
def test_a_cancelled_request_ends_so_that_nobody_waits(running: Fronted, said: int) -> None:
    client = running.client("legacy")
    opened = OpenPost(client, call(5, "hang", arguments={"say": said}))
    if said:
        opened.next_event()
        client.send(notification("notifications/cancelled", requestId=5))
        assert opened.next_event()["error"]["message"] == "The request was cancelled."
    else:
        eventually(lambda: running.server.asked("tools/call"), "the call under way")
        client.send(notification("notifications/cancelled", requestId=5))
    assert opened.next_event() is None
    opened.leave()


def test_a_session_that_is_deleted_takes_everything_with_it(running: Fronted) -> None:
    client = running.client("legacy")
    eventually(lambda: running.server.listeners, "the session listening")
    opened = OpenPost(client, call(5, "hang", arguments={"say": 1}))
    opened.next_event()
    headers = {"Mcp-Session-Id": client.session or ""}
    assert send(running.base, "DELETE", PATH, headers=headers).status == 200
    assert opened.next_event()["error"]["message"] == "The client ended the session before the answer came."
    opened.leave()
    eventually(lambda: running.server.cancelled == ["hang", "subscriptions/listen"], "everything cancelled")
    assert send(running.base, "DELETE", PATH, headers=headers).status == 404
    assert client.call("echo").status == 404


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("said", [0, 1])
def test_a_request_under_way_when_the_front_is_closed_is_not_said_to_be_cancelled(running: Fronted, said: int) -> None:
    client = running.client("legacy")
    with meanwhile(lambda: client.call("hang", {"say": said}).message["error"]) as found:
        eventually(lambda: running.server.asked("tools/call"), "the call under way")
        running.on_loop(lambda: asyncio.ensure_future(running.legacy.close("It may have run.")))
        assert found.result(10) == {"code": -31001, "message": "It may have run."}


# --- whose session it is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_a_session_is_not_there_for_anybody_else(running: Fronted, method: str) -> None:
    opened = post(running, INITIALIZE, X_Actor="ada")
    session = opened.headers["mcp-session-id"]
    body = call(1, "echo") if method == "POST" else None
    strange = send(running.base, method, PATH, body, JSON_AND_EVENTS | {"Mcp-Session-Id": session, "X-Actor": "eve"})
    unknown = send(running.base, method, PATH, body, JSON_AND_EVENTS | {"Mcp-Session-Id": "x", "X-Actor": "eve"})
    assert (strange.status, strange.body) == (404, unknown.body)
    record = one_record(running.state, rule="session.stranger")
    assert (record.type.value, record.status.value, record.actor) == ("auth_failure", "blocked", "eve")
    assert post(running, call(1, "echo"), X_Actor="ada", Mcp_Session_Id=session).status == 200
    assert {seen.actor for seen in running.server.seen} == {"ada"}


def test_without_a_session_there_is_only_initialize(running: Fronted) -> None:
    assert post(running, call(1, "echo")).status == 400
    assert send(running.base, "GET", PATH).status == 400
    assert post(running, b'{"jsonrpc":"2.0","method":"initialize"}').status == 400


def test_a_revision_that_has_no_sessions_is_refused_in_one(running: Fronted) -> None:
    session = post(running, INITIALIZE).headers["mcp-session-id"]
    refused = post(running, call(1, "echo"), Mcp_Session_Id=session, MCP_Protocol_Version="2026-07-28")
    assert (refused.status, refused.error["code"]) == (400, -32600)
    assert post(running, call(1, "echo"), Mcp_Session_Id=session, MCP_Protocol_Version="2025-06-18").status == 200


def test_a_server_that_does_not_greet_opens_no_session(tmp_path: Path) -> None:
    server = ScriptedServer(discovery={"error": {"code": -31001, "message": "down"}})
    with fronted(server, tmp_path, most_sessions=1) as running:
        for _ in range(3):
            refused = post(running, INITIALIZE)
            assert (refused.status, refused.error["message"]) == (200, "down")
            assert "mcp-session-id" not in refused.headers
        assert len(running.legacy._sessions) == 0


def test_a_second_initialize_in_a_session_is_refused(running: Fronted) -> None:
    session = post(running, INITIALIZE).headers["mcp-session-id"]
    assert post(running, INITIALIZE, Mcp_Session_Id=session).error["code"] == -32600


@pytest.mark.requirement("F7")
def test_a_session_without_a_call_makes_way_and_busy_ones_do_not(tmp_path: Path) -> None:
    with fronted(ScriptedServer(), tmp_path, most_sessions=4) as running:  # half of them for one client
        first, second = running.client("legacy"), running.client("legacy")
        assert first.call("echo").status == 200
        third = running.client("legacy")
        assert [client.call("echo").status for client in (first, second, third)] == [200, 404, 200]
        hanging = [OpenPost(client, call("h", "hang", arguments={"say": 1})) for client in (first, third)]
        for opened in hanging:
            opened.next_event()
        refused = post(running, INITIALIZE)
        assert (refused.status, refused.error["message"]) == (
            503,
            "2 sessions of this caller are open with the server, which is its share. End one of them.",
        )
        for opened in hanging:
            opened.leave()


def test_a_session_that_was_silent_for_too_long_is_closed(tmp_path: Path) -> None:
    with fronted(ScriptedServer(), tmp_path, limits=Limits(session_idle_s=0.2)) as running:
        client = running.client("legacy")
        eventually(lambda: running.server.cancelled == ["subscriptions/listen"], "the session closed")
        assert client.call("echo").status == 404


def test_a_question_that_nobody_answers_ends_with_the_time_a_session_has(tmp_path: Path) -> None:
    with fronted(ScriptedServer(), tmp_path, limits=Limits(session_idle_s=0.2)) as running:
        client = running.client("legacy", capabilities={"roots": {}})
        opened = OpenPost(client, call(1, "ask", arguments={"rounds": [{"q": ROOTS}]}))
        asked, withdrawn, answer = opened.next_event(), opened.next_event(), opened.next_event()
        assert withdrawn["params"]["requestId"] == asked["id"]
        assert answer["error"]["message"] == "The client did not answer what the server asked for within 0.2 s."
        opened.leave()
