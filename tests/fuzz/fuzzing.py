"""The loop: Hypothesis makes cases, the stage runs them, the invariants judge, and a finding is shrunk."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import uvloop
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from tests.fuzz.answer_cases import answer_cases
from tests.fuzz.invariants import Finding, check
from tests.fuzz.later_cases import later_cases, takes_later_answers
from tests.fuzz.readers import Readers
from tests.fuzz.request_cases import request_cases
from tests.fuzz.routes import ROUTES, Route
from tests.fuzz.stage import Case, Outcome, Stage

CHUNK = 500  # examples that share a seed; Hypothesis gets slow where it remembers many more


class Found(Exception):
    """Something does not hold; Hypothesis looks for the smallest case of it."""


@dataclass(frozen=True, slots=True)
class Report:
    finding: Finding
    outcome: Outcome
    seed: int

    def __str__(self) -> str:
        case, outcome = self.outcome.case, self.outcome
        lines = [
            f"{self.finding.kind} at {case.route.name} (chunk seed {self.seed})",
            f"  what      {self.finding.what}",
        ]
        lines += [f"  headers   {case.headers}"] if case.headers else []
        lines.append(f"  sent      {outcome.case.body[:600]!r}")
        if case.before is not None and case.before.plan is not None:
            lines.append(f"  before    {case.before.body!r} {case.before.plan.pieces}")
        if case.plan is not None:
            lines.append(f"  answered  {case.plan.status} {case.plan.headers} {case.plan.pieces}")
        lines += [f"  forwarded {got.head!r} {got.body[:600]!r}" for got in outcome.got[:3]]
        received = outcome.received
        lines.append(f"  received  {received.status} {received.headers} {received.body[:600]!r}")
        records = [(record.type.value, record.tool, record.status.value, record.rule) for record in outcome.records]
        return "\n".join([*lines, f"  on record {records}"])


@dataclass
class Fuzzer:
    """Runs cases until enough of them were run."""

    stage: Stage
    readers: Readers
    loop: asyncio.AbstractEventLoop
    reports: list[Report] = field(default_factory=list)
    places: dict[str, set[str]] = field(default_factory=dict)  # kinds of findings, and the routes they were seen on
    first: dict[str, Report] = field(default_factory=dict)  # of each kind the first case, as it was found
    cases: int = 0
    on_case: Callable[["Fuzzer"], None] = lambda _: None
    _last: Report | None = None

    def run_case(self, case: Case) -> tuple[Outcome, list[Finding]]:
        outcome = self.loop.run_until_complete(self.stage.run(case))
        return outcome, check(outcome, self.readers)

    def run_chunk(
        self, number: int, strategy: st.SearchStrategy[Case], examples: int = CHUNK, *, shrinks: bool = True
    ) -> None:
        """Run some examples, up to the first finding that is not like an earlier one; it is shrunk and kept."""
        self._last = None

        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
            report_multiple_bugs=False,
        )
        @seed(number)
        @given(strategy)
        def holds(case: Case) -> None:
            self._hold(case, number)

        with suppress(Found, Flaky):  # one that does not come back is kept as it was last seen
            holds()
        self._keep_last()

    def _keep_last(self) -> None:
        if self._last is not None:
            self.reports.append(self._last)

    def _hold(self, case: Case, number: int) -> None:
        outcome, findings = self.run_case(case)
        self.cases += 1
        self.on_case(self)
        for finding in findings:
            self.places.setdefault(finding.kind, set()).add(case.route.name)
            self.first.setdefault(finding.kind, Report(finding, outcome, number))
        news = next((finding for finding in findings if self._is_wanted(finding, case.route)), None)
        if news is None:
            return
        self._last = Report(news, outcome, number)
        raise Found(news.kind)  # the only place: Hypothesis takes a failure elsewhere for another one

    def _is_wanted(self, finding: Finding, route: Route) -> bool:
        """While a finding is shrunk only the same counts, else every one that is not known."""
        if self._last is not None:
            return finding.kind == self._last.finding.kind and route == self._last.outcome.case.route
        return all(finding.kind != known.finding.kind for known in self.reports)


def cases_of(sort: str, routes: tuple[Route, ...]) -> st.SearchStrategy[Case]:
    """Cases of one sort on these routes; nothing where none of them takes that sort."""
    if sort == "later":
        routes = tuple(route for route in routes if takes_later_answers(route))
    made = {"requests": request_cases, "answers": answer_cases, "later": later_cases}[sort]
    return made(routes) if routes else st.nothing()


def chosen_routes(wanted: str) -> tuple[Route, ...]:
    return tuple(route for route in ROUTES if route.name.startswith(wanted))


@contextmanager
def fuzzing() -> Iterator[Fuzzer]:
    """A stage with its readers, for the length of the block."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="handfast-fuzz-", dir=memory if memory.is_dir() else None) as folder:
        loop = uvloop.new_event_loop()
        asyncio.set_event_loop(loop)
        stage = Stage(Path(folder))
        readers = Readers()
        loop.run_until_complete(stage.start())
        try:
            yield Fuzzer(stage, readers, loop)
        finally:
            loop.run_until_complete(stage.close())
            readers.close()
            asyncio.set_event_loop(None)
            loop.close()
