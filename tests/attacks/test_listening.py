"""Clients that only listen: many streams of one client leave another its calls, its session and its own stream."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.attacks.test_shared_process import Caller
from tests.contracts.rig import Json
from tests.gateway.running import OpenPost, Serving, eventually, notification, read_records, running, stdio
from tests.gateway.translate.servers.asking import LEGACY, MODERN, Way, entry_for
from tests.stubs.run import Journal, Stub, answer, tool, write_stub

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


ERAS = pytest.mark.parametrize("versions", [MODERN, LEGACY], ids=["modern server", "legacy server"])
CLIENTS = pytest.mark.parametrize("is_modern", [True, False], ids=["modern client", "legacy client"])
SILENT = answer(FINE, "silence")


@contextmanager
def silent_about(folder: Path, versions: list[str], **methods: dict[str, object]) -> Iterator[tuple[Serving, Stub]]:
    """A server over HTTP with one quick tool, one that never answers, and a prompt that never comes."""
    stub = write_stub(
        folder,
        tools=[tool("add"), tool("mute")],
        answers={"add": answer(FINE), "mute": SILENT},
        methods={"prompts/get": SILENT, "prompts/list": answer(PROMPTS), **methods},
        capabilities={"tools": {}, "prompts": {}},
        versions=versions,
    )
    with entry_for(stub, "http-json") as entry, running({"up": entry}, folder) as gateway:
        yield gateway, stub


def opened(gateway: Serving, place: str, name: str, *, is_modern: bool) -> Caller:
    caller = Caller(gateway, place, name, is_modern=is_modern)
    if not is_modern:
        caller.open()
    return caller


def ask_for_prompts(stack: ExitStack, greedy: Caller, count: int) -> None:
    name = "up__slow" if greedy.prefix else "slow"
    for _ in range(count):
        request = json.dumps(greedy.render("prompts/get", {"name": name})).encode()
        stack.callback(OpenPost(greedy, request).leave)


@ERAS
@CLIENTS
@pytest.mark.parametrize("place", ["/mcp/up", "/mcp#up"])
def test_other_requests_leave_the_calls_of_others_their_connections(
    tmp_path: Path, place: str, is_modern: bool, versions: list[str]
) -> None:
    """A prompt that takes for ever, or the result of a task that is waited for."""
    with silent_about(tmp_path, versions) as (gateway, stub), ExitStack() as stack:
        victim = opened(gateway, place, "victim", is_modern=is_modern)
        assert victim.run("add").text == "fine"
        for name in ("greedy", "greedier"):
            ask_for_prompts(stack, opened(gateway, place, name, is_modern=is_modern), CALLS // 2)
        stub.journal.wait_for(lambda _: stub.journal.methods().count("prompts/get") >= CALLS, seconds=30)
        assert victim.run("add").text == "fine"


@ERAS
@CLIENTS
@pytest.mark.parametrize("place", ["/mcp/up", "/mcp#up"])
def test_other_requests_of_one_client_leave_others_their_lists_and_sessions(
    tmp_path: Path, place: str, is_modern: bool, versions: list[str]
) -> None:
    with silent_about(tmp_path, versions) as (gateway, stub), ExitStack() as stack:
        victim = opened(gateway, place, "victim", is_modern=is_modern)
        greedy = opened(gateway, place, "greedy", is_modern=is_modern)
        ask_for_prompts(stack, greedy, CALLS // 2)
        stub.journal.wait_for(lambda _: stub.journal.methods().count("prompts/get") >= CALLS // 2, seconds=30)
        refused = greedy.request("prompts/get", {"name": "up__slow" if greedy.prefix else "slow"})
        text = "128 requests of this caller wait for the server, which is its share. Wait for their answers."
        assert refused.text.removeprefix("up: ") == text
        assert len(victim.list_tools()) == 2
        assert len(opened(gateway, place, "late", is_modern=is_modern).list_tools()) == 2
        found = eventually(lambda: read_records(gateway.state, rule="requests.no_room"), "the refusal on record")
        assert found[0].status.value == "blocked"


@pytest.mark.parametrize("place", ["/mcp/up", "/mcp#up"])
def test_calls_that_were_cancelled_hold_no_connection(tmp_path: Path, place: str) -> None:
    """Their clients may well stay connected, and a legacy server goes on with a call that it was told to end."""
    with silent_about(tmp_path, LEGACY) as (gateway, stub), ExitStack() as stack:
        victim = opened(gateway, place, "victim", is_modern=False)
        assert victim.run("add").text == "fine"
        greedy = opened(gateway, place, "greedy", is_modern=False)
        name = "up__mute" if greedy.prefix else "mute"
        for number in range(CALLS + 10):
            request = greedy.render("tools/call", {"name": name, "arguments": {}})
            stack.callback(OpenPost(greedy, json.dumps(request).encode()).leave)
            stub.journal.wait_for(partial(has_calls, number))
            greedy.send(notification("notifications/cancelled", requestId=request["id"]))
        assert victim.run("add").text == "fine"


def has_calls(more_than: int, journal: Journal) -> bool:
    return len(journal.calls("mute")) > more_than


def test_calls_that_wait_for_a_list_leave_the_calls_of_others_their_room(tmp_path: Path) -> None:
    for name in ("quick", "slow"):
        (tmp_path / name).mkdir()
    quick = write_stub(tmp_path / "quick", tools=[tool("add")], answers={"add": answer(FINE)})
    slow = write_stub(tmp_path / "slow", tools=[tool("add")], methods={"tools/list": SILENT})
    servers = {"quick": stdio(quick), "slow": stdio(slow)}
    limits = {"concurrent_calls": 8, "learn_timeout_s": 60}
    with running(servers, tmp_path, limits=limits) as gateway, ExitStack() as stack:
        greedy, victim = Caller(gateway, "/mcp/slow", "greedy"), Caller(gateway, "/mcp/quick", "victim")
        for _ in range(6):
            request = json.dumps(greedy.render("tools/call", {"name": "add", "arguments": {}})).encode()
            stack.callback(OpenPost(greedy, request).leave)
        refused = eventually(lambda: refusal_of(greedy), "its share")
        text = "6 calls of this caller have yet to be judged, its share of the gateway. Try again in a moment."
        assert refused == text
        assert victim.run("add").text == "fine"


def refusal_of(greedy: Caller) -> str:
    """What another call is told; nothing while there is room for it, and then it is not waited for."""
    request = json.dumps(greedy.render("tools/call", {"name": "add", "arguments": {}})).encode()
    sent = OpenPost(greedy, request)
    try:
        sent.set_timeout(0.2)
        return str(json.loads(sent.response.read())["error"]["message"])
    except TimeoutError:
        return ""
    finally:
        sent.leave()


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
