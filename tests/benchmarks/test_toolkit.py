"""What the toolkit costs beside the bare SDK: every case is driven on all contenders, and the page has each."""

import asyncio
from pathlib import Path

import pytest
from benchmarks.marked_block import read_block
from benchmarks.processes import BenchFailed
from benchmarks.toolkit import (
    CASES,
    CONTENDERS,
    MARKS,
    PAGE,
    PLAIN,
    RECORDED,
    SDK,
    Case,
    is_within_limit,
    measure,
    render_table,
)


def test_every_contender_is_driven_on_every_way(tmp_path: Path) -> None:
    figures = asyncio.run(measure(tmp_path, calls=16, rounds=1))
    assert {case: {name: len(found) for name, found in each.items()} for case, each in figures.items()} == {
        case: dict.fromkeys(CONTENDERS, 1) for case in CASES
    }
    assert all(seconds > 0 for each in figures.values() for found in each.values() for seconds in found)


def test_a_tool_that_is_not_there_ends_the_run(tmp_path: Path) -> None:
    """Failing fast must never look like being fast."""
    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(measure(tmp_path, calls=1, rounds=1, cases=[Case("stdio", "legacy", 1, "nothing")]))
    assert caught.group_contains(BenchFailed, match="nothing was not answered")


def test_a_contender_is_compared_with_the_sdk_round_by_round() -> None:
    case = Case("http", "modern", 16, "orders")
    found = {SDK: [1e-3, 2e-3, 1e-3], PLAIN: [1.1e-3, 2.2e-3, 1e-3], RECORDED: [2e-3, 4e-3, 2e-3]}
    assert render_table({case: found}).splitlines()[2:] == [
        "| `orders` | http | modern | 16 | 1000 µs | +10% ±5% | +100% ±0% |"
    ]


@pytest.mark.parametrize(("adds", "is_kept"), [(0.14, True), (0.16, False)])
def test_the_limit_is_held_to_what_the_contract_adds_in_every_case(adds: float, is_kept: bool) -> None:
    fine = {SDK: [1.0], PLAIN: [0.5], RECORDED: [1.5]}
    doubtful = {SDK: [1.0, 1.0, 1.0], PLAIN: [1 + adds, 1 + adds, 9.0], RECORDED: [1.5, 1.5, 1.5]}
    assert is_within_limit(dict(zip(CASES, [fine, doubtful, fine], strict=False))) is is_kept


def test_the_document_has_a_figure_for_every_case() -> None:
    shown = [line.split(" | ")[:4] for line in read_block(PAGE, MARKS)[2:]]
    assert shown == [[f"| `{case.tool}`", case.way, case.era, str(case.clients)] for case in CASES]
