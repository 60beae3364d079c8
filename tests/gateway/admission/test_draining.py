"""How a gateway stops: calls under way finish, those in line and new ones are told, and all are on record."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from handfast.gateway.admission.draining import Drain
from handfast.gateway.servers import STOPPED
from tests.contracts.rig import Json
from tests.gateway.http.test_event_stream import Stream
from tests.gateway.running import (
    TEXT,
    Serving,
    call,
    eventually,
    meanwhile,
    outcome,
    request,
    running,
    send,
    stdio,
    verify,
)
from tests.stubs.run import Stub, answer, serving, tool, write_stub

ANSWERS = {
    "slow": answer(TEXT, "slow:2"),
    "mute": answer(TEXT, "silence"),
    "waits": answer(TEXT),
    "late": answer(TEXT),
}
WORD = "The gateway is stopping. Send the request again once it is back."


@contextmanager
def rigged(folder: Path, transport: str, **limits: Json) -> Iterator[tuple[Serving, Stub]]:
    stub = write_stub(folder, tools=[tool(name) for name in ANSWERS], answers=ANSWERS)
    own = {"handfast": {"concurrent_calls": 1}}
    if transport == "stdio":
        with running({"up": stdio(stub, **own)}, folder, limits=limits) as gateway:
            yield gateway, stub
        return
    with serving(stub, "http-sse") as url, running({"up": {"url": url, **own}}, folder, limits=limits) as gateway:
        yield gateway, stub


def is_stopping(gateway: Serving) -> bool:
    return bool(gateway.health()[1]["status"] == "stopping")


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_what_is_under_way_finishes_and_everything_else_is_told(tmp_path: Path, transport: str) -> None:
    with rigged(tmp_path, transport) as (gateway, stub):
        client, other = gateway.client(), gateway.client()
        with ExitStack() as stack:
            finished = stack.enter_context(meanwhile(lambda: client.post(call(1, "slow")).text))
            stub.journal.wait_for(lambda journal: journal.calls("slow"))
            waited = stack.enter_context(meanwhile(lambda: other.post(call(1, "waits")).message["error"]))
            eventually(lambda: gateway.health()[1]["servers"]["up"]["waiting"] == 1, "one in line")
            gateway.process.terminate()
            eventually(lambda: is_stopping(gateway), "the end's beginning")
            headers = client.headers(b"")
            refused = [
                send(gateway.base, "POST", client.path, call(7, "late"), headers),
                send(gateway.base, "POST", client.path, request(7, "tools/list"), headers),
                send(gateway.base, "GET", client.path, headers=headers),
                send(gateway.base, "DELETE", client.path, headers=headers),
            ]
            assert [(one.status, one.error["message"]) for one in refused] == [(503, WORD)] * 4
            assert [json.loads(one.body).get("id") for one in refused] == [7, 7, None, None]
            assert gateway.health()[0] == 503
            text = "The gateway is stopping, so the call never reached the server. Call again once it is back."
            assert waited.result(10) == {"code": -31001, "message": text}
            assert finished.result(10) == "fine"
        assert gateway.process.wait(10) == 0
    ends = {name: outcome(gateway.state, name) for name in ("slow", "waits", "late")}
    assert ends == {
        "slow": ("success", ""),
        "waits": ("error", "gateway.stopping"),
        "late": ("error", "gateway.stopping"),
    }
    assert (stub.journal.calls("waits"), stub.journal.calls("late"), verify(gateway.state)) == ([], [], "intact")
    assert not any(b"Traceback" in line for line in gateway.errors)


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("is_modern", [True, False])
def test_a_call_that_outlasts_the_wait_gets_an_error_and_a_record(
    tmp_path: Path, transport: str, is_modern: bool
) -> None:
    with rigged(tmp_path, transport, drain_timeout_s=0.2) as (gateway, stub):
        client = gateway.client(is_modern=is_modern)
        with meanwhile(lambda: client.call("mute").message["error"]["code"]) as answered:
            stub.journal.wait_for(lambda journal: journal.calls("mute"))
            gateway.process.terminate()
            assert answered.result(10) == -31001
        assert gateway.process.wait(10) == 0
    assert outcome(gateway.state, "mute") == ("error", "upstream.failed")
    assert not any(b"Traceback" in line for line in gateway.errors)


@pytest.mark.requirement("F12")
@pytest.mark.parametrize("is_over", [True, False], ids=["finished", "under way"])
@pytest.mark.parametrize(("transport", "era"), [("stdio", "legacy"), ("stdio", "modern"), ("http-sse", "legacy")])
def test_an_answer_that_its_client_missed_is_given_back_while_draining(
    tmp_path: Path, transport: str, era: str, is_over: bool
) -> None:
    """Relayed from a child, bridged, and relayed from a server that keeps its own streams."""
    versions = ["2026-07-28"] if era == "modern" else ["2025-11-25"]
    missed = answer(TEXT, "resume") if transport == "http-sse" else answer(TEXT, "slow:1.5" if is_over else "slow:3")
    answers = {"missed": missed, "holds": answer(TEXT, "slow:4")}
    stub = write_stub(tmp_path, tools=[tool(name) for name in answers], answers=answers, versions=versions)
    with ExitStack() as stack:
        entry = stdio(stub) if transport == "stdio" else {"url": stack.enter_context(serving(stub, "http-sse"))}
        gateway = stack.enter_context(running({"up": entry}, tmp_path, limits={"drain_timeout_s": 20}))
        client, other = gateway.client(), gateway.client()
        stream = Stream(client, call(1, "missed"))
        first = stream.next()
        assert first is not None
        stream.leave()
        held = stack.enter_context(meanwhile(lambda: other.post(call(1, "holds")).text))
        stub.journal.wait_for(lambda journal: journal.calls("holds"))
        if is_over and transport == "stdio":
            eventually(lambda: outcome(gateway.state, "missed") == ("success", ""), "its end")
        gateway.process.terminate()
        eventually(lambda: is_stopping(gateway), "the end's beginning")
        found = [event.data for event in Stream(client, after=first.id).rest()]
        assert found == [{"jsonrpc": "2.0", "id": 1, "result": json.loads(TEXT)}]
        refused = send(gateway.base, "GET", client.path, headers=client.headers(b""))
        assert (refused.status, refused.error["message"]) == (503, WORD)
        assert held.result(20) == "fine"
        assert gateway.process.wait(10) == 0
    assert not any(b"Traceback" in line for line in gateway.errors)


def test_a_second_signal_ends_the_wait(tmp_path: Path) -> None:
    with rigged(tmp_path, "stdio", drain_timeout_s=600) as (gateway, stub):
        client = gateway.client()
        with meanwhile(lambda: client.call("mute").message["error"]["message"]) as answered:
            stub.journal.wait_for(lambda journal: journal.calls("mute"))
            gateway.process.terminate()
            eventually(lambda: is_stopping(gateway), "the end's beginning")
            assert not answered.done()
            gateway.process.terminate()
            assert answered.result(10) == STOPPED
        assert gateway.process.wait(10) == 0
    assert outcome(gateway.state, "mute") == ("error", "upstream.failed")


def test_with_nothing_under_way_the_end_comes_at_once(tmp_path: Path) -> None:
    with rigged(tmp_path, "stdio", drain_timeout_s=600) as (gateway, _):
        gateway.client().list_tools()
        before = time.monotonic()
        gateway.process.terminate()
        assert gateway.process.wait(30) == 0
        assert time.monotonic() - before < 5


def test_the_last_to_leave_ends_the_wait() -> None:
    async def scenario() -> bool:
        drain = Drain()
        drain.entered()
        drain.entered()
        drain.begin()
        waiting = asyncio.create_task(drain.finished(60))
        drain.left()
        await asyncio.wait({waiting}, timeout=0.05)
        was_early = waiting.done()
        drain.left()
        await asyncio.wait_for(waiting, 10)
        return was_early

    assert asyncio.run(scenario()) is False
