"""Guarded calls of the project's code: exceptions are caught, and queries run only for answers kept in the database."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db import connections

T = TypeVar("T")

_log = logging.getLogger("handfast.django")
_MOST_REASON = 200  # characters of a foreign message
_database: Final[ContextVar[Literal["closed", "on request", "open"]]] = ContextVar("database", default="open")
_ASKED: Final = "the database was asked"


class DatabaseAsked(Exception):
    """A query was tried: discovery may run before the database is migrated, and must not cost needless queries."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A question that was answered with an exception; `reason` is one line for the operator."""

    reason: str
    is_query: bool = False  # it wanted to ask the database


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    value: T
    by_query: bool = False


def call_guarded(question: Callable[[], T]) -> Answered[T] | Raised:
    """What the project's own code answers, or why it does not."""
    try:
        return Answered(question())
    except Exception as error:  # noqa: BLE001 - the edge to the project's code: one broken view must not hide the others
        _log.debug("discovery.raised", exc_info=True)
        return Raised(_in_one_line(error), isinstance(error, DatabaseAsked))


def ask_rows(question: Callable[[], T]) -> Answered[T] | Raised:
    """Like call_guarded, for what a project may keep in its database, such as the fields that a customer added.

    Raises: DatabaseAsked, where the answer needs a query and queries are refused.
    """
    answer = call_guarded(question)
    if not (isinstance(answer, Raised) and answer.is_query):
        return answer
    if _database.get() == "closed":
        raise DatabaseAsked(_ASKED)
    before = _database.set("open")
    try:
        answer = call_guarded(question)
    finally:
        _database.reset(before)
    return answer if isinstance(answer, Raised) else Answered(answer.value, by_query=True)


def _in_one_line(error: Exception) -> str:
    said = " ".join(str(error).split())[:_MOST_REASON]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


@contextmanager
def without_database(*, on_request: bool = False) -> Iterator[None]:
    """Makes every query inside raise DatabaseAsked; with `on_request` those made through ask_rows() are allowed."""
    with ExitStack() as stack:
        try:
            for connection in connections.all():
                stack.enter_context(connection.execute_wrapper(_refuse))
        except ImproperlyConfigured:
            _log.debug("discovery.no_database", exc_info=True)
        before = _database.set("on request" if on_request else "closed")
        stack.callback(_database.reset, before)
        yield


def _refuse(execute: Callable[..., Any], *args: Any) -> Any:  # Any: as Django calls it
    if _database.get() != "open":
        raise DatabaseAsked(_ASKED)
    return execute(*args)
