"""What a call of the Django adapter costs: both ways are driven in a process of their own, and the page has each."""

import subprocess
import sys

from benchmarks.django_calls import MARKS, PAGE, ROOT, Measured, table
from benchmarks.marked_block import read_block

CASES = ["create one", "read one", "change one", "list 25"]


def rows(text: str) -> list[str]:
    return [line.split(" | ")[0].removeprefix("| ") for line in text.strip().splitlines()[2:]]


def test_every_case_is_driven_on_both_ways() -> None:
    command = [sys.executable, "-m", "benchmarks.django_calls", "--rounds", "1", "--calls", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert rows(done.stdout) == CASES, done.stdout + done.stderr


def test_a_call_is_compared_with_its_own_view() -> None:
    assert table([Measured("create one", 2.0, 0.1, 0.15)]) == (
        "| call | bare view | as a tool | recorded, too |\n|---|---|---|---|\n| create one | 2.00 ms | +10% | +15% |"
    )


def test_the_document_has_a_figure_for_every_case() -> None:
    assert rows("\n".join(read_block(PAGE, MARKS))) == CASES
