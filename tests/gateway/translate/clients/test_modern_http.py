"""Modern clients over HTTP: every POST stands for itself, leaving cancels, and what is wrong has its own status."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.rig import MODERN_META
from tests.gateway.running import OpenPost, Response, call, eventually, send
from tests.gateway.translate.clients.fronted import JSON_AND_EVENTS, MODERN, Fronted, fronted, modern_request
from tests.gateway.translate.clients.scripted import SUBSCRIPTION, Json, ScriptedServer

PATH = "/mcp/modern"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Fronted]:
    with fronted(ScriptedServer(), tmp_path) as found:
        yield found


def post(running: Fronted, message: Json, **headers: str) -> Response:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    given = JSON_AND_EVENTS | MODERN | {"Mcp-Method": json.loads(body).get("method", "")}
    return send(running.base, "POST", PATH, body, given | {k.replace("_", "-"): v for k, v in headers.items()})


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_are_no_sessions(running: Fronted, method: str) -> None:
    refused = send(running.base, method, PATH)
    assert (refused.status, refused.headers["allow"], refused.body) == (405, "POST", b"")


def test_the_caller_and_the_headers_of_arguments_go_along(running: Fronted) -> None:
    body = modern_request(1, "tools/call", {"name": "echo", "arguments": {"city": "Bern"}})
    assert post(running, body, Mcp_Name="echo", Mcp_Param_City="Bern", X_Actor="ada").status == 200
    (seen,) = running.server.seen
    assert (seen.caller, seen.actor, seen.headers) == ("actor ada", "ada", [(b"mcp-param-city", b"Bern")])


def test_input_that_is_required_is_the_clients_own_matter(running: Fronted) -> None:
    answer = running.client("modern").call("ask", {"rounds": [{"q": {"method": "roots/list"}}]})
    assert answer.result == {
        "resultType": "input_required",
        "requestState": "[]",
        "inputRequests": {"q": {"method": "roots/list"}},
    }


@pytest.mark.requirement("P3")
def test_a_client_that_leaves_cancels_its_request_before_and_in_a_stream(running: Fronted) -> None:
    client = running.client("modern")
    for said in (0, 1):
        opened = OpenPost(client, call(1, "hang", arguments={"say": said}, _meta=MODERN_META))
        if said:
            assert opened.next_event()["params"]["data"] == 0
        eventually(lambda: len(running.server.seen) == said + 1, "the call under way")  # noqa: B023 - used at once
        opened.leave()
        eventually(lambda: running.server.cancelled == ["hang"] * (said + 1), "the call cancelled")  # noqa: B023 - as above


def test_a_subscription_is_a_long_request_that_is_acknowledged_first(running: Fronted) -> None:
    client = running.client("modern")
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["a:b"]}
    opened = OpenPost(client, modern_request("s", "subscriptions/listen", {"notifications": wanted}))
    meta = {"_meta": {SUBSCRIPTION: "s"}}
    assert opened.next_event() == {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"notifications": wanted, **meta},
    }
    assert client.call("touch").text == "1"
    assert [opened.next_event()["method"], opened.next_event()["params"]] == [
        "notifications/tools/list_changed",
        {"uri": "a:b", **meta},
    ]
    running.on_loop(running.modern.quiesce)
    assert opened.next_event() == {"jsonrpc": "2.0", "id": "s", "result": {"resultType": "complete", **meta}}
    assert opened.next_event() is None
    opened.leave()
    assert running.server.cancelled == ["subscriptions/listen"]


def test_whoever_still_waits_when_the_gateway_stops_is_told(running: Fronted) -> None:
    opened = OpenPost(running.client("modern"), call(1, "hang", arguments={"say": 1}, _meta=MODERN_META))
    opened.next_event()
    running.on_loop(lambda: asyncio.ensure_future(running.modern.close()))
    assert opened.next_event()["error"]["code"] == -31001
    opened.leave()
    eventually(lambda: running.server.cancelled == ["hang"], "the call cancelled")


# --- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/list",
        "tasks/result",
    ],
)
def test_methods_of_the_handshakes_revisions_are_not_found(running: Fronted, method: str) -> None:
    refused = post(running, modern_request(5, method))
    assert (refused.status, json.loads(refused.body)["id"], refused.error["code"]) == (404, 5, -32601)
    assert running.server.seen == []


def test_a_method_that_the_server_does_not_have_is_not_found_either(running: Fronted) -> None:
    refused = post(running, modern_request(5, "no/such"))
    assert (refused.status, refused.error["code"]) == (404, -32601)


@pytest.mark.parametrize(
    ("meta", "headers", "code"),
    [
        ({}, {}, -32602),
        ({"io.modelcontextprotocol/protocolVersion": "2026-07-28"}, {}, -32602),
        ({**MODERN_META, "io.modelcontextprotocol/protocolVersion": 7}, {}, -32602),
        (MODERN_META, {"Mcp-Method": "tools/call"}, -32020),
        (MODERN_META, {"MCP-Protocol-Version": "2025-11-25"}, -32020),
    ],
)
def test_a_request_that_does_not_say_what_it_must_is_a_bad_request(
    running: Fronted, meta: Json, headers: dict[str, str], code: int
) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}).encode()
    given = JSON_AND_EVENTS | MODERN | {"Mcp-Method": "tools/list"} | headers
    refused = send(running.base, "POST", PATH, body, given)
    assert (refused.status, refused.error["code"]) == (400, code)
    assert running.server.seen == []


def test_a_revision_that_is_not_spoken_is_answered_with_those_that_are(running: Fronted) -> None:
    meta = {**MODERN_META, "io.modelcontextprotocol/protocolVersion": "2027-01-01"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}).encode()
    refused = post(running, body, MCP_Protocol_Version="2027-01-01")
    assert (refused.status, refused.error["code"], refused.error["data"]) == (
        400,
        -32022,
        {"supported": ["2026-07-28"], "requested": "2027-01-01"},
    )


def test_an_ambiguous_request_is_a_bad_request(running: Fronted) -> None:
    meta = json.dumps(MODERN_META)
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{meta},"_META":{meta}}}}}'.encode()
    refused = post(running, body)
    assert (refused.status, refused.error["code"]) == (400, -32600)


def test_a_notification_is_accepted_and_goes_nowhere(running: Fronted) -> None:
    accepted = post(running, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert (accepted.status, accepted.body) == (202, b"")
    assert running.server.seen == []


def test_there_is_nothing_to_answer(running: Fronted) -> None:
    refused = post(running, {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert (refused.status, refused.error["code"]) == (400, -32600)
