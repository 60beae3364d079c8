"""Instructions per call: what callgrind says is read, sides are compared, and every row is driven with real calls.

Counting needs valgrind, which a machine that runs the tests may not have: here the kernel's clock takes its place.
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.callgrind import Callgrind, read_instructions, require_valgrind
from benchmarks.instructions import (
    BASE,
    CELLS,
    HEAD,
    LIMIT,
    Cell,
    Plan,
    Side,
    Stand,
    above,
    checked_out,
    chosen_cells,
    main,
    measure,
    read_command_line,
    render_table,
)
from benchmarks.processes import ROOT, BenchFailed, cpu_seconds
from benchmarks.servers.slowed import SLOWER

ANSWER = """\
instrumentation: on
distinct-functions: 18700
events: Ir
threads: 1 2
current-tid: 1
events-1: 1841568636
frames-1: 2
function-1-0: main
calls-1-0: 1
events-1-0: 1839838892
events-2: 78123
function-2-0: clone
events-2-0: 78116
"""


class Clock:
    """Microseconds of CPU time in place of instructions."""

    def command(self, arguments: Sequence[str]) -> list[str]:
        return [sys.executable, "-m", "handfast.cli.main", *arguments]

    def begin(self, pid: int) -> None:
        """It always counts."""

    def count(self, pid: int) -> int:
        return round(cpu_seconds(pid) * 1e6)


def test_every_row_is_driven_on_both_sides_with_calls_that_are_on_record(tmp_path: Path) -> None:
    stand = Stand(tmp_path, Clock(), Plan(calls=4, rounds=1, idle_seconds=0.01))
    sides = [Side(HEAD, ROOT / "src"), Side(BASE, ROOT / "src")]
    figures = asyncio.run(measure(stand, sides))
    assert {cell: {side: len(found) for side, found in each.items()} for cell, each in figures.items()} == {
        cell: {HEAD: 1, BASE: 1} for cell in CELLS
    }


def test_all_threads_are_counted_and_no_frame_twice() -> None:
    assert read_instructions(ANSWER) == 1841568636 + 78123


def test_an_answer_without_a_count_ends_the_run() -> None:
    with pytest.raises(BenchFailed, match="callgrind did not say how much it has counted; it said: 'no such command'"):
        read_instructions("no such command")


def test_children_are_not_counted_nor_what_happens_before_the_calls(tmp_path: Path) -> None:
    command = Callgrind(tmp_path).command(["serve"])
    assert command[:3] == ["valgrind", "--tool=callgrind", "--trace-children=no"]
    assert "--instr-atstart=no" in command
    assert command[-2:] == ["benchmarks.servers.slowed", "serve"]


def test_without_valgrind_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BenchFailed) as caught:
        require_valgrind()
    assert str(caught.value) == (
        "valgrind is not installed; install it (Debian and Ubuntu: apt-get install valgrind) and run again."
    )


def test_a_run_that_measured_nothing_is_no_success(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["instructions"])
    assert main() == 2
    assert capsys.readouterr().err.startswith("instructions: valgrind is not installed")


def test_the_table_shows_medians_their_spread_and_the_ratio() -> None:
    cell = CELLS[0]
    found = {HEAD: [1_010_000.0, 1_030_000.0, 1_020_000.0], BASE: [1_000_000.0, 990_000.0, 1_900_000.0]}
    assert render_table({cell: found}).splitlines() == [
        "| where | server | modes | era | instructions per call | spread | base | spread | head to base |",
        "|---|---|---|---|---|---|---|---|---|",
        "| /mcp/<server> | JSON | strict | modern | 1,020,000 | ±0.5% | 1,000,000 | ±22.8% | 1.020 |",
    ]


def test_without_a_base_there_is_nothing_to_compare() -> None:
    figures = {CELLS[0]: {HEAD: [7.0]}}
    assert render_table(figures).splitlines()[2] == "| /mcp/<server> | JSON | strict | modern | 7 |  |"
    assert above(figures, LIMIT) == []


@pytest.mark.parametrize(("head", "is_above"), [(1029.0, False), (1031.0, True)])
def test_the_limit_is_held_to_every_row(head: float, is_above: bool) -> None:
    fine = {HEAD: [500.0], BASE: [1000.0]}
    figures = {CELLS[0]: fine, CELLS[1]: {HEAD: [head] * 3, BASE: [1000.0, 1000.0, 2000.0]}, CELLS[2]: fine}
    assert above(figures, read_command_line([]).limit) == ([CELLS[1]] if is_above else [])


def test_rows_are_chosen_by_their_words() -> None:
    assert chosen_cells("") == CELLS
    assert chosen_cells("wrap legacy") == [Cell("wrap", "stdio", "strict", "legacy")]
    assert {cell.place for cell in chosen_cells("/mcp")} == {"/mcp"}
    with pytest.raises(BenchFailed, match="no row holds all of 'wrap SSE'"):
        chosen_cells("wrap SSE")


def test_calls_are_shared_out_evenly() -> None:
    with pytest.raises(BenchFailed, match="--calls must be a multiple of 4"):
        Plan(calls=10)


def test_a_side_without_handfast_is_refused(tmp_path: Path) -> None:
    """Else the installed one would be measured in its place."""
    Side(HEAD, ROOT / "src").require()
    with pytest.raises(BenchFailed, match="holds no handfast"):
        Side(BASE, tmp_path).require()


def test_a_revision_that_is_not_there_ends_the_run(tmp_path: Path) -> None:
    with (
        pytest.raises(BenchFailed, match=re.escape("cannot check out no-such-revision")),
        checked_out("no-such-revision", tmp_path),
    ):
        pass


def test_what_happens_after_a_moment_happens_as_many_times_later() -> None:
    shown = "recorder._GATHER_S, call_time.OPEN_AFTER_SECONDS"
    imports = "from handfast.activity import recorder; from handfast.gateway.calls import call_time;"
    slow = "from benchmarks.servers.slowed import slow_down; slow_down();"
    usual, slowed = (
        subprocess.run(
            [sys.executable, "-c", f"{before}{imports}print({shown})"], cwd=ROOT, capture_output=True, check=True
        )
        for before in ("", slow)
    )
    assert [float(found) for found in slowed.stdout.split()] == [
        float(found) * SLOWER for found in usual.stdout.split()
    ]
