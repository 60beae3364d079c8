"""Attacks on the record: callers who leave at any moment, records that cannot be written, a server that is killed."""

import asyncio
import logging
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, MCPError, StdioServerParameters

from handfast.activity.query import EVERYTHING
from handfast.activity.reports import verify
from handfast.activity.sqlite import SqliteStore
from handfast.core.call.exchange import Record, RecordingFailed, Ticket
from handfast.toolkit import Actor, Args, Call, Toolbox
from handfast.toolkit.running.recording import open_recorder
from tests.toolkit.records import Kept

ADA = Actor(id="ada")
GUARDS = {"confirm": True, "reason": "asked to"}
STEPS = 60  # more than a call takes, so that the last ones are not cancelled at all


class Slow(Kept):
    """Every wait takes a few turns of the loop, so that a caller can leave in the middle of it."""

    async def room(self) -> None:
        await turns(3)

    async def committed(self, ticket: Ticket) -> None:
        await turns(3)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Which(Args):
    id: int


def make_toolbox(**more: Any) -> tuple[Toolbox, list[int]]:
    tools = Toolbox("attacked", **more)
    done: list[int] = []

    @tools.admin
    async def wipe(args: Which, call: Call) -> int:
        """Wipe one."""
        await turns(3)
        done.append(args.id)
        await turns(3)
        return args.id

    @tools.write
    async def write(args: Which) -> int:
        """Write one."""
        done.append(args.id)
        return args.id

    return tools, done


# --- callers who leave -------------------------------------------------------------------------------------------


@pytest.mark.requirement("003-10")
@pytest.mark.parametrize("arguments", [{"id": 1, **GUARDS}, {"id": 1}, {"id": "x", **GUARDS}])
def test_whenever_a_caller_leaves_the_record_the_event_and_the_count_tell_the_same(
    arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "handfast.toolkit")
    seen: set[str] = set()
    for step in range(1, STEPS):  # before the first step the call has not begun
        caplog.clear()
        kept = Slow()
        tools, _ = make_toolbox(recorder=kept)
        asyncio.run(leave_after(step, tools, arguments))
        (status,) = [told[1] for told in kept.told() if told[0] == "tool_call"]
        (count,) = tools.registry.outcomes.of("wipe").items()
        admin = [told for told in kept.told() if told[0] == "admin_operation"]
        events = [record for record in caplog.records if getattr(record, "event", "") == "mcp.admin.op_executed"]
        counted = {"success": "success", "cancelled": "cancelled"}.get(status)
        assert count[1] == 1
        assert count[0] == counted if counted else count[0] in ("guardrail_violated", "validation_error")
        assert len(admin) == len(events) == (status == "success")
        assert tools.registry.freeze().path.open_calls == 0
        seen.add(status)
    assert seen == {"cancelled", "success" if arguments == {"id": 1, **GUARDS} else "blocked"}


async def leave_after(step: int, tools: Toolbox, arguments: dict[str, Any]) -> None:
    task = asyncio.create_task(tools.dispatch("wipe", arguments, actor=ADA))
    await turns(step)
    task.cancel()
    await asyncio.wait([task])


def test_five_hundred_calls_at_once_each_leave_their_record_in_a_chain_that_holds(tmp_path: Path) -> None:
    recorder = open_recorder(tmp_path)
    assert recorder is not None
    tools, done = make_toolbox(recorder=recorder)

    async def all_at_once() -> Counter[bool]:
        calls = [
            tools.dispatch("write", {"id": count if count % 5 else "x"})
            if count % 2
            else tools.dispatch("wipe", {"id": count, **GUARDS}, actor=ADA)
            for count in range(500)
        ]
        return Counter(answer.is_error for answer in await asyncio.gather(*calls))

    assert asyncio.run(all_at_once()) == {False: 450, True: 50}
    recorder.close()
    assert len(done) == 450
    kinds = Counter((record.type.value, record.status.value) for record in records_in(tmp_path))
    assert kinds == {
        ("tool_call", "success"): 450,
        ("tool_call", "blocked"): 50,
        ("policy_decision", "blocked"): 50,
        ("admin_operation", "success"): 250,
    }


def records_in(state: Path) -> list[Record]:
    """All records, once the chain was found whole."""
    store = SqliteStore.open(state)
    try:
        report = verify(store, on_progress=lambda _: None)
        assert report.is_intact
        return [stored.record for stored in store.query(EVERYTHING, oldest_first=True)]
    finally:
        store.close()


# --- records that cannot be written ------------------------------------------------------------------------------


class Failing(Kept):
    """A recorder that fails in one of its three ways."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where

    def record(self, *records: Record) -> int:
        self._fail("record")
        return super().record(*records)

    async def committed(self, ticket: Ticket) -> None:
        self._fail("committed")

    async def room(self) -> None:
        self._fail("room")

    def _fail(self, where: str) -> None:
        if self.where == where:
            raise RecordingFailed("The disk is full at /var/secret.")


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize(("where", "runs"), [("room", False), ("committed", True), ("record", True)])
def test_a_tool_that_ran_unrecorded_is_never_said_not_to_have_run(
    where: str, runs: bool, mode: Literal["legacy", "2026-07-28"]
) -> None:
    tools, done = make_toolbox(recorder=Failing(where), actor=lambda _: ADA)

    async def session() -> str:
        async with Client(tools.build_server(), mode=mode) as client:
            try:
                result: Any = await client.call_tool("wipe", {"id": 1, **GUARDS})
            except MCPError as error:
                return str(error)
            assert result.is_error
            return str(result.content[0].text).partition(" The request id is ")[0]

    told = asyncio.run(session())
    assert done == [1] * runs
    assert told == (
        "The tool did run, and that could not be put on record. Do not repeat the call; report it to the operator."
        if runs
        else "Calls cannot be recorded at the moment, so none is made."
    )
    assert tools.registry.outcomes.of("wipe") == {"failed": 1}
    assert tools.registry.freeze().path.open_calls == 0


def test_a_caller_who_leaves_while_nothing_can_be_recorded_is_let_go() -> None:
    kept = Failing("")
    tools, _ = make_toolbox(recorder=kept)

    async def leave() -> None:
        task = asyncio.create_task(tools.dispatch("wipe", {"id": 1, **GUARDS}, actor=ADA))
        await turns(2)
        kept.where = "record"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave())


# --- a server that is killed -------------------------------------------------------------------------------------


@pytest.mark.requirement("003-10")
@pytest.mark.parametrize("attempt", range(6))  # written only later, it would be lost in every one
def test_an_admin_answer_that_was_received_is_on_record_even_if_the_server_is_killed_next(
    attempt: int, tmp_path: Path
) -> None:
    env = {**os.environ, "HANDFAST_STATE": str(tmp_path), "HANDFAST_ACTOR": "ada"}
    tells_its_id = "import os, pathlib, runpy, sys; pathlib.Path(sys.argv[1]).write_text(str(os.getpid()));"
    runs_contacts = "runpy.run_module('tests.toolkit.contacts', run_name='__main__')"
    process_id = tmp_path / "pid"
    server = StdioServerParameters(
        command=sys.executable, args=["-c", f"{tells_its_id} {runs_contacts}", str(process_id)], env=env
    )

    async def session() -> str:
        async with Client(server, mode="2026-07-28" if attempt % 2 else "legacy") as client:
            done: Any = await client.call_tool("purge", {"id": attempt, **GUARDS})
            os.kill(int(process_id.read_text()), 9)
            return str(done.structured_content["result"]["by"])

    assert asyncio.run(session()) == "ada"
    assert [(record.type.value, record.status.value, record.actor) for record in records_in(tmp_path)] == [
        ("tool_call", "success", "ada"),
        ("admin_operation", "success", "ada"),
    ]
