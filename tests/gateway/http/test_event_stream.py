"""Streams that a client can come back to: what it gets then, what it never gets, and who has no use for it."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from handfast.gateway.edge.connection_owner import Patience
from handfast.wire.sse import KEEP_ALIVE
from tests.contracts.rig import HttpGateway, Json
from tests.gateway.running import (
    TEXT,
    OpenPost,
    Serving,
    call,
    eventually,
    notification,
    outcome,
    read_records,
    running,
    send,
    stdio,
)
from tests.gateway.sessions.test_session_table import naming
from tests.gateway.translate.servers.asking import LEGACY as ONLY_LEGACY
from tests.gateway.translate.servers.asking import MODERN as ONLY_MODERN
from tests.stubs.run import Stub, answer, serving, tool, write_stub

ANSWERS = {
    "quick": answer(TEXT),
    "silent": answer(TEXT, "slow:1.5"),
    "old": answer(TEXT, "slow:1.5"),
    "deaf": answer(TEXT, "slow:1.5"),
    "ask": answer(TEXT, "server_request:elicitation/create"),
    "busy": answer(TEXT, "progress:3:0.01"),
}
ASKING: Json = {"elicitation": {}}
LATEST, OLDER = "2025-11-25", "2025-06-18"


class Event(NamedTuple):
    id: str | None
    data: Json  # None where it is empty
    retry: str | None = None


class Stream:
    """A request of a client of some revision, its answer read event by event."""

    def __init__(
        self,
        client: HttpGateway,
        body: bytes = b"",
        *,
        after: str | None = None,
        revision: str = LATEST,
        accept: str = "application/json, text/event-stream",
    ) -> None:
        address = urlsplit(client.base)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
        headers = {"MCP-Protocol-Version": revision, "Mcp-Session-Id": client.session or "", "Accept": accept}
        if after is not None:
            headers["Last-Event-ID"] = after
        if body:
            headers["Content-Type"] = "application/json"
        self._connection.request("POST" if body else "GET", client.path, body or None, headers)
        self._response: http.client.HTTPResponse | None = None

    @property
    def response(self) -> http.client.HTTPResponse:
        if self._response is None:
            self._response = self._connection.getresponse()
        return self._response

    def next(self) -> Event | None:
        """The next event; None at the end of the stream."""
        fields: dict[bytes, bytes] = {}
        while line := self.response.readline():
            if line == b"\n" and b"data" in fields:
                text = {name: fields[name].decode() for name in (b"id", b"retry") if name in fields}
                data = json.loads(fields[b"data"]) if fields[b"data"] else None
                return Event(text.get(b"id"), data, text.get(b"retry"))
            name, _, value = line.rstrip(b"\n").partition(b":")
            if name:
                fields[name] = value.removeprefix(b" ")
        self.leave()
        return None

    def plain(self) -> tuple[str | None, Json]:
        """The answer's content type, and the answer that is all there is."""
        found = self.response.getheader("content-type"), json.loads(self.response.read())
        self.leave()
        return found

    def rest(self) -> list[Event]:
        return list(iter(self.next, None))

    def leave(self) -> None:
        if self._response is not None:
            self._response.close()
        self._connection.close()


class Rig(NamedTuple):
    gateway: Serving
    stub: Stub


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp("streams")
    stub = write_stub(folder, tools=[tool(name) for name in ANSWERS], answers=ANSWERS)
    with running({"up": stdio(stub)}, folder) as gateway:
        yield Rig(gateway, stub)


def said(events: list[Event]) -> list[Json]:
    return [event.data for event in events]


def asked(client: HttpGateway, request_id: int = 1) -> tuple[Stream, Event, Event]:
    """A call in the middle of which the server waits for the client: the stream, its first event and the question."""
    stream = Stream(client, call(request_id, "ask"))
    primed, question = stream.next(), stream.next()
    assert primed is not None
    assert question is not None
    return stream, primed, question


def agree(client: HttpGateway, question: Event) -> None:
    reply = {"jsonrpc": "2.0", "id": question.data["id"], "result": {"action": "accept", "content": {}}}
    client.send(json.dumps(reply).encode())


DONE = {"jsonrpc": "2.0", "id": 1, "result": json.loads(TEXT)}


# --- coming back -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P3")
def test_a_client_that_leaves_a_silent_call_comes_back_for_the_answer(rig: Rig) -> None:
    client = rig.gateway.client()
    stream = Stream(client, call(1, "silent"))
    primed = stream.next()
    assert primed is not None
    assert (primed.data, primed.retry, bool(primed.id)) == (None, "1000", True)
    stream.leave()
    assert outcome(rig.gateway.state, "silent") == ("success", "")
    assert said(Stream(client, after=primed.id).rest()) == [DONE]
    assert said(Stream(client, after=primed.id).rest()) == [DONE]  # and once more, if that was cut off too


@pytest.mark.requirement("P3")
def test_what_is_resumed_goes_on_until_the_answer(rig: Rig) -> None:
    client = rig.gateway.client(capabilities=ASKING)
    stream, primed, question = asked(client)
    stream.leave()
    resumed = Stream(client, after=primed.id)
    assert resumed.next() == question
    agree(client, question)
    answered = resumed.next()
    assert answered is not None
    assert (answered.data, resumed.rest()) == (DONE, [])
    assert Stream(client, after=answered.id).rest() == []  # there is nothing after the answer
    assert len({primed.id, question.id, answered.id}) == 3


def test_only_what_came_after_the_event_is_sent_again(rig: Rig) -> None:
    client = rig.gateway.client()
    events = Stream(client, call(1, "busy", _meta={"progressToken": "p"})).rest()
    assert [event.data["params"]["progress"] for event in events[1:4]] == [1, 2, 3]
    for place, event in enumerate(events):
        assert Stream(client, after=event.id).rest() == events[place + 1 :]


def test_a_newer_connection_takes_over_a_resumed_stream(rig: Rig) -> None:
    client = rig.gateway.client(capabilities=ASKING)
    stream, primed, question = asked(client)
    older = Stream(client, after=primed.id)
    assert older.next() == question
    newer = Stream(client, after=primed.id)
    assert newer.next() == question
    assert older.rest() == []
    agree(client, question)
    assert (said(newer.rest()), stream.rest()) == ([DONE], [])


def test_the_listening_stream_is_resumed_where_it_was_left(rig: Rig) -> None:
    client, other = rig.gateway.client(), rig.gateway.client()
    witness, stream = Stream(other), Stream(client)
    primed = [witness.next(), stream.next()]
    assert said([event for event in primed if event]) == [None, None]
    rig.stub.take_next()
    first = stream.next()
    assert first is not None
    stream.leave()
    for _ in range(3):
        witness.next()
        rig.stub.take_next()
    witness.next()
    resumed = Stream(client, after=first.id)
    assert said([event for event in (resumed.next(), resumed.next(), resumed.next()) if event]) == [first.data] * 3
    rig.stub.take_next()
    assert resumed.next() is not None  # and it goes on
    for one in (witness, resumed):
        one.leave()


# --- what nobody gets ------------------------------------------------------------------------------------------------


def refusal(client: HttpGateway, after: str) -> tuple[int, Json]:
    headers = {"Mcp-Session-Id": client.session, "Last-Event-ID": after}
    refused = send(client.base, "GET", client.path, headers=headers)
    return refused.status, refused.error["message"]


NOTHING_THERE = (
    400,
    "There is nothing to resume after this Last-Event-ID: it is unknown here, or what followed is gone.",
)


@pytest.mark.requirement("P1")
@pytest.mark.parametrize("capabilities", [None, ASKING], ids=["one child", "own children"])
def test_the_id_of_another_session_opens_nothing(rig: Rig, capabilities: Json) -> None:
    clients = [rig.gateway.client(capabilities=capabilities) for _ in range(2)]
    streams = [Stream(one, call(1, "busy", _meta={"progressToken": one.session})).rest() for one in clients]
    # Both count alike, so a session that looked only at the numbers would find something.
    counted = [[str(event.id).split("-")[1:] for event in stream] for stream in streams]
    assert counted[0] == counted[1]
    for turn, client in enumerate(clients):
        assert {refusal(client, str(event.id)) for event in streams[1 - turn]} == {NOTHING_THERE}
        assert [event.data["params"]["progressToken"] for event in streams[turn][1:4]] == [client.session] * 3


@pytest.mark.requirement("P1")
def test_a_resumed_stream_holds_nothing_of_another(rig: Rig) -> None:
    client, other = rig.gateway.client(capabilities=ASKING), rig.gateway.client(capabilities=ASKING)
    stream, primed, question = asked(client)
    others_stream, others_primed, others_question = asked(other)
    busy = Stream(client, call(2, "busy", _meta={"progressToken": 7})).rest()
    for one in (stream, others_stream):
        one.leave()
    resumed, others_resumed = Stream(client, after=primed.id), Stream(other, after=others_primed.id)
    agree(client, question)
    agree(other, others_question)
    assert said(resumed.rest()) == [question.data, DONE]
    assert said(others_resumed.rest()) == [others_question.data, DONE]
    assert said(Stream(client, after=busy[0].id).rest()) == said(busy[1:])


@pytest.mark.parametrize("after", ["1", "x", "00000000-1-1", "0" * 4000, "-1", "..", "00000000-99999999999999999999-1"])
def test_an_id_that_means_nothing_is_refused_and_the_session_lives(rig: Rig, after: str) -> None:
    client = rig.gateway.client()
    assert refusal(client, after) == NOTHING_THERE
    assert client.call("quick").text == "fine"


def test_what_was_pushed_out_is_refused_and_not_left_out(tmp_path: Path) -> None:
    answers = {"many": answer(TEXT, "progress:1100:0")}
    stub = write_stub(tmp_path, tools=[tool("many")], answers=answers)
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        client = gateway.client()
        events = Stream(client, call(1, "many", _meta={"progressToken": 1})).rest()
        assert len(events) == 1102
        assert refusal(client, str(events[0].id)) == NOTHING_THERE
        assert Stream(client, after=events[101].id).rest() == events[102:]


def test_with_its_session_a_stream_is_gone(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("mute")], answers={"mute": answer(TEXT, "silence")})
    with running({"up": stdio(stub)}, tmp_path, leaves_calls=True) as gateway:
        client = gateway.client()
        stream = Stream(client, call(1, "mute"))
        primed = stream.next()
        assert primed is not None
        resumed = Stream(client, after=primed.id)
        assert resumed.response.status == 200
        send(gateway.base, "DELETE", client.path, headers={"Mcp-Session-Id": client.session})
        assert resumed.rest() == []  # it ends, though the child it shared goes on
        assert refusal(client, str(primed.id))[0] == 404
        stream.leave()


def test_a_stream_whose_call_was_cancelled_is_not_waited_for(tmp_path: Path) -> None:
    """No answer is due, but clients come back for a stream that ended without one, some of them for ever."""
    stub = write_stub(tmp_path, tools=[tool("mute")], answers={"mute": answer(TEXT, "silence")})
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        client = gateway.client()
        stream = Stream(client, call(1, "mute"))
        primed = stream.next()
        assert primed is not None
        resumed = Stream(client, after=primed.id)
        assert resumed.response.status == 200
        client.send(notification("notifications/cancelled", requestId=1))
        (last,) = resumed.rest()
        error = {"code": -32600, "message": "The request was cancelled."}
        assert (stream.rest(), last.data) == ([], {"jsonrpc": "2.0", "id": 1, "error": error})
        assert Stream(client, after=primed.id).rest() == [last]
        over = Stream(client, after=last.id)
        assert (over.response.status, over.rest()) == (204, [])


# --- silence ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def restless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a gateway that leaves no stream silent for long."""
    folder = tmp_path_factory.mktemp("silence")
    answers = {"begun": answer(TEXT, "progress:1:0", "silence"), "mute": answer(TEXT, "silence")}
    tools = [tool(name) for name in answers]
    eras = {"both": [*ONLY_LEGACY, *ONLY_MODERN], "modern": ONLY_MODERN, "legacy": ONLY_LEGACY}
    both, modern, legacy = (
        write_stub(folder, tools=tools, answers=answers, name=name, versions=versions)
        for name, versions in eras.items()
    )
    with serving(both, "http-sse") as url:
        servers = {"stdio": stdio(both), "http": {"url": url}, "modern": stdio(modern), "legacy": stdio(legacy)}
        config = folder / "handfast.json"
        config.write_text(json.dumps({"mcpServers": servers, "limits": {"drain_timeout_s": 0.1}}))
        with naming(config, folder / "state", patience=Patience(keep_alive=0.05), tick=0.02) as base:
            yield base


@pytest.mark.parametrize("place", ["/mcp/stdio", "/mcp/http", "/mcp/modern", "/mcp/legacy", "/mcp"])
@pytest.mark.parametrize("is_modern", [False, True], ids=["a legacy client", "a modern client"])
def test_a_call_that_fell_silent_is_kept_alive_on_every_way(restless: str, place: str, is_modern: bool) -> None:
    client = HttpGateway(restless, Path(), is_modern=is_modern)
    client.path, name = place, "stdio__begun" if place == "/mcp" else "begun"
    client.open()
    meta = {"progressToken": "p"} | (client.render("x")["params"]["_meta"] if is_modern else {})
    post = OpenPost(client, call(1, name, _meta=meta))
    assert post.next_event()["method"] == "notifications/progress"
    assert [post.response.readline() for _ in range(4)] == [b"\n", KEEP_ALIVE, KEEP_ALIVE, KEEP_ALIVE]
    post.leave()


@pytest.mark.parametrize("place", ["/mcp/stdio", "/mcp/modern", "/mcp/legacy", "/mcp"])
def test_a_call_that_says_nothing_at_all_is_kept_alive_once_its_stream_is_open(restless: str, place: str) -> None:
    client = HttpGateway(restless, Path(), is_modern=False)
    client.path, name = place, "stdio__mute" if place == "/mcp" else "mute"
    client.open()
    stream = Stream(client, call(1, name))
    while stream.response.readline() != KEEP_ALIVE:
        pass
    assert stream.response.readline() == KEEP_ALIVE
    stream.leave()


def test_a_listening_stream_is_kept_alive(restless: str) -> None:
    client = HttpGateway(restless, Path(), server="http", is_modern=False)
    client.open()
    stream = OpenPost(client, b"", method="GET")
    assert [stream.response.readline() for _ in range(2)] == [KEEP_ALIVE] * 2
    stream.leave()


# --- who has no use for it -------------------------------------------------------------------------------------------


def test_an_answer_alone_stays_plain_json(rig: Rig) -> None:
    stream = Stream(rig.gateway.client(), call(1, "quick"))
    assert stream.plain() == ("application/json", DONE)


def test_an_older_client_gets_ids_but_no_event_without_data(rig: Rig) -> None:
    client = rig.gateway.client()
    events = Stream(client, call(1, "busy", _meta={"progressToken": 1}), revision=OLDER).rest()
    assert [(event.data is None, bool(event.id), event.retry) for event in events] == [(False, True, None)] * 4
    assert Stream(client, after=events[1].id, revision=OLDER).rest() == events[2:]


@pytest.mark.parametrize(
    ("name", "revision", "accept"),
    [("old", OLDER, "application/json, text/event-stream"), ("deaf", LATEST, "application/json")],
)
def test_a_silent_call_stays_plain_for_a_client_that_could_not_resume_it(
    rig: Rig, name: str, revision: str, accept: str
) -> None:
    stream = Stream(rig.gateway.client(), call(1, name), revision=revision, accept=accept)
    assert stream.plain() == ("application/json", DONE)


def test_a_modern_client_gets_no_ids(rig: Rig) -> None:
    client = rig.gateway.client(is_modern=True)
    body = call(1, "busy", _meta={"progressToken": 1, **client.render("x")["params"]["_meta"]})
    stream = send(rig.gateway.base, "POST", client.path, body, client.headers(body)).body
    assert (stream.count(b"data: "), stream.count(b"id: "), stream.count(b"retry: ")) == (4, 0, 0)


def test_a_call_that_is_long_still_times_out_when_it_should(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("mute")], answers={"mute": answer(TEXT, "silence")})
    with running({"up": stdio(stub)}, tmp_path, limits={"call_timeout_s": 1.5}) as gateway:
        client = gateway.client()
        primed, failed = Stream(client, call(1, "mute")).rest()
        text = "The server neither answered nor reported progress for 1.5 s. The call was given up."
        assert (primed.data, failed.data["error"]) == (None, {"code": -31002, "message": text})
        assert Stream(client, after=primed.id).rest() == [failed]
        (record,) = eventually(lambda: read_records(gateway.state, type="tool_call"), "its record")
        assert 1400 < (record.duration_ms or 0) < 10_000
