"""The problems that discovery finds, as data with stable ids, for system checks and for the doctor."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

OF_FUNCTION: Final = "WrappedAPIView"  # what `@api_view` calls the classes that it makes


class ProblemId(StrEnum):
    """E: a tool is missing because of it. W: what an agent reads is incomplete or wrong. I: good to know."""

    NAME_TAKEN = "handfast.E001"
    VIEW_UNUSABLE = "handfast.E002"
    ADDRESS_UNCLEAR = "handfast.E003"
    WRITE_UNKNOWN = "handfast.E004"
    SERIALIZER_UNKNOWN = "handfast.W001"
    SERIALIZER_UNUSABLE = "handfast.W002"
    INPUT_UNKNOWN = "handfast.W003"
    FIELD_OPEN = "handfast.W004"
    OUTPUT_REWRITTEN = "handfast.W005"
    FILTERS_UNKNOWN = "handfast.W006"
    PAGES_UNKNOWN = "handfast.W007"
    PATTERN_UNMATCHED = "handfast.W008"
    LEFT_OUT = "handfast.I001"
    RESULT_OPEN = "handfast.I002"
    NAME_SHORTENED = "handfast.I003"
    NAME_LONG = "handfast.I004"
    FIELDS_STORED = "handfast.I005"


@dataclass(frozen=True, slots=True)
class DiscoveryProblem:
    """One finding: what it is, what to do about it, and where."""

    id: ProblemId
    message: str
    hint: str
    where: str


class DiscoveryProblems:
    """Problems as they are found; the same one is reported once, however many tools it touches."""

    def __init__(self) -> None:
        self._found: dict[DiscoveryProblem, None] = {}

    def add(self, problem: ProblemId, message: str, *, hint: str, where: str) -> None:
        self._found.setdefault(DiscoveryProblem(problem, message, hint, where))

    def __iter__(self) -> Iterator[DiscoveryProblem]:
        return iter(self._found)

    def sorted(self) -> tuple[DiscoveryProblem, ...]:
        """Errors first, then by id and place."""
        order = "EWI"
        return tuple(sorted(self, key=lambda found: (order.index(found.id[9]), found.id, found.where, found.message)))


def dotted_name(target: type) -> str:
    """The name by which an author would import a class; for one that `@api_view` made, that of the function."""
    name = target.__name__ if target.__qualname__ == OF_FUNCTION else target.__qualname__
    return f"{target.__module__}.{name}"
