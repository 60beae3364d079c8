"""Answers of the dispatcher's own leave only after their record, and not at all where nothing can be recorded."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from handfast.clock import Clock
from handfast.core.call.caller import ANYONE
from handfast.core.call.exchange import Record, RecordingFailed, Ticket
from handfast.core.call.policy import Violation
from handfast.gateway.runtime import Runtime
from handfast.gateway.settings import load_settings
from handfast.gateway.translate.compact.own_answers import OwnAnswers
from handfast.tool_call import CallPath
from handfast.wire.message import Message, read_message
from handfast.wire.replies import answer_message, error_message

MESSAGE = read_message(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up"}}')
NONE_NAMED = Violation("dispatch.action", "None was named.")
WAYS: list[Callable[[OwnAnswers], Awaitable[Message]]] = [
    lambda own: own.explained(MESSAGE, ANYONE, b"{}", "text"),
    lambda own: own.refused(MESSAGE, ANYONE, b"{}", NONE_NAMED, tool=None),
    lambda own: own.without_list(MESSAGE, ANYONE, b"{}", error_message(1, -32603, "no list")),
]


class Disk:
    """A recorder whose disk is full, or slow."""

    def __init__(self, problem: str = "") -> None:
        self.problem = problem
        self.records: list[Record] = []
        self.is_waited_for = asyncio.Event()
        self.is_written = asyncio.Event()

    def record(self, *records: Record) -> int:
        self.records.extend(records)
        return len(self.records)

    def record_refusal(self, _caller: str, *records: Record) -> int:
        return self.record(*records)

    async def committed(self, _ticket: Ticket) -> None:
        self.is_waited_for.set()
        await self.is_written.wait()

    async def room(self) -> None:
        if self.problem:
            raise RecordingFailed(self.problem)

    def digest(self, _value: bytes) -> str:
        return "digest"


async def with_disk(folder: Path, disk: Disk, work: Callable[[OwnAnswers, CallPath], Awaitable[None]]) -> None:
    config = folder / "handfast.json"
    config.write_text('{"mcpServers": {"up": {"command": "up"}}}')
    runtime = Runtime(load_settings(config, environ={}), folder / "state")
    path = CallPath(recorder=disk, lane=runtime.lane, clock=Clock(), waits_for_all=True)
    try:
        await work(OwnAnswers(runtime.server_side("up", ("up",))._replace(path=path), "up"), path)
    finally:
        await runtime.close()


@pytest.mark.requirement("P4")
@pytest.mark.parametrize("way", WAYS, ids=["explained", "refused", "without a list"])
def test_what_cannot_be_recorded_is_not_answered(
    tmp_path: Path, way: Callable[[OwnAnswers], Awaitable[Message]]
) -> None:
    disk = Disk("The disk is full.")

    async def work(own: OwnAnswers, path: CallPath) -> None:
        reply = json.loads((await way(own)).raw)
        assert reply["error"]["message"] == "The disk is full."
        assert path.open_calls == 0

    asyncio.run(with_disk(tmp_path, disk, work))
    assert [(record.status, record.rule) for record in disk.records] == [("error", "recording.failed")]


@pytest.mark.requirement("P4")
@pytest.mark.parametrize("way", WAYS, ids=["explained", "refused", "without a list"])
def test_an_answer_waits_for_its_record(tmp_path: Path, way: Callable[[OwnAnswers], Awaitable[Message]]) -> None:
    async def work(own: OwnAnswers, path: CallPath) -> None:
        answering = asyncio.ensure_future(way(own))
        await disk.is_waited_for.wait()
        assert (answering.done(), path.open_calls) == (False, 0)
        disk.is_written.set()
        assert json.loads((await answering).raw)["id"] == 1

    async def run() -> None:
        await with_disk(tmp_path, disk, work)

    disk = Disk()
    asyncio.run(run())


def test_a_server_s_own_error_is_passed_on_and_a_list_of_nonsense_is_not(tmp_path: Path) -> None:
    async def work(own: OwnAnswers, _path: CallPath) -> None:
        disk.is_written.set()
        refused = error_message(1, -32603, "no list")
        assert await own.without_list(MESSAGE, ANYONE, None, refused) == refused
        odd = json.loads((await own.without_list(MESSAGE, ANYONE, None, answer_message(1, {}))).raw)
        assert odd["error"]["message"] == "The server gave no list of its tools that could be used. Try again later."

    disk = Disk()
    asyncio.run(with_disk(tmp_path, disk, work))
