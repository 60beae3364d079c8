"""What is run: cases, interleaved round by round (A B C A B C …), so that a busy moment hits all alike."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any  # Any: outcomes are JSON

from benchmarks.contenders import BYTES, DEFAULT, DIRECT, LEAN, OFF, RELAY, SDK, stdio_command, wrap_command
from benchmarks.stage import Progress, Run, Stage
from benchmarks.traffic import JUDGED, LARGE, MEDIUM, OPEN

_CALLS = 100_000  # never reached in the time given; a bound all the same
_TINY = 1e-9  # in place of a CPU time too short for the kernel's ticks
WRAP, BARE = "wrap", "bare"


@dataclass(frozen=True, slots=True)
class Case:
    contender: str
    upstream: str
    tool: str
    clients: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how often; the default stays under three minutes on two cores."""

    peers: tuple[str, ...] = ("fastmcp-tuned", "fastmcp")
    rounds: int = 5
    stdio_rounds: int = 3  # each starts a server of a second
    starts: int = 3
    seconds: float = 0.65
    warm_up_seconds: float = 0.3
    sizes: tuple[str, ...] = (JUDGED, MEDIUM, LARGE)

    @property
    def contenders(self) -> tuple[str, ...]:
        return (DEFAULT, OFF, RELAY, BYTES, *self.peers)

    def peer_cases(self) -> list[Case]:
        """In front of a real server: what a user would see."""
        known = (DIRECT, DEFAULT, OFF, RELAY, *self.peers)
        return [Case(contender, SDK, JUDGED, clients) for clients in (1, 16) for contender in known]

    def judging_cases(self) -> list[Case]:
        """In front of a server that costs nothing: what the gateway itself takes."""
        plain = [Case(contender, LEAN, OPEN, 16) for contender in (DIRECT, BYTES, RELAY, OFF, DEFAULT)]
        return [*plain, Case(DEFAULT, LEAN, JUDGED, 16)]

    def size_cases(self) -> list[Case]:
        return [Case(contender, LEAN, tool, 1) for tool in self.sizes for contender in (DIRECT, OFF, DEFAULT)]


QUICK = Plan(rounds=2, stdio_rounds=1, starts=1, seconds=0.16, warm_up_seconds=0.05)


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that was measured; the report makes figures of it."""

    runs: dict[Case, list[Run]] = field(default_factory=dict)
    stdio: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    start_s: dict[str, float] = field(default_factory=dict)
    resident_mb: dict[str, float] = field(default_factory=dict)

    def median(self, case: Case, name: str) -> float:
        return float(statistics.median(getattr(run, name) for run in self.runs[case]))

    def paired(self, case: Case, base: Case, name: str) -> float:
        """The median of the ratios within each round: what slows both runs of a round cancels out."""
        pairs = zip(self.runs[case], self.runs[base], strict=True)
        return float(statistics.median(getattr(run, name) / (getattr(other, name) or _TINY) for run, other in pairs))

    def spread(self, case: Case, name: str) -> float:
        """Half the distance between the extremes, as a part of the median: how noisy it was."""
        values: list[float] = [getattr(run, name) for run in self.runs[case]]
        return (max(values) - min(values)) / 2 / (statistics.median(values) or _TINY)


def carry_out(plan: Plan, progress: Progress) -> Measured:
    """Raises: BenchFailed."""
    measured = Measured()
    with Stage(plan.contenders, starts=plan.starts, progress=progress) as stage:
        measured.start_s.update(stage.start_s)
        for title, cases, is_fine in (
            ("in front of the SDK server", plan.peer_cases(), False),
            ("in front of the lean server", plan.judging_cases(), True),
            ("results by size", plan.size_cases(), False),
        ):
            _interleave(stage, cases, plan, measured, _titled(progress, title), is_fine=is_fine)
        measured.resident_mb.update({key: stage.resident_mb(key) for key in plan.contenders})
        _interleave_stdio(stage, plan, measured, progress)
    return measured


def _titled(progress: Progress, title: str) -> Progress:
    return lambda text: progress(f"{title}, {text}")


def _interleave(
    stage: Stage, cases: Sequence[Case], plan: Plan, measured: Measured, progress: Progress, *, is_fine: bool
) -> None:
    # Where one part in twenty matters, runs are shorter and more, so that both of a pair meet the same machine.
    rounds, seconds = (plan.rounds * 3, plan.seconds / 2) if is_fine else (plan.rounds, plan.seconds)
    for case in {(case.contender, case.upstream): case for case in reversed(cases)}.values():
        progress(f"warming up {case.contender}")
        _run(stage, case, plan.warm_up_seconds)
    for turn in range(rounds):
        for case in cases:
            progress(f"round {turn + 1} of {rounds}: {case.contender}, {case.clients} at a time")
            measured.runs.setdefault(case, []).append(_run(stage, case, seconds))


def _run(stage: Stage, case: Case, seconds: float) -> Run:
    return stage.run(case.contender, case.upstream, case.tool, clients=case.clients, calls=_CALLS, seconds=seconds)


def _interleave_stdio(stage: Stage, plan: Plan, measured: Measured, progress: Progress) -> None:
    commands = {BARE: stdio_command(), WRAP: wrap_command(stage.new_folder(WRAP))}
    for turn in range(plan.stdio_rounds):
        for key, command in commands.items():
            progress(f"stdio, round {turn + 1} of {plan.stdio_rounds}: {key}")
            job = {"command": command, "tools": plan.sizes, "calls": _CALLS, "seconds": plan.seconds / 2}
            measured.stdio.setdefault(key, []).append(stage.ask(job))
