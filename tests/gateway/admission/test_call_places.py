"""Places for calls at a server: never too many at once, fair between clients, given back however a call ends."""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handfast.gateway.admission.call_places import Bounds, LocalPlaces, NoPlace, Place
from tests.contracts.rig import HANDFAST, MODERN_META, HttpGateway, Json
from tests.gateway.running import (
    TEXT,
    OpenPost,
    Serving,
    at_once,
    call,
    eventually,
    meanwhile,
    notification,
    one_record,
    outcome,
    read_records,
    running,
    send,
    stdio,
    wrapping,
)
from tests.stubs.run import Stub, answer, serving, tool, write_stub

# --- the places themselves -------------------------------------------------------------------------------------------


def places(count: int, *, queued: int = 100, seconds: float = 60, most_calls: int = 1000) -> LocalPlaces:
    return LocalPlaces(lambda _server: Bounds(count, queued, seconds), lambda: most_calls)


def ask(here: LocalPlaces, server: str, caller: str, size: int = 0) -> Place:
    """A place for a call that was judged."""
    place = here.open(server, caller)
    place.ask(size)
    return place


def test_a_free_place_is_there_at_once_and_each_server_has_its_own() -> None:
    """Without an event loop: there is nothing to wait for."""
    here = places(1)
    held = [ask(here, "one", "a"), ask(here, "two", "a")]
    assert [place.is_granted for place in held] == [True, True]


def test_a_place_is_given_back_once_however_often_it_is_released() -> None:
    async def scenario() -> list[bool]:
        here = places(1)
        first, second, third = (ask(here, "up", caller) for caller in "abc")
        first.release()
        first.release()
        await second.granted()
        return [first.is_granted, second.is_granted, third.is_granted]

    assert asyncio.run(scenario()) == [False, True, False]


@pytest.mark.requirement("F7")
def test_a_caller_with_its_share_of_the_places_waits_and_others_do_not() -> None:
    async def scenario() -> str:
        here = places(4, seconds=0.01)
        mine = [ask(here, "up", "a") for _ in range(4)]
        assert [place.is_granted for place in mine] == [True, True, True, False]
        assert ask(here, "up", "b").is_granted
        with pytest.raises(NoPlace) as late:
            await mine[3].granted()
        return str(late.value)

    text = "3 calls of this caller, its share of the server, were in progress for 0.01 s, so the call never reached it."
    assert asyncio.run(scenario()) == text + " Call again later, or send fewer calls at once."


@pytest.mark.requirement("F7")
def test_a_caller_with_its_share_of_the_gateway_waits_at_every_server_and_others_do_not() -> None:
    """Six servers with 64 places each would otherwise hold more calls of one caller than the gateway has for all."""

    async def scenario() -> str:
        here = places(4, seconds=0.05, most_calls=8)
        mine = [ask(here, server, "a") for server in ("one", "two", "three") for _ in range(3)]
        assert [place.is_granted for place in mine] == [True] * 6 + [False] * 3
        assert ask(here, "three", "b").is_granted
        mine[0].release()
        await mine[6].granted()  # at another server than the call that ended
        with pytest.raises(NoPlace) as late:
            await mine[7].granted()
        return str(late.value)

    text = (
        "6 calls of this caller, its share of the gateway, were in progress for 0.05 s, so the call never reached it."
    )
    assert asyncio.run(scenario()) == text + " Call again later, or send fewer calls at once."


@pytest.mark.requirement("F7")
def test_calls_that_have_yet_to_be_judged_are_bounded_by_caller_too() -> None:
    """They wait for a list of tools, and a server may be slow to send one."""
    here = places(64, most_calls=8)
    mine = [here.open("slow", "a") for _ in range(6)]
    with pytest.raises(NoPlace) as refused:
        here.open("slow", "a")
    text = "6 calls of this caller have yet to be judged, its share of the gateway. Try again in a moment."
    assert (refused.value.rule, str(refused.value)) == ("calls.full", text)
    others = [here.open("other", "b") for _ in range(2)]
    with pytest.raises(NoPlace, match="The gateway has 8 calls in progress, which is its limit"):
        here.open("other", "c")
    for place in others:
        place.ask(0)
    assert all(place.is_granted for place in others)
    for place in mine:
        place.release()
        place.release()
    assert ask(here, "other", "a").is_granted


@pytest.mark.requirement("F5")
def test_a_large_call_counts_in_the_line_for_as_many_as_it_has_bytes() -> None:
    """A line of the largest calls would hold a gigabyte."""

    async def scenario() -> str:
        here = places(1, queued=10)
        ask(here, "up", "a", 4_000_000)
        ask(here, "up", "b", 300_000)
        ask(here, "up", "b", 300_000)
        with pytest.raises(NoPlace) as full:
            ask(here, "up", "b", 10)
        assert here.waiting("up") == 2
        ask(here, "up", "c", 10)
        assert here.waiting("up") == 2, "the caller with most in the line made room"
        return str(full.value)

    text = "2 calls wait for this server, so the call never reached it. Call again in a moment."
    assert asyncio.run(scenario()) == text


def test_who_waits_for_too_long_is_told_so_and_is_out_of_the_line() -> None:
    async def scenario() -> None:
        here = places(1, seconds=0.01)
        held, late = ask(here, "up", "a"), ask(here, "up", "b")
        with pytest.raises(NoPlace, match=r"^The server was busy with 1 other calls for 0.01 s, so the call never"):
            await late.granted()
        assert here.waiting("up") == 0
        held.release()
        assert ask(here, "up", "c").is_granted

    asyncio.run(scenario())


@pytest.mark.parametrize("is_called_first", [True, False])
def test_a_waiter_that_is_cancelled_leaves_nothing_behind(is_called_first: bool) -> None:
    """Also where its turn comes in the same moment."""

    async def scenario() -> tuple[bool, int]:
        here = places(1)
        held, waiting = ask(here, "up", "a"), ask(here, "up", "b")
        task = asyncio.create_task(waiting.granted())
        await asyncio.sleep(0)
        if is_called_first:
            held.release()
            task.cancel()
        else:
            task.cancel()
            held.release()
        with pytest.raises(asyncio.CancelledError):
            await task
        waiting.release()
        return ask(here, "up", "c").is_granted, here.waiting("up")

    assert asyncio.run(scenario()) == (True, 0)


def test_more_places_are_handed_out_when_the_bound_is_raised() -> None:
    async def scenario() -> list[bool]:
        bounds = Bounds(1, 10, 60)
        here = LocalPlaces(lambda _server: bounds, lambda: 1000)
        asked = [ask(here, "up", "a") for _ in range(3)]
        bounds = Bounds(2, 10, 60)
        here.refill()
        return [place.is_granted for place in asked]

    assert asyncio.run(scenario()) == [True, True, False]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 7), st.booleans()), max_size=60), st.integers(1, 3))
def test_never_more_than_there_are_and_all_come_back(steps: list[tuple[str, int, bool]], count: int) -> None:
    async def scenario() -> tuple[bool, int]:
        here = places(count, queued=4)
        asked = []
        for caller, index, asks in steps:
            if asks:
                with suppress(NoPlace):
                    asked.append(ask(here, "up", caller))
            elif asked:
                asked.pop(index % len(asked)).release()
            held = sum(place.is_granted for place in asked)
            assert held <= count
            assert held == count or here.waiting("up") == 0
        for place in asked:
            place.release()
        return ask(here, "up", "z").is_granted, here.waiting("up")

    assert asyncio.run(scenario()) == (True, 0)


# --- in front of real processes --------------------------------------------------------------------------------------

ANSWERS = {
    "a": answer(TEXT),
    "b": answer(TEXT),
    "mute": answer(TEXT, "silence"),
    "slow": answer(TEXT, "slow:0.1"),
    "failing": answer('{"content":[{"type":"text","text":"no"}],"isError":true}'),
    "broken": answer(error='{"code":-32000,"message":"no"}'),
    "garbage": answer(TEXT, "garbage"),
    "asks": answer('{"resultType":"input_required","inputRequests":{}}'),
    "wrong": answer('{"content":[],"structuredContent":{"n":"no"}}'),
}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = [tool(name, None, NUMBER if name == "wrong" else None) for name in ANSWERS]
BUSY = "The server was busy with 1 other calls for 0.2 s, so the call never reached it."


class Rig:
    def __init__(self, gateway: Serving, stub: Stub) -> None:
        self.gateway, self.stub = gateway, stub

    def waiting(self, count: int) -> None:
        """Return once so many calls stand in line."""
        eventually(lambda: self.gateway.health()[1]["servers"]["up"]["waiting"] == count, f"{count} in line")

    def holding(self, client: HttpGateway, request_id: str = "held") -> OpenPost:
        """A call that the server has and does not answer."""
        before = len(self.stub.journal.calls("mute"))
        post = OpenPost(client, message(client, request_id, "mute"))
        self.stub.journal.wait_for(lambda journal: len(journal.calls("mute")) > before)
        return post

    def order(self) -> list[str]:
        """The calls that reached the server, by their tools, but for those that hold a place."""
        received = (entry.message for entry in self.stub.journal.messages())
        called = (m["params"]["name"] for m in received if m.get("method") == "tools/call")
        return [name for name in called if name != "mute"]


def message(client: HttpGateway, request_id: str, name: str) -> bytes:
    return call(request_id, name, **({"_meta": MODERN_META} if client.is_modern else {}))


def cancel(client: HttpGateway, request_id: str) -> None:
    client.send(notification("notifications/cancelled", requestId=request_id))


@contextmanager
def rigged(folder: Path, transport: str = "stdio", *, count: int = 1, **limits: Json) -> Iterator[Rig]:
    stub = write_stub(folder, tools=TOOLS, answers=ANSWERS)
    own = {"handfast": {"concurrent_calls": count}}
    strict = {"output_validation": {"mode": "strict"}}
    if transport == "stdio":
        with running({"up": stdio(stub, **own)}, folder, limits=limits, leaves_calls=True, **strict) as gateway:
            yield Rig(gateway, stub)
        return
    with (
        serving(stub, "http-json") as url,
        running({"up": {"url": url, **own}}, folder, limits=limits, leaves_calls=True, **strict) as gateway,
    ):
        yield Rig(gateway, stub)


TRANSPORTS = pytest.mark.parametrize("transport", ["stdio", "http"])


@TRANSPORTS
def test_callers_take_turns_when_the_server_is_busy(tmp_path: Path, transport: str) -> None:
    with rigged(tmp_path, transport) as rig:
        busy, other = rig.gateway.client(), rig.gateway.client()
        held = rig.holding(busy)
        posts = [OpenPost(busy, call(f"a{n}", "a")) for n in range(4)]
        rig.waiting(4)
        posts.append(OpenPost(other, call("b0", "b")))
        rig.waiting(5)
        assert shown_as_waiting(rig) == "5"
        assert rig.order() == []
        assert busy.list_tools() != []  # only calls are held back
        cancel(busy, "held")
        eventually(lambda: len(rig.order()) == 5, "all of them")
        assert rig.order() == ["a", "b", "a", "a", "a"]
        rig.waiting(0)
        record = one_record(rig.gateway.state, type="tool_call", tool="b")
        assert (record.status, float(str(record.details["queued_ms"])) > 0) == ("success", True)
        for post in (held, *posts):
            post.leave()


@TRANSPORTS
@pytest.mark.requirement("F7")
def test_callers_take_turns_though_the_gateway_itself_runs_for_one_actor(
    tmp_path: Path, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDFAST_ACTOR", "operator")
    test_callers_take_turns_when_the_server_is_busy(tmp_path, transport)


def shown_as_waiting(rig: Rig) -> str:
    """What `handfast servers` says: the column is there only while somebody waits."""
    command = [*HANDFAST, "servers", "--config", str(rig.gateway.config), "--url", rig.gateway.base]
    head, row, _ = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return row[head.index("WAITING") :].split()[0]


@TRANSPORTS
def test_modern_clients_take_turns_by_what_they_call_themselves(tmp_path: Path, transport: str) -> None:
    with rigged(tmp_path, transport) as rig:
        client = rig.gateway.client(is_modern=True)
        info = "io.modelcontextprotocol/clientInfo"
        posts = [rig.holding(client)]
        for number, name in enumerate(("a", "a", "a", "b")):
            meta = {**MODERN_META, info: {"name": f"client of {name}", "version": "1"}}
            posts.append(OpenPost(client, call(number, name, _meta=meta)))
            rig.waiting(number + 1)
        posts[0].leave()
        eventually(lambda: len(rig.order()) == 4, "all of them")
        assert rig.order() == ["a", "b", "a", "a"]
        for post in posts:
            post.leave()


@TRANSPORTS
def test_never_more_than_allowed_are_at_the_server(tmp_path: Path, transport: str) -> None:
    with rigged(tmp_path, transport, count=2) as rig:
        clients = [rig.gateway.client() for _ in range(4)]
        posts = [OpenPost(client, call("held", "mute")) for client in clients]
        rig.waiting(2)
        rig.stub.journal.wait_for(lambda journal: len(journal.calls("mute")) >= 2)
        assert len(rig.stub.journal.calls("mute")) == 2
        assert rig.gateway.health()[1]["servers"]["up"]["in_progress"] == 2
        for client in clients:
            cancel(client, "held")
        assert at_once(*[lambda: clients[0].call("slow").text] * 8) == ["fine"] * 8
        for post in posts:
            post.leave()


@TRANSPORTS
@pytest.mark.parametrize("is_modern", [True, False])
def test_a_call_that_waits_for_too_long_is_refused_and_recorded(
    tmp_path: Path, transport: str, is_modern: bool
) -> None:
    with rigged(tmp_path, transport, queue_timeout_s=0.2) as rig:
        client = rig.gateway.client(is_modern=is_modern)
        held = rig.holding(client)
        error = client.call("a").message["error"]
        hint = " Call again later, or send fewer calls at once."
        assert error == {"code": -31001, "message": BUSY + hint}
        record = one_record(rig.gateway.state, type="tool_call", tool="a")
        assert (record.status, record.rule, record.reason) == ("error", "queue.timeout", BUSY + hint)
        assert float(str(record.details["queued_ms"])) >= 190
        assert rig.order() == []
        held.leave()


@TRANSPORTS
def test_a_full_line_refuses_who_has_most_in_it(tmp_path: Path, transport: str) -> None:
    with rigged(tmp_path, transport, queued_calls=2) as rig:
        busy, other = rig.gateway.client(), rig.gateway.client()
        posts = [rig.holding(busy), OpenPost(busy, call("a0", "a"))]
        rig.waiting(1)
        with meanwhile(lambda: busy.post(call("a1", "a")).message["error"]) as displaced:
            rig.waiting(2)
            refused = busy.post(call("a2", "a")).message["error"]
            posts.append(OpenPost(other, call("b0", "b")))
            text = "2 calls wait for this server, so the call never reached it. Call again in a moment."
            assert [refused, displaced.result(10)] == [{"code": -31001, "message": text}] * 2
        cancel(busy, "held")
        eventually(lambda: rig.order() == ["a", "b"], "both that had a place in line")
        rules = eventually(lambda: full(rig), "the records")
        assert rules == [("error", "queue.full")] * 2
        for post in posts:
            post.leave()


def full(rig: Rig) -> list[tuple[str, str]]:
    found = read_records(rig.gateway.state, type="tool_call", rule="queue.full")
    return [(record.status.value, record.rule) for record in found] if len(found) == 2 else []


@TRANSPORTS
def test_a_call_cancelled_in_line_never_reaches_the_tool(tmp_path: Path, transport: str) -> None:
    with rigged(tmp_path, transport) as rig:
        client = rig.gateway.client()
        held = rig.holding(client)
        waiting = OpenPost(client, call("w", "a"))
        rig.waiting(1)
        cancel(client, "w")
        rig.waiting(0)
        assert outcome(rig.gateway.state, "a") == ("cancelled", "")
        cancel(client, "held")
        assert client.call("b").text == "fine"
        assert rig.order() == ["b"]
        for post in (held, waiting):
            post.leave()


@TRANSPORTS
@pytest.mark.parametrize("is_modern", [True, False])
def test_a_client_that_leaves_the_line_never_reaches_the_tool(tmp_path: Path, transport: str, is_modern: bool) -> None:
    with rigged(tmp_path, transport) as rig:
        holder, client = rig.gateway.client(), rig.gateway.client(is_modern=is_modern)
        held = rig.holding(holder)
        waiting = OpenPost(client, message(client, "w", "a"))
        rig.waiting(1)
        waiting.leave()
        rig.waiting(0)
        record = one_record(rig.gateway.state, type="tool_call", tool="a")
        reason = "The client left while the call waited, so it never reached the server."
        assert (record.status, record.reason) == ("cancelled", reason)
        cancel(holder, "held")
        assert client.call("b").text == "fine"
        assert rig.order() == ["b"]
        held.leave()


@TRANSPORTS
@pytest.mark.parametrize("is_modern", [True, False])
def test_however_a_call_ends_its_place_is_free_again(tmp_path: Path, transport: str, is_modern: bool) -> None:
    with rigged(tmp_path, transport, queue_timeout_s=5, call_timeout_s=1) as rig:
        client = rig.gateway.client(is_modern=is_modern)
        client.list_tools()
        for name in ("a", "failing", "broken", "garbage", "asks", "wrong", "mute", "unknown"):
            client.call(name)
            assert client.call("b").text == "fine", f"after {name}"
        health = rig.gateway.health()[1]["servers"]["up"]
        assert (health["in_progress"], health["waiting"]) == (0, 0)


def test_a_child_that_dies_frees_its_places(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=TOOLS, answers={**ANSWERS, "quit": answer(TEXT, "exit:3")})
    own = {"handfast": {"concurrent_calls": 1}}
    with running({"up": stdio(stub, **own)}, tmp_path) as gateway:
        assert gateway.client().call("quit").message["error"]["code"] == -31001
        assert gateway.client().call("a").text == "fine"


@TRANSPORTS
def test_a_session_that_ends_takes_its_calls_out_of_the_line(tmp_path: Path, transport: str) -> None:
    with rigged(tmp_path, transport) as rig:
        holder, client = rig.gateway.client(), rig.gateway.client()
        held = rig.holding(holder)
        with meanwhile(lambda: client.post(call("w", "a")).message["error"]["code"]) as answered:
            rig.waiting(1)
            send(rig.gateway.base, "DELETE", client.path, headers={"Mcp-Session-Id": client.session})
            assert answered.result(10) == -31001
        assert rig.order() == []
        assert one_record(rig.gateway.state, type="tool_call", tool="a").status in ("error", "cancelled")
        held.leave()


def test_a_server_that_is_taken_away_answers_who_waits_for_it(tmp_path: Path) -> None:
    with rigged(tmp_path) as rig:
        client = rig.gateway.client()
        held = rig.holding(client)
        with meanwhile(lambda: client.post(call("w", "a")).message["error"]) as answered:
            rig.waiting(1)
            rig.gateway.write_settings({"mcpServers": {"other": {"command": "true"}}})
            text = "The server was closed while the call waited, so it never reached the server. Call again."
            assert answered.result(10) == {"code": -31001, "message": text}
        assert outcome(rig.gateway.state, "a") == ("error", "queue.dismissed")
        held.leave()


def test_a_raised_bound_lets_those_in_who_wait(tmp_path: Path) -> None:
    with rigged(tmp_path) as rig:
        client = rig.gateway.client()
        held = rig.holding(client)
        with meanwhile(lambda: client.post(call("w", "a")).text) as answered:
            rig.waiting(1)
            entry = stdio(rig.stub, handfast={"concurrent_calls": 2})
            rig.gateway.write_settings({"mcpServers": {"up": entry}})
            assert answered.result(10) == "fine"
        held.leave()


def test_what_waits_counts_for_nothing_on_other_servers(tmp_path: Path) -> None:
    """The bound for the whole process is for calls in progress: a long line must not close the other servers."""
    stubs = [write_stub(tmp_path, tools=TOOLS, answers=ANSWERS, name=name) for name in ("up", "other")]
    servers = {"up": stdio(stubs[0], handfast={"concurrent_calls": 1}), "other": stdio(stubs[1])}
    with running(servers, tmp_path, limits={"concurrent_calls": 2}, leaves_calls=True) as gateway:
        rig, client, other = Rig(gateway, stubs[0]), gateway.client(), gateway.client("other")
        posts = [rig.holding(client), *(OpenPost(client, call(f"a{n}", "a")) for n in range(3))]
        rig.waiting(3)
        assert other.call("a").text == "fine"
        posts.append(OpenPost(other, call("held", "mute")))
        stubs[1].journal.wait_for(lambda journal: journal.calls("mute"))
        assert other.call("a").text == "The gateway has 2 calls in progress, which is its limit. Try again in a moment."
        for post in posts:
            post.leave()


def test_a_wrapped_server_has_a_line_too_which_ends_with_it(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=TOOLS, answers={**ANSWERS, "quit": answer(TEXT, "exit:3")})
    with wrapping(stub.command, tmp_path, limits={"calls_per_server": 2, "queue_timeout_s": 60}) as gateway:
        gateway.send(call("held", "mute"))
        gateway.send(call("s", "slow"))
        gateway.send(call("w", "a"))
        assert [gateway.answer_to(name).text for name in ("s", "w")] == ["fine", "fine"]
        gateway.send(call("q", "quit"))
        gateway.send(call("late", "b"))
        text = "The server was closed while the call waited, so it never reached the server. Call again."
        assert gateway.answer_to("late").text == text
        assert stub.journal.calls("b") == []
    assert outcome(gateway.state, "b") == ("error", "queue.dismissed")
