"""Many clients on one child: every id and progress token is somebody's own, whatever the others use."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.contracts.rig import HttpGateway, Json
from tests.gateway.running import (
    TEXT,
    OpenPost,
    Serving,
    at_once,
    call,
    eventually,
    meanwhile,
    notification,
    outcome,
    pids,
    read_records,
    request,
    running,
    stdio,
)
from tests.stubs.run import Stub, answer, tool, write_stub

STRUCTURED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ANSWERS = {
    "busy": answer(TEXT, "progress:3:0.05", "id_last"),
    "respelled": answer(TEXT, "respell_id"),
    "last": answer('{"2":2,"id":2,"content":[{"type":"text","text":"\\"id\\":2"}]}', "id_last", "shred"),
    "twice": answer(TEXT, "twice"),
    "stray": answer(TEXT, "wrong_id"),
    "mute": answer(TEXT, "silence"),
    "quoting": answer('{"content":[{"type":"text","text":"io.modelcontextprotocol/subscriptionId"}]}'),
    "batch": answer(message='[{"jsonrpc":"2.0","id":$ID,"result":{}}]'),
    "ambiguous": answer(message='{"jsonrpc":"2.0","id":$ID,"result":{"content":[]},"result":{}}'),
}


class Shared(NamedTuple):
    gateway: Serving
    stub: Stub


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    folder = tmp_path_factory.mktemp("channel")
    stub = write_stub(folder, tools=[tool(name) for name in ANSWERS], answers=ANSWERS)
    with running({"up": stdio(stub)}, folder, limits={"call_timeout_s": 1.0}) as gateway:
        yield Shared(gateway, stub)


@pytest.mark.requirement("B3")
@pytest.mark.parametrize("is_modern", [False, True])
def test_clients_that_use_the_same_ids_and_tokens_get_their_own(shared: Shared, is_modern: bool) -> None:
    """Every client uses ids and tokens 0, 1, 2, as official clients do; the arguments tell the calls apart."""

    def talk(client: HttpGateway, number: int) -> list[Json]:
        params = {"name": "busy", "arguments": {"n": number}, "_meta": {"progressToken": number}}
        if is_modern:
            params["_meta"] |= client.render("x")["params"]["_meta"]
        post = OpenPost(client, json.dumps(request_of(number, params)).encode())
        seen = [post.next_event() for _ in range(4)]
        post.leave()
        return seen

    clients = [shared.gateway.client(is_modern=is_modern) for _ in range(4)]
    before = len(shared.stub.journal.calls("busy"))
    works = [(lambda c=client, n=number: talk(c, n)) for client in clients for number in range(3)]
    seen = at_once(*works)
    progress = {"jsonrpc": "2.0", "method": "notifications/progress"}
    assert seen == [
        [
            *(progress | {"params": {"progressToken": number, "progress": step}} for step in (1, 2, 3)),
            {"result": json.loads(TEXT), "id": number, "jsonrpc": "2.0"},
        ]
        for _ in clients
        for number in range(3)
    ]
    messages = [entry.message for entry in shared.stub.journal.calls("busy")[before:]]
    assert len({message["id"] for message in messages}) == 12
    assert all(message["params"]["_meta"]["progressToken"] == message["id"] for message in messages)
    assert len(set(pids(shared.stub))) == (2 if is_modern else 1)


def request_of(number: int, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.mark.requirement("B3")
def test_a_token_spelled_with_escapes_is_still_the_clients_own(shared: Shared) -> None:
    """A child reads the decoded name, so an escape must not carry a token past us to another client's request."""
    client = shared.gateway.client()
    body = rb'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"busy","arguments":{},'
    post = OpenPost(client, body + rb'"\u005fmeta":{"progress\u0054oken":1}}}')
    assert [post.next_event()["params"]["progressToken"] for _ in range(3)] == [1, 1, 1]
    post.leave()
    message = shared.stub.journal.calls("busy")[-1].message
    assert message["params"]["_meta"]["progressToken"] == message["id"] != 1


@pytest.mark.requirement("B3")
def test_only_the_id_is_replaced_wherever_it_stands(shared: Shared) -> None:
    client = shared.gateway.client()
    body = b'{"params":{"arguments":{"id":2},"name":"last"},"method":"tools/call","id":2,"jsonrpc":"2.0"}'
    expected = b'{"result":{"2":2,"id":2,"content":[{"type":"text","text":"\\"id\\":2"}]},"id":2,"jsonrpc":"2.0"}'
    assert client.post(body).raw == expected
    reached = shared.stub.journal.calls("last")[-1]
    assert reached.bytes == body.replace(b'"id":2,"json', b'"id":%d,"json' % reached.message["id"]) + b"\n"


@pytest.mark.requirement("B3")
def test_a_cancellation_goes_to_the_request_it_means(shared: Shared) -> None:
    first, second = shared.gateway.client(), shared.gateway.client()
    posts = [OpenPost(client, call(1, "mute", arguments={"who": who})) for client, who in ((first, 1), (second, 2))]
    shared.stub.journal.wait_for(lambda journal: len(journal.calls("mute")) >= 2)
    second.send(notification("notifications/cancelled", requestId=1, reason="enough"))
    (cancelled,) = eventually(lambda: cancellations(shared.stub, "enough"), "the cancellation")
    (meant,) = [e.message for e in shared.stub.journal.calls("mute") if e.message["params"]["arguments"]["who"] == 2]
    assert cancelled["params"] == {"requestId": meant["id"], "reason": "enough"}
    for post in posts:
        post.leave()


def cancellations(stub: Stub, reason: str) -> list[Json]:
    found = [entry.message for entry in stub.journal.messages()]
    return [m for m in found if m.get("method") == "notifications/cancelled" and m["params"]["reason"] == reason]


@pytest.mark.requirement("B3")
def test_a_cancellation_of_somebody_elses_request_reaches_nobody(shared: Shared) -> None:
    victim, other = shared.gateway.client(), shared.gateway.client()
    with meanwhile(lambda: victim.post(call(41, "busy")).message) as answered:
        shared.stub.journal.wait_for(lambda journal: journal.calls("busy"))
        other.send(notification("notifications/cancelled", requestId=41, reason="not mine"))
        own_id = shared.stub.journal.calls("busy")[-1].message["id"]
        other.send(notification("notifications/cancelled", requestId=own_id, reason="not mine"))
        assert answered.result(10)["result"] == json.loads(TEXT)
    assert other.request("ping").result == {}
    assert cancellations(shared.stub, "not mine") == []


@pytest.mark.requirement("B4")
@pytest.mark.parametrize("client_id", [b"1", b"1.0", b'"1"', b'"A"', rb'"\u0041"', b"0", b"-7", b'""'])
def test_an_answer_pairs_by_value_however_its_id_is_spelled(shared: Shared, client_id: bytes) -> None:
    client = shared.gateway.client()
    body = b'{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"respelled"}}' % client_id
    got, expected = client.post(body).message, json.loads(client_id)
    assert (got["result"], got["id"]) == (json.loads(TEXT), expected)
    assert isinstance(got["id"], str) == isinstance(expected, str)


@pytest.mark.requirement("B4")
def test_an_answer_to_nothing_is_dropped_and_recorded(shared: Shared) -> None:
    client = shared.gateway.client()
    assert client.call("stray").message["error"]["code"] == -31002
    assert outcome(shared.gateway.state, "stray") == ("error", "upstream.timeout")
    assert "message.unpaired" in rules(shared)
    assert client.request("ping").result == {}


@pytest.mark.requirement("B4")
def test_a_second_answer_is_dropped_and_the_call_recorded_once(shared: Shared) -> None:
    before = rules(shared).count("message.unpaired")
    assert shared.gateway.client().call("twice").text == "fine"
    eventually(lambda: rules(shared).count("message.unpaired") == before + 1, "the second answer on record")
    assert outcome(shared.gateway.state, "twice") == ("success", "")


@pytest.mark.requirement("B4")
def test_a_batch_from_the_server_is_dropped_and_recorded(shared: Shared) -> None:
    before = rules(shared).count("message.unreadable")
    assert shared.gateway.client().call("batch").message["error"]["code"] == -31002
    assert rules(shared).count("message.unreadable") == before + 1


@pytest.mark.requirement("B2")
def test_an_ambiguous_answer_is_an_error_at_once(shared: Shared) -> None:
    error = shared.gateway.client().call("ambiguous").message["error"]
    text = "The server's answer could not be used: The message is ambiguous: a key occurs twice. Send each key once."
    assert error == {"code": -31001, "message": text}
    assert outcome(shared.gateway.state, "ambiguous") == ("error", "upstream.failed")


def rules(shared: Shared) -> list[str]:
    return [record.rule for record in read_records(shared.gateway.state, type="diagnostic")]


@pytest.mark.requirement("B3")
def test_a_result_that_speaks_of_subscriptions_is_none(shared: Shared) -> None:
    client = shared.gateway.client()
    assert client.call("quoting").text == "io.modelcontextprotocol/subscriptionId"
    assert client.call("busy").text == "fine"


@pytest.mark.requirement("B3")
def test_a_client_that_escapes_slashes_is_a_modern_one_too(shared: Shared) -> None:
    """Some encoders write \\/ for every slash."""
    client = shared.gateway.client(is_modern=True)
    body = call(1, "quoting", _meta=client.render("x")["params"]["_meta"])
    got = client.post(body.replace(b"/", rb"\/"), client.headers(body))
    assert (got.status, got.text) == (200, "io.modelcontextprotocol/subscriptionId")


@pytest.mark.requirement("B3")
def test_an_open_subscription_hears_under_its_own_id(shared: Shared) -> None:
    """Two modern clients listen under the same id; each notification names the id that its listener gave."""
    clients = [shared.gateway.client(is_modern=True) for _ in range(2)]
    listens = []
    for client in clients:
        params = client.render("x")["params"] | {"notifications": {"toolsListChanged": True}}
        listens.append(OpenPost(client, request("s", "subscriptions/listen", **params)))
    key = "io.modelcontextprotocol/subscriptionId"
    for listen in listens:
        acknowledged = listen.next_event()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"]["_meta"][key] == "s"
    shared.gateway.client(is_modern=True).call("_change_tools", {"tools": [tool(name) for name in ANSWERS]})
    for listen in listens:
        assert listen.next_event()["params"]["_meta"] == {key: "s"}
        listen.leave()


ENDS_SUBSCRIPTIONS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    meta = {"io.modelcontextprotocol/subscriptionId": message.get("id")}
    result = {"supportedVersions": ["2026-07-28"]} if message["method"] == "server/discover" else {"_meta": meta}
    print(json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}), flush=True)
"""


@pytest.mark.requirement("B3")
def test_a_subscription_ends_under_its_own_id(tmp_path: Path) -> None:
    with running({"up": {"command": sys.executable, "args": ["-c", ENDS_SUBSCRIPTIONS]}}, tmp_path) as gateway:
        client = gateway.client(is_modern=True)
        body = request("mine", "subscriptions/listen", **client.render("x")["params"])
        expected = {"_meta": {"io.modelcontextprotocol/subscriptionId": "mine"}}
        assert client.post(body).message == {"jsonrpc": "2.0", "id": "mine", "result": expected}
