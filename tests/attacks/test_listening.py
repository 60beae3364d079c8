"""Clients that only listen: many streams of one client leave another its calls, its session and its own stream."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.attacks.test_shared_process import Caller
from tests.contracts.rig import Json
from tests.gateway.running import OpenPost, Serving, eventually, read_records, running
from tests.gateway.translate.servers.asking import LEGACY, MODERN, Way, entry_for
from tests.stubs.run import Stub, answer, tool, write_stub

pytestmark = pytest.mark.requirement("F7")

FINE = {"resultType": "complete", "content": [{"type": "text", "text": "fine"}]}
PROMPTS = {"resultType": "complete", "prompts": [{"name": "slow"}], "ttlMs": 0, "cacheScope": "private"}
CALLS = 256  # connections to one server that are kept for calls
PLACES = ["/mcp/up", "/mcp/compact", "/mcp#up"]
HTTP: list[Way] = ["http-json", "http-sse"]


@contextmanager
def heard(folder: Path, way: Way, versions: list[str] = MODERN, **settings: Json) -> Iterator[tuple[Serving, Stub]]:
    stub = write_stub(folder, tools=[tool("add")], answers={"add": answer(FINE)}, versions=versions)
    with entry_for(stub, way) as entry:
        compact = entry | {"handfast": {"surface": "compact"}}
        with running({"up": entry, "compact": compact}, folder, **settings) as gateway:
            yield gateway, stub


def listen(gateway: Serving, place: str, name: str) -> OpenPost:
    caller = Caller(gateway, place, name)
    wanted: Json = {"notifications": {"toolsListChanged": True}}
    return OpenPost(caller, json.dumps(caller.render("subscriptions/listen", wanted)).encode())


def listens(stub: Stub) -> int:
    return stub.journal.methods().count("subscriptions/listen")


@pytest.mark.parametrize("way", HTTP)
@pytest.mark.parametrize("place", PLACES)
def test_subscriptions_of_one_client_leave_the_calls_of_others_their_connections(
    tmp_path: Path, place: str, way: Way
) -> None:
    with heard(tmp_path, way) as (gateway, stub), ExitStack() as stack:
        victim = Caller(gateway, place, "victim")
        assert victim.run("add").text == "fine"
        for _ in range(CALLS):
            stack.callback(listen(gateway, place, "greedy").leave)
        stub.journal.wait_for(lambda _: listens(stub) >= CALLS, seconds=30)
        assert victim.run("add").text == "fine"


@pytest.mark.parametrize("way", HTTP)
@pytest.mark.parametrize("place", PLACES)
def test_idle_sessions_of_one_client_leave_the_calls_of_others_their_connections(
    tmp_path: Path, place: str, way: Way
) -> None:
    """The server is modern: for each legacy session the gateway listens in the session's place."""
    with heard(tmp_path, way) as (gateway, stub):
        for _ in range(CALLS):
            Caller(gateway, place, "greedy", is_modern=False).open()
        stub.journal.wait_for(lambda _: listens(stub) >= CALLS, seconds=30)
        victim = Caller(gateway, place, "victim", is_modern=False)
        victim.open()
        assert victim.run("add").text == "fine"


@pytest.mark.parametrize("versions", [MODERN, LEGACY], ids=["modern server", "legacy server"])
@pytest.mark.parametrize("is_modern", [True, False], ids=["modern client", "legacy client"])
@pytest.mark.parametrize("place", ["/mcp/up", "/mcp#up"])
def test_other_requests_of_one_client_leave_the_calls_of_others_their_connections(
    tmp_path: Path, place: str, is_modern: bool, versions: list[str]
) -> None:
    """A prompt that takes for ever, or the result of a task that is waited for."""
    stub = write_stub(
        tmp_path,
        tools=[tool("add")],
        answers={"add": answer(FINE)},
        methods={"prompts/get": answer(FINE, "silence"), "prompts/list": answer(PROMPTS)},
        capabilities={"tools": {}, "prompts": {}},
        versions=versions,
    )
    with entry_for(stub, "http-json") as entry, running({"up": entry}, tmp_path) as gateway, ExitStack() as stack:
        victim, greedy = (Caller(gateway, place, name, is_modern=is_modern) for name in ("victim", "greedy"))
        for caller in (victim, greedy):
            if not is_modern:
                caller.open()
        assert victim.run("add").text == "fine"
        name = "up__slow" if greedy.prefix else "slow"
        for _ in range(CALLS):
            request = json.dumps(greedy.render("prompts/get", {"name": name})).encode()
            stack.callback(OpenPost(greedy, request).leave)
        stub.journal.wait_for(lambda _: stub.journal.methods().count("prompts/get") >= CALLS, seconds=30)
        assert victim.run("add").text == "fine"


SHARE = "8 streams of this caller only listen to the server, which is its share. End one of them."


@pytest.mark.parametrize("way", HTTP)
@pytest.mark.parametrize("place", ["/mcp/up", "/mcp/compact"])
def test_a_client_that_listens_on_half_of_the_streams_gets_no_more_and_another_does(
    tmp_path: Path, place: str, way: Way
) -> None:
    with heard(tmp_path, way, limits={"connections": 16}) as (gateway, stub), ExitStack() as stack:
        for _ in range(8):
            stack.callback((held := listen(gateway, place, "greedy")).leave)
            assert held.next_event()["method"] == "notifications/subscriptions/acknowledged"
        wanted: Json = {"notifications": {"toolsListChanged": True}}
        refused = Caller(gateway, place, "greedy").request("subscriptions/listen", wanted)
        assert refused.text == SHARE
        assert listens(stub) == 8
        stack.callback((other := listen(gateway, place, "victim")).leave)
        assert other.next_event()["method"] == "notifications/subscriptions/acknowledged"
        (record,) = eventually(lambda: read_records(gateway.state, rule="listening.no_room"), "the refusal on record")
        assert (record.status.value, record.reason) == ("blocked", f"A stream was refused: {SHARE}")
        held.leave()
        again = eventually(lambda: accepted(gateway, place, "greedy"), "a place that was given back")
        assert again is not None
        stack.callback(again.leave)


def accepted(gateway: Serving, place: str, name: str) -> OpenPost | None:
    found = listen(gateway, place, name)
    if found.next_event() is not None:
        return found
    found.leave()
    return None


@pytest.mark.parametrize("way", HTTP)
def test_streams_of_sessions_are_counted_with_them(tmp_path: Path, way: Way) -> None:
    with heard(tmp_path, way, LEGACY, limits={"connections": 16}) as (gateway, _), ExitStack() as stack:
        for _ in range(8):
            mine = Caller(gateway, "/mcp/up", "greedy", is_modern=False)
            mine.open()
            stack.enter_context(mine.listening())
        refused = Caller(gateway, "/mcp/up", "greedy", is_modern=False)
        refused.open()
        with pytest.raises(AssertionError, match="503"):
            hear(refused, stack)
        victim = Caller(gateway, "/mcp/up", "victim", is_modern=False)
        victim.open()
        hear(victim, stack)
        assert victim.call("add").text == "fine"


def hear(caller: Caller, stack: ExitStack) -> None:
    stream = OpenPost(caller, b"", method="GET")
    stack.callback(stream.leave)
    assert stream.response.status == 200, stream.response.status
