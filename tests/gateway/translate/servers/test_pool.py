"""Connections kept by key: opened once, bounded, the idle ones closed first."""

import asyncio
import contextlib
from dataclasses import dataclass, field

import pytest

from handfast.gateway.http.response import UpstreamFailed
from handfast.gateway.settings.blocks import Limits
from handfast.gateway.translate.servers.pool import Pool


@dataclass(eq=False)
class Thing:
    key: str
    is_alive: bool = True
    is_idle: bool = True
    last_used: float = 0.0
    has_called: bool = True
    closed: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)  # what is under way on it

    async def finished(self) -> None:
        await self.done.wait()

    async def close(self) -> None:
        self.closed += 1
        self.gone.set()
        self.is_alive = False


class Bench:
    def __init__(self, *, sessions: int = 2, idle: float = 900.0) -> None:
        self.time = 0.0
        self.opened: list[Thing] = []
        limits = Limits(sessions=sessions, session_idle_s=idle)
        self.pool = Pool[str, Thing](
            limits=lambda: limits, now=lambda: self.time, is_shared=lambda key: key == "shared"
        )

    async def get(self, key: str) -> Thing:
        self.time += 1
        return await self.pool.get(key, self.open, address=key)

    async def open(self, key: str) -> Thing:
        await asyncio.sleep(0)
        self.opened.append(Thing(key))
        return self.opened[-1]


def test_who_asks_at_the_same_moment_gets_the_same_one() -> None:
    async def run() -> None:
        bench = Bench()
        found = await asyncio.gather(*(bench.get("a") for _ in range(5)))
        assert [thing.key for thing in bench.opened] == ["a"]
        assert all(thing is found[0] for thing in found)
        await bench.pool.close()
        assert found[0].closed == 1

    asyncio.run(run())


def test_the_one_idle_for_longest_makes_way_and_the_shared_one_never_does() -> None:
    async def run() -> None:
        bench = Bench()
        for key in ("shared", "a", "b", "a", "c"):
            await bench.get(key)
        assert [(thing.key, thing.closed) for thing in bench.opened] == [("shared", 0), ("a", 0), ("b", 1), ("c", 0)]
        await bench.pool.close()

    asyncio.run(run())


def test_where_all_are_busy_there_is_no_room() -> None:
    async def run() -> None:
        bench = Bench()
        for key in ("a", "b"):
            (await bench.get(key)).is_idle = False
        with pytest.raises(UpstreamFailed, match="Too many sessions"):
            await bench.get("c")
        assert (await bench.get("a")).closed == 0
        await bench.pool.close()

    asyncio.run(run())


def test_one_that_died_is_opened_anew_and_one_that_never_opened_is_tried_again() -> None:
    async def run() -> None:
        bench = Bench()
        (await bench.get("a")).is_alive = False
        assert (await bench.get("a")) is bench.opened[1]

        async def fail(_key: str) -> Thing:
            raise UpstreamFailed("no")

        with pytest.raises(UpstreamFailed):
            await bench.pool.get("b", fail)
        assert (await bench.get("b")).key == "b"
        await bench.pool.close()

    asyncio.run(run())


def test_what_was_idle_for_long_is_closed() -> None:
    async def run() -> None:
        bench = Bench(idle=0.02)
        thing = await bench.get("a")
        bench.time += 10
        await asyncio.wait_for(thing.gone.wait(), 5)
        await bench.pool.close()

    asyncio.run(run())


def test_whoever_saw_the_end_of_one_does_not_close_the_next() -> None:
    async def run() -> None:
        bench = Bench()
        first = await bench.get("a")
        bench.pool.retire("a", first)
        second = await bench.get("a")
        bench.pool.retire("a", first)
        first.done.set()
        await asyncio.wait_for(first.gone.wait(), 5)
        assert (first.closed, second.closed) == (1, 0)
        await bench.pool.close()

    asyncio.run(run())


def test_one_that_is_retired_or_died_is_closed_when_nothing_is_under_way_on_it_any_more() -> None:
    async def run() -> None:
        bench = Bench()
        retired, died = await bench.get("a"), await bench.get("b")
        bench.pool.retire("a", retired)
        died.is_alive = False
        assert [await bench.get("a"), await bench.get("b")] == bench.opened[2:]
        assert (retired.closed, died.closed) == (0, 0)
        retired.done.set()
        await asyncio.wait_for(retired.gone.wait(), 5)
        assert died.closed == 0
        await bench.pool.close()  # that waits for nothing
        assert [thing.closed for thing in bench.opened] == [1] * 4

    asyncio.run(run())


def test_one_that_died_under_a_call_makes_way_and_is_not_closed_under_it() -> None:
    async def run() -> None:
        bench = Bench()
        died, _ = await bench.get("a"), await bench.get("b")
        died.is_alive = False
        await bench.get("c")
        assert died.closed == 0
        await bench.pool.close()

    asyncio.run(run())


def test_what_is_being_opened_for_somebody_who_leaves_is_given_up() -> None:
    async def run() -> None:
        bench = Bench()
        begun, given_up = asyncio.Event(), asyncio.Event()

        async def hang(_key: str) -> Thing:
            begun.set()
            try:
                return await asyncio.Future[Thing]()
            finally:
                given_up.set()

        waiting = asyncio.create_task(bench.pool.get("a", hang))
        await begun.wait()
        bench.pool.leave(lambda key: key == "a")
        with pytest.raises(UpstreamFailed, match="closed while"):
            await waiting
        assert given_up.is_set()
        await bench.pool.close()

    asyncio.run(run())


def test_two_who_need_room_at_the_same_moment_open_one_each_and_no_more() -> None:
    async def run() -> None:
        bench = Bench()
        for key in ("a", "b"):
            await bench.get(key)
        await asyncio.gather(*(bench.get(key) for key in ("c", "c", "d")))
        assert [(thing.key, thing.closed) for thing in bench.opened] == [("a", 1), ("b", 1), ("c", 0), ("d", 0)]
        await bench.pool.close()

    asyncio.run(run())


@pytest.mark.requirement("F11")
def test_a_pool_that_is_closed_opens_nothing_more() -> None:
    async def run() -> None:
        bench = Bench()
        await bench.get("a")
        await bench.pool.close()
        with pytest.raises(UpstreamFailed, match="before the request reached it"):
            await bench.get("b")
        assert [thing.key for thing in bench.opened] == ["a"]

    asyncio.run(run())


def test_closing_ends_where_what_is_just_being_swept_takes_the_cancellation_for_its_own() -> None:
    class Deaf(Thing):
        async def close(self) -> None:
            self.gone.set()
            with contextlib.suppress(asyncio.CancelledError):
                await self.done.wait()

    async def run() -> None:
        bench = Bench(idle=0.02)
        deaf = Deaf("a")

        async def open_deaf(_: str) -> Thing:
            return deaf

        await bench.pool.get("a", open_deaf, address="a")
        bench.time += 1000
        await asyncio.wait_for(deaf.gone.wait(), 15)
        await asyncio.wait_for(bench.pool.close(), 15)

    asyncio.run(run())
