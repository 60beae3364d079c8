"""Asking foreign code questions: it may raise whatever it likes, and it never reaches the database."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db import connections

T = TypeVar("T")

_log = logging.getLogger("handfast.django")
_MOST_REASON = 200  # characters of somebody else's message


class DatabaseAsked(Exception):
    """Discovery happens before anybody may have migrated, and must cost no query."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A question that was answered with an exception; `reason` is one line for the operator."""

    reason: str


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    value: T


def ask(question: Callable[[], T]) -> Answered[T] | Raised:
    """What the project's own code answers, or why it does not."""
    try:
        return Answered(question())
    except Exception as error:  # noqa: BLE001 - the edge to the project's code: one broken view must not hide the others
        _log.debug("discovery.raised", exc_info=True)
        return Raised(_in_one_line(error))


def _in_one_line(error: Exception) -> str:
    said = " ".join(str(error).split())[:_MOST_REASON]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


@contextmanager
def without_database() -> Iterator[None]:
    """Every query that is tried inside raises DatabaseAsked."""
    with ExitStack() as stack:
        try:
            for connection in connections.all():
                stack.enter_context(connection.execute_wrapper(_refuse))
        except ImproperlyConfigured:
            _log.debug("discovery.no_database", exc_info=True)
        yield


def _refuse(*_: Any, **__: Any) -> NoReturn:  # Any: as Django calls it
    raise DatabaseAsked("the database was asked")
