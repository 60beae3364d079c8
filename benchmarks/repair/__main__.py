"""python -m benchmarks.repair: is an error text enough to repair a call? Beside FastMCP, the SDK and pydantic."""

import argparse
import asyncio
import json
import sys

from benchmarks.marked_block import BlockMissing, write_block
from benchmarks.processes import ROOT, BenchFailed
from benchmarks.repair.measure import SEED, Report, render_json, render_table, run

PAGE = ROOT / "docs" / "performance.md"
MARKS = ("<!-- repair:begin -->", "<!-- repair:end -->")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help="of the faults (default: %(default)s)")
    parser.add_argument("-o", "--output", choices=("markdown", "json", "failures"), default="markdown")
    parser.add_argument("--write", action="store_true", help="also put the table into docs/performance.md")
    options = parser.parse_args()
    try:
        report = asyncio.run(run(options.seed))
        if options.write:
            write_block(PAGE, render_table(report), MARKS)
    except (BenchFailed, BlockMissing) as problem:
        print(f"repair: {problem}", file=sys.stderr)
        return 1
    rendered = {"markdown": render_table, "json": render_json, "failures": render_failures}
    print(rendered[options.output](report))
    return 0


def render_failures(report: Report) -> str:
    """One JSON object a line for each call that was not repaired: for reading, by hand."""
    lines = [
        {
            "contender": one.contender,
            "fault": one.fault.kind,
            "tool": one.fault.tool.key,
            "called": one.fault.faulty,
            "text": one.text,
            "repaired": one.repaired,
            "meant": one.fault.original,
        }
        for one in report.outcomes
        if not one.is_right
    ]
    return "\n".join(map(json.dumps, lines))


if __name__ == "__main__":
    sys.exit(main())
