"""Calls from threads without an event loop: the same answers, records waited for, heavy values judged elsewhere."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from handfast.activity.query import RecordFilter
from handfast.activity.sqlite import SqliteStore
from handfast.core.answers.outcome import Succeeded
from handfast.core.call.exchange import RecordType
from handfast.toolkit import Answer, ToolRegistry, write_tool
from handfast.toolkit.running.in_thread import run_here
from handfast.toolkit.running.recording import open_recorder

CLOSED = {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False}


async def echo(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> Any:
    return {"text": arguments.get("text", "")}


async def wait(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> Any:
    await asyncio.sleep(0)


def registry(**more: Any) -> ToolRegistry:
    tools = ToolRegistry("threads", timeout_s=None, in_threads=True, **more)
    tools.add(write_tool("echo", "Say it back.", input_schema=CLOSED, output_schema=CLOSED, handler=echo))
    tools.add(write_tool("wait", "Wait for a loop.", input_schema=CLOSED, handler=wait))
    return tools


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[tuple[ToolRegistry, Path]]:
    recorder = open_recorder(tmp_path)
    assert recorder is not None
    try:
        yield registry(recorder=recorder), tmp_path
    finally:
        recorder.close()


def test_many_threads_get_their_own_answers_and_every_refusal_is_on_record_before_it(
    recorded: tuple[ToolRegistry, Path],
) -> None:
    tools, folder = recorded
    reader = SqliteStore.open(folder)

    def call(number: int) -> tuple[Answer, int]:
        arguments = {"text": str(number)} if number % 2 else {"txt": number}
        answer = run_here(tools.dispatch("echo", arguments))
        return answer, number

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(call, range(200)))
    for answer, number in answers:
        if number % 2:
            assert answer.outcome == Succeeded({"text": str(number)})
        else:
            assert answer.is_refused
    # Refusals are durable before they are answered; what passed follows within moments, at the latest on closing.
    assert len(list(reader.query(RecordFilter(types=(RecordType.POLICY_DECISION,))))) == 100
    reader.close()
    assert tools.outcomes.of("echo") == {"success": 100, "validation_error": 100}


def test_a_value_too_heavy_for_the_thread_is_judged_in_a_process_of_its_own() -> None:
    tools = registry()
    answer = run_here(tools.dispatch("echo", {"text": "x" * 3_000_000}))
    assert isinstance(answer.outcome, Succeeded)
    assert run_here(tools.dispatch("echo", {"text": 3, "pad": "x" * 3_000_000})).is_refused
    run_here(tools.close())
    assert isinstance(run_here(tools.dispatch("echo", {"text": "x" * 3_000_000})).outcome, Succeeded)
    run_here(tools.close())


def test_a_tool_that_waits_for_an_event_loop_is_told_that_there_is_none() -> None:
    async def waiting() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="there is none"):
        run_here(waiting())
