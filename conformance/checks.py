"""What the suite found out: checks read from its result files, and which of them the gateway lost."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")


class SuiteFailed(Exception):
    """The run says nothing about the gateway; one line that says why."""


class Status(IntEnum):
    """From best to worst: what a check comes to is the worst of its occurrences."""

    INFO = 0
    SUCCESS = 1
    SKIPPED = 2
    WARNING = 3
    FAILURE = 4
    ABSENT = 5  # not one of the suite's: the check was made directly and not through the gateway

    @property
    def is_good(self) -> bool:
        return self <= Status.SUCCESS


@dataclass(frozen=True, slots=True, order=True)
class Check:
    scenario: str
    id: str


@dataclass(frozen=True, slots=True)
class Lost:
    """A check that the server passes and that it does not pass behind the gateway."""

    check: Check
    status: Status


@dataclass(frozen=True, slots=True)
class Findings:
    """One run of the suite. A scenario may hold no check at all, so the names are kept beside them."""

    scenarios: frozenset[str]
    worst: dict[Check, Status]

    def updated(self, later: "Findings") -> "Findings":
        """With the scenarios of a later run as that one found them."""
        kept = {check: status for check, status in self.worst.items() if check.scenario not in later.scenarios}
        return Findings(self.scenarios | later.scenarios, kept | later.worst)

    def only(self, scenarios: Iterable[str]) -> "Findings":
        """Those of some scenarios."""
        kept = self.scenarios & frozenset(scenarios)
        return Findings(kept, {check: status for check, status in self.worst.items() if check.scenario in kept})

    @property
    def failed_scenarios(self) -> frozenset[str]:
        return frozenset(check.scenario for check, status in self.worst.items() if status is Status.FAILURE)

    @property
    def passed_scenarios(self) -> int:
        return len(self.scenarios - self.failed_scenarios)

    @property
    def good(self) -> int:
        return sum(status.is_good for status in self.worst.values())


def read_findings(folder: Path, prefix: str = "server-") -> Findings:
    """Raises: SuiteFailed where there is nothing to read, or something that cannot be understood."""
    scenarios = set()
    worst: dict[Check, Status] = {}
    for path in sorted(folder.rglob("checks.json")):
        scenario = _scenario(path.parent.relative_to(folder).as_posix(), prefix)
        scenarios.add(scenario)
        for check, status in _occurrences(scenario, path):
            worst[check] = max(worst.get(check, status), status)
    if not worst:
        raise SuiteFailed("the suite left no results")
    return Findings(frozenset(scenarios), worst)


def _scenario(name: str, prefix: str) -> str:
    """Results lie in folders named after their scenario, with the time behind it."""
    scenario, stamps = _STAMP.subn("", name)
    if not stamps or not scenario.startswith(prefix):
        raise SuiteFailed(f"{name} is no name for results that is known here")
    return scenario.removeprefix(prefix)


def _occurrences(scenario: str, path: Path) -> Iterable[tuple[Check, Status]]:
    try:
        return [(Check(scenario, entry["id"]), Status[entry["status"]]) for entry in json.loads(path.read_bytes())]
    except (ValueError, KeyError, TypeError):
        raise SuiteFailed(f"the results of {scenario} cannot be read") from None


def require_sound(direct: Findings, tested: str = "server") -> None:
    """What is tested must pass on its own: of a dead server the gateway could lose nothing. Raises: SuiteFailed."""
    failed = sorted(direct.failed_scenarios)
    if failed:
        raise SuiteFailed(f"the {tested} itself fails {', '.join(failed)}, so nothing can be said about the gateway")


def lost_checks(direct: Findings, gateway: Findings) -> list[Lost]:
    """Every check that is good directly and not as good through the gateway; a mere remark is not a success."""
    lost = []
    for check, before in sorted(direct.worst.items()):
        after = gateway.worst.get(check, Status.ABSENT)
        if before.is_good and (not after.is_good or after < before):
            lost.append(Lost(check, after))
    return lost
