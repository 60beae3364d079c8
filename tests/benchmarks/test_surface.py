"""The sizes that docs/compact.md states are those of the real servers today."""

import asyncio
from pathlib import Path

from benchmarks.marked_block import with_block
from benchmarks.surface import MARKS, PAGE, SurfaceRow, measure, render_table

from tests.parts import Parts


def test_the_table_in_the_documents_is_what_the_real_servers_give(parts: Parts, tmp_path: Path) -> None:
    rows = asyncio.run(measure(tmp_path))
    page = PAGE.read_text("utf-8")
    assert page == with_block(page, render_table(rows), MARKS), "run: python -m benchmarks.surface --write"
    assert all(row.compact < row.full for row in rows)


def test_the_table_says_bytes_and_tokens_and_a_sum() -> None:
    rows = [SurfaceRow("a", 2, 4000, 1000, 400), SurfaceRow("b", 1, 2000, 500, 200)]
    assert render_table(rows).splitlines() == [
        "| server | tools | full | compact | of full | help for one action |",
        "|---|---|---|---|---|---|",
        "| a | 2 | 4,000 B, ~1,000 tokens | 1,000 B, ~250 tokens | 25 % | 400 B, ~100 tokens |",
        "| b | 1 | 2,000 B, ~500 tokens | 500 B, ~125 tokens | 25 % | 200 B, ~50 tokens |",
        "| all of them | 3 | 6,000 B, ~1,500 tokens | 1,500 B, ~375 tokens | 25 % | 300 B, ~75 tokens |",
    ]
