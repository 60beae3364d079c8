"""What the ways to a server cost: each of them is driven, and the table compares with the relayed one."""

import asyncio
from pathlib import Path

from benchmarks.eras import MARKS, PAGE, ROUTES, Route, measure, render_table
from benchmarks.marked_block import read_block


def test_every_way_is_driven_with_real_calls(tmp_path: Path) -> None:
    found = asyncio.run(measure(tmp_path, calls=3, rounds=1))
    assert {route: len(figures) for route, figures in found.items()} == dict.fromkeys(ROUTES, 1)


def test_a_way_is_compared_with_its_own_server_relayed_round_by_round() -> None:
    found = {
        Route("legacy", "legacy"): [1.0, 2.0, 4.0],
        Route("modern", "legacy"): [2.0, 3.0, 6.0],
        Route("legacy", "legacy", is_combined=True): [3.0, 6.0, 0.0],
    }
    assert render_table(found).splitlines() == [
        "| client | server | way | CPU per call | of relayed |",
        "|---|---|---|---|---|",
        "| legacy | legacy | relayed | 2.00 ms | 1.0 |",
        "| modern | legacy | translated | 3.00 ms | 1.5 |",
        "| legacy | legacy | at `/mcp` | 3.00 ms | 3.0 |",
    ]


def test_the_document_has_a_figure_for_every_way() -> None:
    shown = [line.split(" | ")[:3] for line in read_block(PAGE, MARKS)[2:]]
    assert shown == [[f"| {route.client}", route.server, route.way] for route in ROUTES]
