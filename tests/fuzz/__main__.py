"""`scripts/fuzz`: many odd cases through the whole gateway; the first differences are printed, and fail the run."""

import argparse
import random
import subprocess
import sys
import time

from tests.fuzz.fuzzing import CHUNK, Fuzzer, cases_of, chosen_routes, fuzzing
from tests.fuzz.routes import ROUTES
from tests.parts import install

_PROGRESS_SECONDS = 10.0
_TURNS = ("requests", "answers", "requests", "later")  # of the sorts of cases, a chunk each


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000, help="how many to run (default: 20,000)")
    parser.add_argument("--seed", type=int, help="start of the series; printed, so that a run can be repeated")
    parser.add_argument("--route", default="", help=f"only routes that begin so, such as {ROUTES[0].name}")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once (default: 2)")
    parser.add_argument("--findings", type=int, default=10, help="stop a process after so many (default: 10)")
    args = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if args.seed is None else args.seed
    if not chosen_routes(args.route):
        parser.error(f"no such route; there are: {', '.join(route.name for route in ROUTES)}")
    install()
    if args.jobs == 1:
        return run(args.cases, seed, args.route, args.findings)
    return spread(args.cases, seed, args.route, args.findings, args.jobs)


def spread(cases: int, seed: int, route: str, findings: int, jobs: int) -> int:
    """The same in several processes, each with its part of the cases and a series of its own."""
    common = ["--cases", str(-(-cases // jobs)), "--route", route, "--findings", str(findings), "--jobs", "1"]
    commands = [
        [sys.executable, "-m", "tests.fuzz", *common, "--seed", str(seed + job * 1_000_000_000)] for job in range(jobs)
    ]
    processes = [subprocess.Popen(command) for command in commands]
    return max(process.wait() for process in processes)


def run(cases: int, seed: int, route: str, findings: int) -> int:
    print(f"seed {seed}", flush=True)
    began = told = time.monotonic()

    def tell(fuzzer: Fuzzer) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= _PROGRESS_SECONDS:
            told = now
            rate = fuzzer.cases / (now - began)
            print(f"{fuzzer.cases:,} cases, {len(fuzzer.reports)} findings, {rate:.0f} a second", flush=True)

    with fuzzing() as fuzzer:
        fuzzer.on_case = tell
        made = [cases_of(sort, chosen_routes(route)) for sort in _TURNS]
        turns = [cases for cases in made if not cases.is_empty]
        chunk = 0
        while fuzzer.cases < cases and len(fuzzer.reports) < findings:
            known = len(fuzzer.reports)
            left = cases - fuzzer.cases
            fuzzer.run_chunk(seed + chunk, turns[chunk % len(turns)], min(CHUNK, left))
            chunk += 1
            for report in fuzzer.reports[known:]:
                print(f"\n{report}\n", flush=True)
        seconds = time.monotonic() - began
        shrunk = {report.finding.rule for report in fuzzer.reports}
        for report in fuzzer.first.values():
            if report.finding.rule not in shrunk:  # seen only while another was shrunk
                print(f"\n{report}\n")
        for kind, places in sorted(fuzzer.places.items()):
            print(f"  {kind}: {', '.join(sorted(places))}")
        print(f"{fuzzer.cases:,} cases in {seconds:.0f} s, {len(fuzzer.reports)} findings; seed {seed}", flush=True)
        return 1 if fuzzer.first else 0


if __name__ == "__main__":
    sys.exit(main())
