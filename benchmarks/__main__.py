"""scripts/bench: measure handfast beside nothing, beside itself without judging, and beside FastMCP's proxy."""

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.marked_block import BlockMissing, write_block
from benchmarks.plan import QUICK, Plan, carry_out
from benchmarks.processes import ROOT, BenchFailed
from benchmarks.report import MARKS, make_report, render_json, render_markdown


def read_command_line(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under half a minute; figures are rough")
    parser.add_argument("--no-peers", action="store_true", help="leave FastMCP out")
    parser.add_argument("--rounds", type=int, help="interleaved rounds (default: 5; with --quick 2)")
    parser.add_argument("--seconds", type=float, help="length of each run (default: 0.65; with --quick 0.16)")
    parser.add_argument("-o", "--output", choices=("markdown", "json"), default="markdown")
    parser.add_argument("--write", action="store_true", help="also put the table into README.md, between its marks")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def chosen_plan(options: argparse.Namespace) -> Plan:
    plan = QUICK if options.quick else Plan()
    if options.no_peers:
        plan = replace(plan, peers=())
    if options.rounds:
        plan = replace(plan, rounds=options.rounds)
    return replace(plan, seconds=options.seconds) if options.seconds else plan


class ProgressLine:
    """One line on a terminal, nothing elsewhere."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[K{time.monotonic() - self._began:4.0f} s  {text}")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")


def main() -> int:
    options = read_command_line()
    plan = chosen_plan(options)
    progress = ProgressLine()
    load_before = os.getloadavg()[0]
    try:
        report = make_report(plan, carry_out(plan, progress), load_before=round(load_before, 2))
        progress.clear()
        if options.write:
            write_block(options.readme, render_markdown(report), MARKS)
    except (BenchFailed, BlockMissing) as problem:
        progress.clear()
        print(f"bench: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        progress.clear()
        return 130
    print(render_json(report) if options.output == "json" else render_markdown(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
