"""Calls that were given up while their legacy server goes on and asks: no other call gets the question."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from handfast.gateway.translate.backend import Backend
from tests.attacks.test_shared_process import Caller
from tests.contracts.rig import EVENTS, Json
from tests.gateway.running import OpenPost, Serving, notification, one_record, pids, read_records, running, stdio
from tests.gateway.translate.servers.asking import LEGACY, PREFIX, Asker, asking, entry_for
from tests.stubs.run import Journal, Stub, answer, tool, write_stub

FINE = {"content": [{"type": "text", "text": "fine"}]}
ASKS: Json = {"elicitation": {}}
REFUSED = "The server sent elicitation/create after another call was given up, and was refused."
LATE = "progress:1:1"  # a call that asks a second after it began
PLACES = ["/mcp/up", "/mcp#up", "/mcp/compact"]


def a_stub(folder: Path, *late: Json) -> Stub:
    answers = {
        "late": list(late),
        "wait": answer(FINE, "slow:2"),
        "ask": answer(FINE, "server_request"),
        "add": answer(FINE),
    }
    return write_stub(folder, tools=[tool(name) for name in answers], answers=answers, versions=LEGACY)


@contextmanager
def begun(caller: Caller, name: str, client_id: str) -> Iterator[OpenPost]:
    """A call of a client that can be asked."""
    whole = {"name": f"{caller.prefix}__{name}" if caller.prefix else name, "arguments": {}}
    if caller.server == "compact":
        whole = {"name": "compact", "arguments": {"action": name, "arguments": {}}}
    message = caller.render("tools/call", whole)
    message["id"] = client_id
    if caller.is_modern:
        message["params"]["_meta"] = message["params"]["_meta"] | {PREFIX + "clientCapabilities": ASKS}
    post = OpenPost(caller, json.dumps(message).encode())
    try:
        yield post
    finally:
        post.leave()


def first_of(post: OpenPost) -> Json:
    """The first message that comes for a call."""
    is_stream = post.response.headers["content-type"].startswith(EVENTS)
    return post.next_event() if is_stream else json.loads(post.response.read())


def was_called(name: str) -> Callable[[Journal], object]:
    return lambda journal: journal.calls(name)


@pytest.mark.requirement("F3")
@pytest.mark.parametrize("place", PLACES)
def test_a_question_of_a_call_that_was_given_up_goes_to_no_other_call(tmp_path: Path, place: str) -> None:
    """Not even to a call of the same caller: without a session, several clients may be one caller."""
    with giving_up(tmp_path) as (gateway, stub):
        mine = Caller(gateway, place, "mine")
        with begun(mine, "late", "late") as late:
            stub.journal.wait_for(was_called("late"))
            late.leave()
            found = ask_meanwhile(mine, stub)
        assert found.get("result", {}).get("content") == FINE["content"], found
        assert one_record(gateway.state, rule="message.unowned").reason == REFUSED
        before = pids(stub)
        with begun(mine, "ask", "again") as again:
            asked = first_of(again)
        assert "elicitation/create" in json.dumps(asked), asked
        assert len(pids(stub)) == len(before) + 1


@pytest.mark.requirement("F3")
@pytest.mark.parametrize("place", PLACES[1:])
def test_the_client_of_a_session_is_asked_whichever_of_its_calls_it_is_about(tmp_path: Path, place: str) -> None:
    with giving_up(tmp_path) as (gateway, stub):
        mine = Caller(gateway, place, "mine", is_modern=False)
        mine.open(ASKS)
        with begun(mine, "late", "late"):
            stub.journal.wait_for(was_called("late"))
            mine.send(notification("notifications/cancelled", requestId="late"))
            found = ask_meanwhile(mine, stub)
        assert found["method"] == "elicitation/create", found
        assert not read_records(gateway.state, rule="message.unowned")


@contextmanager
def giving_up(folder: Path) -> Iterator[tuple[Serving, Stub]]:
    stub = a_stub(folder, answer(FINE, LATE, "server_request"))
    servers = {"up": stdio(stub), "compact": stdio(stub, handfast={"surface": "compact"})}
    with running(servers, folder) as gateway:
        yield gateway, stub


def ask_meanwhile(mine: Caller, stub: Stub) -> Json:
    """The first that another call hears, once the server knows that a call was given up."""
    stub.journal.wait_for(lambda journal: "notifications/cancelled" in journal.methods())
    with begun(mine, "wait", "other") as other:
        return first_of(other)


@pytest.mark.requirement("F3")
def test_a_server_that_answers_no_call_that_was_cancelled_is_asked_in_a_new_session(tmp_path: Path) -> None:
    """As the specification wants it: the first question is refused, and the next call runs where none was given up."""
    stub = a_stub(tmp_path, answer(FINE, "silence"))

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS, peer="10.0.0.1")
        await give_up(stub, asker, "late")
        before = pids(stub)
        assert (await asker.call("ask"))["result"].get("content") == FINE["content"]
        assert (await asker.call("ask"))["result"]["resultType"] == "input_required"
        assert len(pids(stub)) == len(before) + 1

    asking(stdio(stub), tmp_path, work)
    assert one_record(tmp_path / "state", rule="message.unowned").reason == REFUSED


async def give_up(stub: Stub, asker: Asker, name: str) -> None:
    call = asyncio.create_task(asker.call(name))
    await asyncio.to_thread(stub.journal.wait_for, was_called(name))
    call.cancel()
    await asyncio.wait((call,))
    await asyncio.to_thread(stub.journal.wait_for, lambda journal: "notifications/cancelled" in journal.methods())


@pytest.mark.requirement("F3")
def test_a_server_that_was_seen_to_ask_gets_the_next_call_in_a_new_session(tmp_path: Path) -> None:
    stub = a_stub(tmp_path, answer(FINE, "silence"))

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS, peer="10.0.0.1")
        asked = (await asker.call("ask"))["result"]
        responses = {name: {"action": "decline"} for name in asked["inputRequests"]}
        done = await asker.call("ask", requestState=asked["requestState"], inputResponses=responses)
        assert done["result"]["content"] == FINE["content"]
        before = pids(stub)
        await give_up(stub, asker, "late")
        assert (await asker.call("ask"))["result"]["resultType"] == "input_required"
        assert len(pids(stub)) == len(before) + 1

    asking(stdio(stub), tmp_path, work)
    assert not read_records(tmp_path / "state", rule="message.unowned")


@pytest.mark.requirement("F3")
def test_a_given_up_call_that_was_answered_late_asks_nothing_more(tmp_path: Path) -> None:
    stub = a_stub(tmp_path, answer(FINE, "slow:0.5"))
    state = tmp_path / "state"

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS, peer="10.0.0.1")
        await give_up(stub, asker, "late")
        assert (await asker.call("wait"))["result"].get("content") == FINE["content"]  # which takes longer
        before = pids(stub)
        assert (await asker.call("ask"))["result"]["resultType"] == "input_required"
        assert pids(stub) == before

    asking(stdio(stub), tmp_path, work)
    assert not read_records(state, rule="message.unowned")


@pytest.mark.requirement("F3")
@pytest.mark.parametrize("ending", ["cancelled", "timed out"])
def test_a_question_that_comes_outside_its_given_up_call_goes_to_no_other_over_http(
    tmp_path: Path, ending: str
) -> None:
    """On the listening stream of the session, where a question names no call."""
    question = b'data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Go on?"}}\n\n'
    delay = "slow:1" if ending == "cancelled" else "slow:4"
    answers = {"late": answer(FINE, delay, events=question), "wait": answer(FINE, "slow:2")}
    stub = write_stub(tmp_path, tools=[tool(name) for name in answers], answers=answers, versions=LEGACY)

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS, peer="10.0.0.1")
        if ending == "cancelled":
            await give_up(stub, asker, "late")
        else:
            assert (await asker.call("late"))["error"]["code"] == -31002
        found = await asker.call("wait")
        assert found.get("result", {}).get("content") == FINE["content"], found

    with entry_for(stub, "http-json") as entry:
        asking(entry, tmp_path, work, {"limits": {"call_timeout_s": 3}})
    assert one_record(tmp_path / "state", rule="message.unowned").reason == REFUSED
