"""Taking empty rows away, and leaving everything else as it is."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.django.empty_rows.removal import RemovalRefused, Removed, confirm_rows, deletable_rows, remove_rows
from handfast.django.empty_rows.search import EmptyRow, Found, PointingRows
from tests.django.empty_rows.serializers import ENQUIRIES, PEOPLE
from tests.django.leftovers.models import Answer, Bill, Enquiry, Person, Remark, Visit

pytestmark = pytest.mark.usefixtures("database")


@pytest.mark.requirement("T5")
def test_only_the_rows_that_were_confirmed_go() -> None:
    first, second, other = Enquiry.objects.create(), Enquiry.objects.create(), Enquiry.objects.create(name="Ada")
    ghost = Person.objects.create()
    assert remove_rows([(ENQUIRIES, [first.pk]), (PEOPLE, [ghost.pk])]) == Removed(
        {"leftovers.Enquiry": 1, "leftovers.Person": 1}, {}
    )
    assert set(Enquiry.objects.values_list("pk", flat=True)) == {second.pk, other.pk}
    assert not Person.objects.exists()


@pytest.mark.requirement("T5")
def test_a_row_that_was_filled_in_meanwhile_keeps_all_of_them() -> None:
    first, second = Enquiry.objects.create(), Enquiry.objects.create()
    ghost = Person.objects.create()
    Enquiry.objects.filter(pk=second.pk).update(name="Ada")
    with pytest.raises(RemovalRefused) as refused:
        remove_rows([(PEOPLE, [ghost.pk]), (ENQUIRIES, [first.pk, second.pk])])
    assert str(refused.value) == (f"leftovers.Enquiry {second.pk}: not an empty row any more. Look again, then delete.")
    assert (Enquiry.objects.count(), Person.objects.count()) == (2, 1)


def test_a_row_that_others_point_at_stays_without_cascade() -> None:
    left = Enquiry.objects.create()
    Answer.objects.create(enquiry=left)
    with pytest.raises(RemovalRefused) as refused:
        remove_rows([(ENQUIRIES, [left.pk])])
    assert str(refused.value) == (
        f"leftovers.Enquiry {left.pk}: other rows point at it (1 leftovers.Answer.enquiry). Add --cascade."
    )
    assert (Enquiry.objects.count(), Answer.objects.count()) == (1, 1)


def test_with_cascade_it_says_what_went_with_it() -> None:
    left = Enquiry.objects.create()
    follower = Enquiry.objects.create(name="Ada", follows=left)
    Answer.objects.create(enquiry=left)
    Remark.objects.create(about=left)
    removed = remove_rows([(ENQUIRIES, [left.pk])], cascade=True)
    assert removed == Removed({"leftovers.Enquiry": 1}, {"leftovers.Answer": 1, "leftovers.Remark": 1})
    follower.refresh_from_db()
    assert follower.follows is None


def test_a_row_that_is_protected_stays_even_with_cascade() -> None:
    left = Enquiry.objects.create()
    Bill.objects.create(enquiry=left)
    ghost = Person.objects.create()
    Visit.objects.create(person=ghost)
    with pytest.raises(RemovalRefused) as refused:
        remove_rows([(PEOPLE, [ghost.pk]), (ENQUIRIES, [left.pk])], cascade=True)
    assert str(refused.value) == "leftovers.Enquiry: rows of leftovers.Bill keep a row from being deleted."
    assert (Person.objects.count(), Visit.objects.count(), Enquiry.objects.count()) == (1, 1, 1)


POINTING = (PointingRows("leftovers.Answer.enquiry", 2, "deleted with it"),)


def rows(*keys: int, pointing: tuple[PointingRows, ...] = ()) -> tuple[EmptyRow, ...]:
    return tuple(EmptyRow(key, None, pointing, {}) for key in keys)


def answering(answers: Iterable[str], asked: list[str] | None = None) -> Callable[[str], str]:
    left = iter(answers)

    def ask(question: str) -> str:
        if asked is not None:
            asked.append(question)
        return next(left)

    return ask


def test_certain_rows_are_asked_for_at_once_by_their_keys() -> None:
    asked: list[str] = []
    found = Found(PEOPLE, rows(1, 2), 2)
    assert confirm_rows([found], answering(["yes\n"], asked)) == [(PEOPLE, [1, 2])]
    assert asked == ["Delete 2 of leftovers.Person (1, 2)? [yes/no/each] "]


def test_they_can_be_asked_for_one_by_one() -> None:
    asked: list[str] = []
    assert confirm_rows([Found(PEOPLE, rows(1, 2, 3), 3)], answering(["each", "y", "no", "YES "], asked)) == [
        (PEOPLE, [1, 3])
    ]
    assert asked[1:] == [f"Delete leftovers.Person {key}? [yes/no] " for key in (1, 2, 3)]


def test_a_doubtful_row_is_always_asked_for_by_itself() -> None:
    asked: list[str] = []
    assert confirm_rows([Found(ENQUIRIES, rows(1, 2), 2)], answering(["no", "yes"], asked)) == [(ENQUIRIES, [2])]
    assert asked == [f"Delete leftovers.Enquiry {key}? [yes/no] " for key in (1, 2)]


def test_a_row_that_others_point_at_is_only_asked_for_with_cascade() -> None:
    found = Found(ENQUIRIES, rows(1) + rows(2, pointing=POINTING), 2)
    assert confirm_rows([found], answering(["yes"])) == [(ENQUIRIES, [1])]
    asked: list[str] = []
    assert confirm_rows([found], answering(["no", "yes"], asked), cascade=True) == [(ENQUIRIES, [2])]
    assert asked[1] == "Delete leftovers.Enquiry 2 (2 leftovers.Answer.enquiry deleted with it)? [yes/no] "
    assert [row.pk for row in deletable_rows(found, cascade=False)] == [1]


def test_a_model_without_rows_to_delete_is_not_asked_about() -> None:
    nothing = [Found(PEOPLE, (), 0), Found(ENQUIRIES, rows(2, pointing=POINTING), 1)]
    assert confirm_rows(nothing, answering([])) == []


@pytest.mark.requirement("T5")
@given(answers=st.lists(st.text(max_size=6), min_size=8, max_size=8), data=st.data())
def test_only_a_plain_yes_deletes(answers: list[str], data: Any) -> None:
    keys = data.draw(st.sets(st.integers(1, 99), min_size=1, max_size=7))
    given_answers = dict(zip(sorted(keys), answers, strict=False))
    confirmed = confirm_rows([Found(ENQUIRIES, rows(*sorted(keys)), len(keys))], answering(given_answers.values()))
    meant = [key for key, answer in given_answers.items() if answer.strip().lower() in ("y", "yes")]
    assert confirmed == ([(ENQUIRIES, meant)] if meant else [])
