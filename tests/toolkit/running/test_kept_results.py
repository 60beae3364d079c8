"""Kept results: bounded in number, bytes and time, whatever comes in."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.toolkit.running.kept_results import CutResult, MemoryResults

MOST = 5 * 1024 * 1024


def result(size: int = 10) -> CutResult:
    return CutResult(owner="ada", tool="t", arguments="", pieces=(b"x" * size,), total_items=None, beside=b"")


class Hands:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def test_what_was_kept_is_found_until_its_time_is_over() -> None:
    clock = Hands()
    results = MemoryResults(seconds=10, now=clock)

    async def keep_and_find() -> None:
        await results.keep("a", result())
        clock.time = 9.9
        assert await results.find("a") == result()
        assert await results.find("b") is None
        clock.time = 10
        assert await results.find("a") is None

    asyncio.run(keep_and_find())
    assert (len(results), results.bytes) == (0, 0)


@given(st.lists(st.tuples(st.integers(0, MOST), st.integers(0, 20)), max_size=20))
def test_neither_number_nor_bytes_are_ever_exceeded_and_the_newest_is_there(kept: list[tuple[int, int]]) -> None:
    clock = Hands()
    results = MemoryResults(most_bytes=MOST, most_results=3, seconds=30, now=clock)

    async def keep() -> None:
        for number, (size, seconds) in enumerate(kept):
            clock.time += seconds
            await results.keep(str(number), result(size))
            assert len(results) <= 3
            assert results.bytes <= MOST
            assert await results.find(str(number)) is not None

    asyncio.run(keep())


def test_a_store_that_could_keep_no_result_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 5242880 bytes"):
        MemoryResults(most_bytes=MOST - 1)
