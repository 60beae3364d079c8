"""Counts of outcomes by tool, for health pages and tests, the same for both forms of handlers."""

from collections import Counter
from threading import Lock

from handfast.core.answers.errors import ErrorCode
from handfast.core.answers.outcome import Outcome, Succeeded, code_of_rule
from handfast.core.call.exchange import Exchange, Status

_NAMES = {
    ErrorCode.INVALID_INPUT.value: "validation_error",
    ErrorCode.GUARDRAIL_VIOLATED.value: "guardrail_violated",
    ErrorCode.OUTPUT_VIOLATION.value: "output_violation",
}


def count_as(outcome: Outcome) -> str:
    return "success" if isinstance(outcome, Succeeded) else _NAMES.get(outcome.code, "failed")


def count_of_record(call: Exchange) -> str:
    """The outcome to count for a call without an answer, from its record."""
    status, rule = call.end or (None, "")
    if status is Status.SUCCESS or status is Status.CANCELLED:
        return status.value
    code = code_of_rule(rule) if status is Status.BLOCKED else str(call.details.get("code", ""))
    return _NAMES.get(code, "failed")


class OutcomeCounts:
    """success, validation_error, guardrail_violated, output_violation, failed, cancelled."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()  # tools may be called from several threads

    def add(self, tool: str, outcome: str) -> None:
        with self._lock:
            self._counts[tool, outcome] += 1

    def of(self, tool: str) -> dict[str, int]:
        return {outcome: count for (name, outcome), count in self._all() if name == tool}

    def total(self, outcome: str) -> int:
        return sum(count for (_, name), count in self._all() if name == outcome)

    def _all(self) -> list[tuple[tuple[str, str], int]]:
        with self._lock:
            return list(self._counts.items())
