"""How long a call may take, and which bound it met."""

import asyncio

import pytest

from handfast.gateway.calls.call_time import CallTime, CallTimer, too_long, too_silent
from handfast.gateway.settings.blocks import Limits


@pytest.mark.requirement("F5")
def test_progress_moves_the_end_of_a_call_but_not_beyond_its_whole_length() -> None:
    time = CallTime(Limits(call_timeout_s=10, call_total_s=25), 100.0)
    assert (time.due, time.describe()) == (110.0, too_silent(10))
    time.extend(109.0)
    assert (time.due, time.describe()) == (119.0, too_silent(10))
    time.extend(118.0)
    assert (time.due, time.describe()) == (125.0, too_long(25))
    time.extend(124.0)
    assert time.due == 125.0


@pytest.mark.requirement("F5")
def test_a_whole_length_below_the_silence_is_met_first() -> None:
    time = CallTime(Limits(call_timeout_s=10, call_total_s=5), 0.0)
    assert (time.due, time.describe()) == (5.0, too_long(5))


@pytest.mark.requirement("F5")
def test_a_timer_tells_of_a_long_silence_once_and_then_why_the_call_is_given_up() -> None:
    async def run() -> list[str]:
        told, over = list[str](), asyncio.Event()
        now = asyncio.get_running_loop().time()

        def give_up(reason: str) -> None:
            told.append(reason)
            over.set()

        time = CallTime(Limits(call_timeout_s=1.05, call_total_s=9), now)
        timer = CallTimer(time, give_up, on_silence=lambda: told.append("silent"))
        await over.wait()
        timer.cancel()
        return told

    assert asyncio.run(run()) == ["silent", too_silent(1.05)]


def test_a_timer_that_was_cancelled_tells_nothing() -> None:
    async def run() -> list[str]:
        told = list[str]()
        time = CallTime(Limits(call_timeout_s=0.001, call_total_s=9), asyncio.get_running_loop().time())
        timer = CallTimer(time, told.append)
        timer.cancel()
        later = asyncio.Event()
        asyncio.get_running_loop().call_later(0.01, later.set)
        await later.wait()
        return told

    assert asyncio.run(run()) == []
