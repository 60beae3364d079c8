"""Connections that wait to be read on: a few at a time, in order, and none that is gone."""

import asyncio
from functools import partial

import pytest

from handfast.gateway.edge.paced_line import PacedLine
from tests.gateway.translate.combined.scripted import until


@pytest.mark.requirement("F5")
def test_a_few_go_on_at_a_time_in_the_order_in_which_they_came() -> None:
    async def run() -> None:
        line, log = PacedLine(at_once=4, seconds=0.001), list[str]()
        for name in "abcdefg":
            line.wait(name, partial(log.append, name), address="one")
        line.forget("b", address="one")
        line.forget("unknown", address="one")
        assert log == []
        await until(lambda: log)
        assert log == ["a", "c", "d", "e"]
        line.wait("a", partial(log.append, "again"), address="one")
        await until(lambda: len(log) == 7)
        assert log[4:] == ["f", "g", "again"]

    asyncio.run(run())


@pytest.mark.requirement("F5")
def test_many_connections_of_one_address_do_not_put_off_those_of_another() -> None:
    async def run() -> None:
        line, log = PacedLine(at_once=1, seconds=0.001), list[str]()
        for name in "abcdefg":
            line.wait(name, partial(log.append, name), address="many")
        line.wait("x", partial(log.append, "x"), address="one")
        line.wait("y", partial(log.append, "y"), address="gone")
        line.forget("y", address="gone")
        await until(lambda: len(log) == 8)
        assert log == list("axbcdefg")

    asyncio.run(run())
