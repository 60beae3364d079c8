"""Foreign code may raise what it likes, and reaches the database only where it is asked for what is kept there."""

import pytest

from handfast.django.discovery.views.guarded_calls import (
    Answered,
    DatabaseAsked,
    Raised,
    ask_rows,
    call_guarded,
    without_database,
)
from tests.django.project.models import Contact


def test_an_answer_is_handed_on() -> None:
    assert call_guarded(lambda: 3) == Answered(3)


def test_an_exception_becomes_one_line() -> None:
    def fail() -> None:
        raise KeyError("a\nb" + "x" * 500)

    def fail_silently() -> None:
        raise ValueError

    raised = call_guarded(fail)
    assert isinstance(raised, Raised)
    assert raised.reason.startswith("KeyError: 'a\\nbxxx")
    assert len(raised.reason) == len("KeyError: ") + 200
    assert call_guarded(fail_silently) == Raised("ValueError")


def test_a_query_is_refused_and_allowed_again_afterwards(database: None) -> None:
    with without_database(), pytest.raises(DatabaseAsked):
        Contact.objects.count()
    assert Contact.objects.count() == 0


def test_a_query_is_an_answer_like_any_other_failure(database: None) -> None:
    with without_database():
        assert call_guarded(Contact.objects.count) == Raised("DatabaseAsked: the database was asked", is_query=True)


def test_rows_are_read_only_where_they_are_asked_for_and_the_database_is_not_closed(database: None) -> None:
    with without_database(on_request=True):
        assert ask_rows(lambda: 3) == Answered(3)
        assert ask_rows(Contact.objects.count) == Answered(0, by_query=True)
        assert call_guarded(Contact.objects.count) == Raised("DatabaseAsked: the database was asked", is_query=True)
    with without_database(), pytest.raises(DatabaseAsked):
        ask_rows(Contact.objects.count)
    assert ask_rows(Contact.objects.count) == Answered(0)


def test_what_fails_with_the_database_too_fails_for_its_own_reason(database: None) -> None:
    with without_database(on_request=True):
        assert ask_rows(lambda: 1 // Contact.objects.count()) == Raised(
            "ZeroDivisionError: integer division or modulo by zero"
        )
