"""Tools that are no coroutines: each in a thread; none keeps others from running, or the process from ending."""

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from handfast.toolkit.writing.blocking import BlockingCalls

HUNG = """
import asyncio, threading
from handfast.toolkit import Toolbox
tools = Toolbox("t", timeout_s=0.2)
@tools.read
def hang() -> int:
    \"\"\"Never return.\"\"\"
    threading.Event().wait()
    return 1
print(asyncio.run(tools.dispatch("hang")).outcome.code)
"""


def test_a_function_runs_in_another_thread_with_the_context_of_its_caller() -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name")

    def look(suffix: str) -> tuple[bool, str]:
        return threading.current_thread() is threading.main_thread(), name.get() + suffix

    async def ask() -> tuple[bool, str]:
        name.set("ada")
        found: tuple[bool, str] = await BlockingCalls().run(look, suffix="!")
        return found

    assert asyncio.run(ask()) == (False, "ada!")


def test_threads_are_reused_and_there_are_never_more_than_allowed() -> None:
    calls = BlockingCalls(most=3)
    running, most = 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.002)  # long enough for others to come
        with lock:
            running -= 1

    async def all_at_once() -> None:
        await asyncio.gather(*(calls.run(work) for _ in range(40)))
        for _ in range(10):
            await calls.run(work)

    asyncio.run(all_at_once())
    assert (most, calls.threads) == (3, 3)


def test_a_call_that_was_given_up_while_it_waited_never_runs() -> None:
    calls = BlockingCalls(most=1)
    free = threading.Event()
    ran: list[str] = []

    async def give_up() -> None:
        first = asyncio.create_task(calls.run(free.wait))
        await asyncio.sleep(0)
        second = asyncio.create_task(calls.run(lambda: ran.append("second")))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        free.set()
        assert await first
        await calls.run(lambda: ran.append("third"))

    asyncio.run(give_up())
    assert ran == ["third"]


def fail_to_find() -> object:
    nothing: Iterator[object] = iter(())
    return next(nothing)


@pytest.mark.parametrize(("function", "kind"), [(fail_to_find, RuntimeError), (sys.exit, SystemExit)])
def test_whatever_a_function_raises_is_heard_of(function: object, kind: type[BaseException]) -> None:
    async def ask() -> None:
        with pytest.raises(kind):
            async with asyncio.timeout(10):
                await BlockingCalls().run(function)  # type: ignore[arg-type]  # both are functions

    asyncio.run(ask())


def test_a_thread_that_has_nothing_to_do_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handfast.toolkit.writing.blocking._IDLE_SECONDS", 0.01)
    calls = BlockingCalls()
    asyncio.run(calls.run(lambda: None))
    deadline = time.monotonic() + 10
    while calls.threads and time.monotonic() < deadline:
        time.sleep(0.005)
    assert calls.threads == 0
    assert asyncio.run(calls.run(lambda: 5)) == 5


def test_a_tool_that_never_returns_does_not_keep_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", HUNG], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "timeout\n")
