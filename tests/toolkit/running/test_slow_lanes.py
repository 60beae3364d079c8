"""Attacks by way of event loops: one toolbox in several of them, one after the other, at once, and served again."""

import asyncio
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from handfast.activity.query import RecordFilter
from handfast.activity.sqlite import SqliteStore
from handfast.core.answers.outcome import Succeeded
from handfast.core.call.exchange import RecordType
from handfast.toolkit import Answer, Args, Toolbox, ToolRegistry, write_tool
from handfast.toolkit.running.recording import open_recorder
from handfast.toolkit.running.slow_lanes import run_here
from handfast.toolkit.writing.status_envelope import ok
from tests.toolkit.serve.test_serving import records


class Item(BaseModel):
    """Heavy to judge: a list of these of some size goes to the slow lane."""

    name: Annotated[str, Field(pattern="^[a-z]{1,40}$")]
    marks: list[Annotated[str, Field(pattern="^x{1,20}$")]]


class HowMany(Args):
    count: int


def make_toolbox() -> Toolbox:
    tools = Toolbox("loops")

    @tools.read
    async def list_items(args: HowMany) -> list[Item]:
        """List items."""
        return [Item(name="abc", marks=["x", "xx"])] * args.count

    return tools


async def heavy(tools: Toolbox) -> Answer:
    answer = await tools.dispatch("list_items", {"count": 8_000})
    assert not answer.is_error, answer.text
    return answer


def test_as_much_as_a_result_may_be_is_judged_and_passes_again_and_again() -> None:
    tools = make_toolbox()

    async def session() -> list[int]:
        answers = [await tools.dispatch("list_items", {"count": 150_000}) for _ in range(4)]
        assert [answer.is_error for answer in answers] == [False] * 4, answers[0].text[:200]
        return [len(answer.text) for answer in answers]

    assert all(4_000_000 < size < 5 * 1024 * 1024 for size in asyncio.run(session()))


def test_a_heavy_result_is_judged_in_every_loop_and_no_worker_is_left_behind() -> None:
    tools = make_toolbox()
    others = children()  # servers that tests in this process share
    for _ in range(3):
        asyncio.run(heavy(tools))
        assert children() == others


def test_loops_in_threads_share_a_toolbox() -> None:
    tools = make_toolbox()
    ended: Counter[bool] = Counter()

    def call() -> None:
        for _ in range(2):
            ended[asyncio.run(heavy(tools)).is_error] += 1

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == {False: 6}
    assert tools.registry.outcomes.of("list_items") == {"success": 6}


def test_a_worker_that_dies_is_replaced_within_two_calls() -> None:
    tools = make_toolbox()
    others = children()

    async def session() -> list[bool]:
        await heavy(tools)
        (worker,) = set(children()) - set(others)
        os.kill(worker, signal.SIGKILL)  # by the system, for memory
        return [(await tools.dispatch("list_items", {"count": 8_000})).is_error for _ in range(3)]

    # The call that finds it dead may be blamed for it.
    assert asyncio.run(session())[1:] == [False, False]


def children() -> list[int]:
    me = os.getpid()
    return [int(child) for child in Path(f"/proc/{me}/task/{me}/children").read_text().split()]


# --- served again ------------------------------------------------------------------------------------------------


def test_tools_can_be_served_again_after_their_server_ended(tmp_path: Path) -> None:
    tools = make_toolbox()

    async def serve() -> None:
        app = tools.asgi(state=str(tmp_path))
        async with app.router.lifespan_context(app):
            await heavy(tools)

    for _ in range(3):
        asyncio.run(serve())
    assert records(tmp_path) == [("tool_call", "success", "list_items", "", "")] * 3


def test_a_server_that_ends_does_not_take_the_recorder_of_another(tmp_path: Path) -> None:
    tools = make_toolbox()

    async def serve() -> None:
        one, two = tools.asgi(state=str(tmp_path)), tools.asgi(state=str(tmp_path))
        async with two.router.lifespan_context(two):
            async with one.router.lifespan_context(one):
                await heavy(tools)
            await heavy(tools)

    asyncio.run(serve())
    assert len(records(tmp_path)) == 2


def test_two_toolboxes_of_one_process_write_one_chain(tmp_path: Path) -> None:
    async def serve() -> None:
        apps = [make_toolbox() for _ in range(2)]
        served = [tools.asgi(state=str(tmp_path)) for tools in apps]
        async with served[0].router.lifespan_context(served[0]), served[1].router.lifespan_context(served[1]):
            await asyncio.gather(*(tools.dispatch("list_items", {"count": 1}) for tools in apps for _ in range(20)))

    asyncio.run(serve())
    assert len(records(tmp_path)) == 40


CLOSED = {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False}


async def echo(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
    return ok({"text": arguments.get("text", "")})


async def wait(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
    await asyncio.sleep(0)
    return ok()


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
