"""Whoever sends is told to wait while too much waits at the other end, and is let go whatever happens there."""

import asyncio

from handfast.gateway.calls.flow import Flow


def test_the_source_is_paused_and_let_go_once_each_time() -> None:
    async def run() -> None:
        flow, said = Flow(), list[bool]()
        flow.attach(said.append)
        for is_held in (True, True, False, False, True):
            flow.hold(is_held)
        assert said == [True, False, True]
        flow.close()
        assert said == [True, False, True, False], "it would wait for ever"

    asyncio.run(run())


def test_a_source_that_comes_later_is_told_at_once() -> None:
    async def run() -> None:
        flow, said = Flow(), list[bool]()
        flow.hold(True)
        assert not flow.can_wait
        flow.attach(said.append)
        assert (said, flow.can_wait) == ([True], True)

    asyncio.run(run())


def test_whoever_waits_for_room_goes_on_when_there_is_some() -> None:
    async def run() -> None:
        flow = Flow()
        await flow.room()
        flow.hold(True)
        waiting = asyncio.create_task(flow.room())
        await asyncio.sleep(0)
        assert not waiting.done()
        flow.hold(False)
        await waiting

    asyncio.run(run())
