"""Foreign code may raise what it likes, and never reaches the database."""

import pytest

from handfast.django.discovery.asking import Answered, DatabaseAsked, Raised, ask, without_database
from tests.django.project.models import Contact


def test_an_answer_is_handed_on() -> None:
    assert ask(lambda: 3) == Answered(3)


def test_an_exception_becomes_one_line() -> None:
    def fail() -> None:
        raise KeyError("a\nb" + "x" * 500)

    def fail_silently() -> None:
        raise ValueError

    raised = ask(fail)
    assert isinstance(raised, Raised)
    assert raised.reason.startswith("KeyError: 'a\\nbxxx")
    assert len(raised.reason) == len("KeyError: ") + 200
    assert ask(fail_silently) == Raised("ValueError")


def test_a_query_is_refused_and_allowed_again_afterwards(database: None) -> None:
    with without_database(), pytest.raises(DatabaseAsked):
        Contact.objects.count()
    assert Contact.objects.count() == 0


def test_a_query_is_an_answer_like_any_other_failure(database: None) -> None:
    with without_database():
        assert ask(Contact.objects.count) == Raised("DatabaseAsked: the database was asked")
