"""What a run comes to, as tables for people, JSON for machines, and the block in docs/conformance.md."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from conformance.checks import Findings, lost_checks
from conformance.exclusions import Exclusion, Upstream

Leg = Literal["server", "client", "bridge"]
LEGS: tuple[Leg, ...] = get_args(Leg)

BEGIN, END = "<!-- conformance:begin -->", "<!-- conformance:end -->"
HEADER = "| in front of | scenarios directly | behind handfast | checks directly | behind handfast | lost | excluded |"

_TITLES: dict[Leg, str] = {
    "server": "",
    "client": ", client scenarios",
    "bridge": ", in front of a server of the other era",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """A lost check as it is reported: with the reason where the loss is accepted."""

    scenario: str
    check: str
    status: str
    excluded: str | None


@dataclass(frozen=True, slots=True)
class Result:
    """One revision of the suite with one kind of upstream, on one of the legs."""

    leg: Leg
    revision: str
    upstream: Upstream
    scenarios: int
    passed_directly: int  # scenarios without a failure
    passed_through: int
    checks: int  # that are good directly
    losses: tuple[Loss, ...]
    stale: tuple[str, ...]  # excluded checks that were made and are not lost: their exclusion should go
    left_out: int = 0  # client scenarios that were not run

    @staticmethod
    def of(
        leg: Leg,
        revision: str,
        upstream: Upstream,
        direct: Findings,
        gateway: Findings,
        exclusions: Sequence[Exclusion],
    ) -> "Result":
        lost = lost_checks(direct, gateway)
        here = (revision, upstream, leg == "bridge")
        applying = [entry for entry in exclusions if (entry.revision, entry.upstream, entry.bridge) == here]
        reasons = {entry.check: entry.reason for entry in applying}
        losses = tuple(
            Loss(one.check.scenario, one.check.id, one.status.name, reasons.get(one.check.id)) for one in lost
        )
        made = {check.id for check in direct.worst}
        certain = {entry.check for entry in applying if not entry.varies}
        stale = tuple(sorted(made & certain - {one.check.id for one in lost}))
        return Result(
            leg,
            revision,
            upstream,
            scenarios=len(direct.scenarios),
            passed_directly=direct.passed_scenarios,
            passed_through=gateway.passed_scenarios,
            checks=direct.good,
            losses=losses,
            stale=stale,
        )

    @property
    def unexcused(self) -> list[Loss]:
        return [loss for loss in self.losses if loss.excluded is None]

    @property
    def is_kept(self) -> bool:
        """Nothing is lost but what the exclusions say, and they say nothing that is not so."""
        return not self.unexcused and not self.stale


def render_json(results: Sequence[Result]) -> str:
    return json.dumps([asdict(result) | {"is_kept": result.is_kept} for result in results], indent=2)


def render_tables(results: Sequence[Result]) -> str:
    """A table per leg and revision, in Markdown, with every lost check under it."""
    tables = dict.fromkeys((result.leg, result.revision) for result in results)
    return "\n\n".join(_render(*table, results) for table in tables)


def _render(leg: Leg, revision: str, results: Sequence[Result]) -> str:
    own = [result for result in results if (result.leg, result.revision) == (leg, revision)]
    lines = [f"### {revision}{_TITLES[leg]}", "", HEADER, "|---|---|---|---|---|---|---|", *map(_row, own)]
    notes = [note for result in own for note in _notes(result)]
    return "\n".join([*lines, "", *notes] if notes else lines)


def _row(result: Result) -> str:
    all_scenarios, lost = result.scenarios, len(result.unexcused)
    return (
        f"| {result.upstream} | {result.passed_directly}/{all_scenarios} | {result.passed_through}/{all_scenarios}"
        f" | {result.checks} | {result.checks - len(result.losses)} | {lost} | {len(result.losses) - lost} |"
    )


def _notes(result: Result) -> list[str]:
    losses = [
        f"- {'LOST' if loss.excluded is None else 'excluded'}, {result.upstream}: `{loss.check}`"
        f" in {loss.scenario}: {loss.status}"
        for loss in result.losses
    ]
    stale = [f"- not lost, {result.upstream}: `{check}`; delete its exclusion" for check in result.stale]
    left_out = [f"- left out: {result.left_out} scenarios"] if result.left_out else []
    return losses + stale + left_out


def write_block(page: Path, tables: str) -> None:
    """Put the tables between the two marks, every other byte left alone. Raises: ValueError without the marks."""
    text = page.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page.name} lacks {BEGIN} and {END}; put them where the tables belong")
    page.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}", "utf-8")
