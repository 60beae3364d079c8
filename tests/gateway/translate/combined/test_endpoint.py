"""What runs side by side: all of it at once, none of it for ever."""

import asyncio
import time

import pytest

from handfast.core.call.caller import ANYONE
from handfast.gateway.translate.combined.endpoint import CombinedEndpoint
from tests.gateway.translate.combined.scripted import SEAL, Scripted


def _endpoint(seconds: float, **servers: Scripted) -> CombinedEndpoint:
    return CombinedEndpoint(
        every_server=lambda: servers,
        seconds=lambda: seconds,
        now=time.monotonic,
        diagnose=lambda *_: None,
        seal=SEAL,
    )


def test_servers_are_in_the_order_of_their_names() -> None:
    assert list(_endpoint(1, b=Scripted(), a=Scripted()).servers(ANYONE)) == ["a", "b"]


def test_work_is_done_side_by_side_and_what_takes_too_long_is_given_up() -> None:
    done: list[str] = []

    async def work(name: str, needs: asyncio.Event, gives: asyncio.Event) -> None:
        try:
            gives.set()
            await needs.wait()
            done.append(name)
        except asyncio.CancelledError:
            done.append(f"{name} given up")
            raise

    async def run() -> None:
        endpoint = _endpoint(0.05)
        one, two, never = asyncio.Event(), asyncio.Event(), asyncio.Event()
        await endpoint.all_within([work("a", two, one), work("b", one, two), work("c", never, one)])
        while endpoint.leaving:
            await asyncio.wait(endpoint.leaving)
        assert sorted(done) == ["a", "b", "c given up"]

    asyncio.run(run())


def test_what_fails_in_the_background_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    asyncio.run(_endpoint(1).all_within([fail()]))
    assert "failed inside the gateway" in caplog.text
