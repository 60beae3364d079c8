"""Deadlines: calls of many lengths by one timer, ended when they are late and only then."""

import asyncio

import pytest

from handfast.toolkit.running.deadlines import start_deadline


async def _timed(seconds: float, lasts: float) -> tuple[bool, bool]:
    """Whether the deadline ended it, and whether it came to its own end."""
    deadline = start_deadline(seconds)
    finished = False
    is_overdue = False
    try:
        try:
            await asyncio.sleep(lasts)
            finished = True
        finally:
            is_overdue = deadline.end()
    except asyncio.CancelledError:
        if not is_overdue:
            raise
    return is_overdue, finished


def test_only_calls_that_are_late_are_ended_whatever_their_lengths() -> None:
    async def session() -> list[tuple[bool, bool]]:
        calls = [(0.05, 30), (30, 0), (0.1, 30), (0.05, 30), (30, 0.2), (0.02, 30)]
        return await asyncio.gather(*(_timed(*each) for each in calls))

    late, fine = (True, False), (False, True)
    assert asyncio.run(session()) == [late, fine, late, late, fine, late]


def test_a_short_call_is_ended_in_its_own_time_while_a_long_one_goes_on() -> None:
    async def session() -> list[tuple[bool, bool]]:
        return list(await asyncio.gather(_timed(60, 2), _timed(0.02, 1)))

    assert asyncio.run(session()) == [(False, True), (True, False)]


def test_a_deadline_that_ended_in_time_does_nothing_later() -> None:
    async def session() -> str:
        deadline = start_deadline(0.01)
        assert not deadline.end()
        await asyncio.sleep(0.05)
        return "alive"

    assert asyncio.run(session()) == "alive"


def test_who_is_cancelled_by_somebody_else_is_cancelled() -> None:
    async def session() -> None:
        task = asyncio.create_task(_timed(30, 30))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(session())


def test_a_call_that_is_late_and_given_up_is_given_up() -> None:
    async def both() -> bool:
        deadline = start_deadline(30)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        deadline.pass_()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return deadline.end()
        return True

    assert asyncio.run(both()) is False


def test_each_event_loop_has_its_own_timer() -> None:
    for _ in range(3):
        assert asyncio.run(_timed(0.01, 30)) == (True, False)


def test_without_a_task_there_is_no_deadline() -> None:
    with pytest.raises(RuntimeError):
        start_deadline(1)
