"""What is still sent to a connection that closes: read in order, some at a time, and not for who is gone."""

import asyncio
from functools import partial

import pytest

from handfast.gateway.edge import ignored_bytes
from handfast.gateway.edge.ignored_bytes import IgnoredBytes
from tests.gateway.translate.combined.scripted import until


@pytest.mark.requirement("F5")
def test_a_few_are_read_at_a_time_in_the_order_in_which_they_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignored_bytes, "_SECONDS", 0.001)

    async def run() -> None:
        ignored, log = IgnoredBytes(), list[str]()
        for name in "abcdefg":
            ignored.wait(name, partial(log.append, name))
        ignored.forget("b")
        ignored.forget("unknown")
        assert log == []
        await until(lambda: log)
        assert log == ["a", "c", "d", "e"]
        ignored.wait("a", partial(log.append, "again"))
        await until(lambda: len(log) == 7)
        assert log[4:] == ["f", "g", "again"]

    asyncio.run(run())
