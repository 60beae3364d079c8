"""`scripts/fuzz`: many odd cases through the whole gateway; the first differences are printed, and fail the run."""

import argparse
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

from tests.fuzz.fuzzing import CHUNK, Fuzzer, Report, cases_of, chosen_routes, fuzzing
from tests.fuzz.routes import ROUTES
from tests.parts import install

_PROGRESS_SECONDS = 10.0
_CASES_OF_A_STAGE = 25_000  # then a new one: its records are read again, and nothing grows for ever
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

    def stop(*_: object) -> None:
        for process in processes:
            process.terminate()

    signal.signal(signal.SIGTERM, stop)
    return max(process.wait() for process in processes)


def run(cases: int, seed: int, route: str, findings: int) -> int:
    """In one process, with a gateway that is started again from time to time."""
    print(f"seed {seed}", flush=True)
    progress = Progress(cases, findings)
    signal.signal(signal.SIGTERM, lambda *_: progress.stop())
    made = [cases_of(sort, chosen_routes(route)) for sort in _TURNS]
    turns = [strategy for strategy in made if not strategy.is_empty]
    chunk = 0
    while not progress.is_over:
        with fuzzing() as fuzzer:
            progress.take_over(fuzzer)
            while fuzzer.cases < _CASES_OF_A_STAGE and not progress.is_over:
                known = len(fuzzer.reports)
                fuzzer.run_chunk(seed + chunk, turns[chunk % len(turns)], min(CHUNK, progress.left))
                chunk += 1
                for report in fuzzer.reports[known:]:
                    print(f"\n{report}\n", flush=True)
            progress.leave(fuzzer)
    progress.conclude(seed)
    return 1 if progress.first else 0


@dataclass
class Progress:
    """What all stages of a run come to."""

    wanted: int
    most_findings: int
    cases: int = 0
    reports: list[Report] = field(default_factory=list)
    places: dict[str, set[str]] = field(default_factory=dict)
    first: dict[str, Report] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _told: float = field(default_factory=time.monotonic)
    _is_stopped: bool = False
    _before: int = 0  # cases of the stages that are gone

    @property
    def left(self) -> int:
        return max(1, self.wanted - self.cases)

    @property
    def is_over(self) -> bool:
        return self.cases >= self.wanted or len(self.reports) >= self.most_findings

    def take_over(self, fuzzer: Fuzzer) -> None:
        fuzzer.reports, fuzzer.places, fuzzer.first = self.reports, self.places, self.first
        fuzzer.on_case = self._tell

    def leave(self, fuzzer: Fuzzer) -> None:
        self._before += fuzzer.cases

    def stop(self) -> None:
        """End after the case that runs, so that nothing is left behind."""
        self._is_stopped = True

    def _tell(self, fuzzer: Fuzzer) -> None:
        if self._is_stopped:
            sys.exit(143)
        self.cases = self._before + fuzzer.cases
        now = time.monotonic()
        if now - self._told >= _PROGRESS_SECONDS:
            self._told = now
            print(f"{self._numbers()}, {self.cases / (now - self._began):.0f} a second", flush=True)

    def conclude(self, seed: int) -> None:
        shrunk = {report.finding.rule for report in self.reports}
        for report in self.first.values():
            if report.finding.rule not in shrunk:  # seen only while another was shrunk
                print(f"\n{report}\n")
        for kind, places in sorted(self.places.items()):
            print(f"  {kind}: {', '.join(sorted(places))}")
        print(f"{self._numbers()} in {time.monotonic() - self._began:.0f} s; seed {seed}", flush=True)

    def _numbers(self) -> str:
        return f"{self.cases:,} cases, {len(self.reports)} findings"


if __name__ == "__main__":
    sys.exit(main())
