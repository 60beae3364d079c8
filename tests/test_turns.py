"""Large pieces of work, one at a time, with everything else in between."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import pytest

from handfast import turns as turns_module
from handfast.turns import Turns, take_turn, turns_of_loop


def work(seconds: float = 0.01) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


async def run_beside(*pieces: "asyncio.Task[None]", log: list[str]) -> None:
    """Something small in every turn of the loop until the pieces are done."""
    while not all(piece.done() for piece in pieces):
        log.append("small")
        await asyncio.sleep(0)


@pytest.mark.requirement("F4")
def test_between_two_large_pieces_everything_else_has_as_long_again() -> None:
    log: list[str] = []

    async def large(turns: Turns, name: str) -> None:
        await turns.take()
        work()
        log.append(name)

    async def run() -> None:
        turns = Turns()
        pieces = [asyncio.create_task(large(turns, name)) for name in ("one", "two", "three")]
        await run_beside(*pieces, log=log)

    asyncio.run(run())
    assert [entry for entry in log if entry != "small"] == ["one", "two", "three"]
    first, second, third = (log.index(name) for name in ("one", "two", "three"))
    # In ten milliseconds the loop turns many times; without turns there is one between two tasks.
    assert second - first > 20
    assert third - second > 20


@pytest.mark.requirement("F4")
def test_a_piece_of_work_takes_no_turn_of_a_task_that_was_cancelled() -> None:
    async def run() -> list[str]:
        turns = Turns()
        log: list[str] = []

        async def large(name: str) -> None:
            await turns.take()
            log.append(name)

        await turns.take()
        left = asyncio.create_task(large("left"))
        stayed = asyncio.create_task(large("stayed"))
        await asyncio.sleep(0)
        left.cancel()
        await stayed
        return log

    assert asyncio.run(run()) == ["stayed"]


@pytest.mark.requirement("F5")
def test_work_that_is_asked_for_is_done_in_order_and_one_in_each_turn_of_the_loop() -> None:
    async def run() -> list[str]:
        turns = Turns()
        log: list[str] = []
        for name in ("one", "two"):
            turns.ask(partial(log.append, name))
        assert log == []
        beside = asyncio.create_task(asyncio.sleep(0.05))
        await run_beside(beside, log=log)
        return log

    log = asyncio.run(run())
    assert log.index("two") - log.index("one") > 1


@pytest.mark.requirement("F4")
def test_nobody_waits_where_nothing_else_is_large() -> None:
    async def run() -> None:
        turns = Turns()
        turn = turns.take()
        with pytest.raises(StopIteration):  # it goes on at once
            turn.send(None)

    asyncio.run(run())


@pytest.mark.requirement("F4")
def test_work_that_fails_takes_no_turn_from_others() -> None:
    async def run() -> list[str]:
        loop = asyncio.get_running_loop()
        log: list[str] = []
        loop.set_exception_handler(lambda _loop, context: log.append(type(context["exception"]).__name__))
        turns = turns_of_loop()
        turns.ask(partial(log.remove, "nothing"))
        turns.ask(partial(log.append, "next"))
        await asyncio.sleep(0.05)
        await take_turn()
        return log

    assert asyncio.run(run()) == ["ValueError", "next"]


def test_every_loop_has_turns_of_its_own() -> None:
    async def find() -> Turns:
        assert turns_of_loop() is turns_of_loop()
        return turns_of_loop()

    assert asyncio.run(find()) is not asyncio.run(find())


def test_a_thread_without_a_loop_takes_no_turn() -> None:
    with pytest.raises(StopIteration):
        take_turn().send(None)


def rests_after(monkeypatch: pytest.MonkeyPatch, *, pieces: int, seconds: float) -> list[float]:
    """What the loop is told to wait, after so many pieces of work that were asked for at once."""
    now = 0.0
    monkeypatch.setattr(turns_module, "time", SimpleNamespace(perf_counter=lambda: now))

    def piece() -> None:
        nonlocal now
        now += seconds

    async def run() -> list[float]:
        rests: list[float] = []
        turns = Turns()
        loop = asyncio.get_running_loop()

        def rest(seconds: float, go_on: Callable[[], None]) -> None:
            rests.append(seconds)
            loop.call_soon(go_on)

        monkeypatch.setattr(loop, "call_later", rest)
        for _ in range(pieces):
            turns.ask(piece)
        for _ in range(8 * pieces):
            await asyncio.sleep(0)
        return rests

    return asyncio.run(run())


@pytest.mark.requirement("F4")
def test_a_rest_is_the_longer_the_more_large_work_waits_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rests = rests_after(monkeypatch, pieces=7, seconds=0.02)
    assert rests == pytest.approx([0.1, 0.1, 0.1, 0.08, 0.06, 0.04, 0.02])


@pytest.mark.requirement("F4")
def test_rests_too_short_for_a_timer_are_owed_until_they_are_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rests_after(monkeypatch, pieces=9, seconds=0.0004) == pytest.approx(
        [0.002, 0.002, 0.002, 0.002, 0.002, 0.0016, 0.0012, 0.0012]
    )
