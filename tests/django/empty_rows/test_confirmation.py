"""Nothing goes unasked, and a row that may be meant is asked for by itself."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.django.empty_rows.confirmation import confirm, deletable
from handfast.django.empty_rows.pointing import PointingRows
from handfast.django.empty_rows.search import EmptyRow, Found
from tests.django.empty_rows.serializers import ENQUIRIES, PEOPLE

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
    assert confirm([found], answering(["yes\n"], asked)) == [(PEOPLE, [1, 2])]
    assert asked == ["Delete 2 of leftovers.Person (1, 2)? [yes/no/each] "]


def test_they_can_be_asked_for_one_by_one() -> None:
    asked: list[str] = []
    assert confirm([Found(PEOPLE, rows(1, 2, 3), 3)], answering(["each", "y", "no", "YES "], asked)) == [
        (PEOPLE, [1, 3])
    ]
    assert asked[1:] == [f"Delete leftovers.Person {key}? [yes/no] " for key in (1, 2, 3)]


def test_a_doubtful_row_is_always_asked_for_by_itself() -> None:
    asked: list[str] = []
    assert confirm([Found(ENQUIRIES, rows(1, 2), 2)], answering(["no", "yes"], asked)) == [(ENQUIRIES, [2])]
    assert asked == [f"Delete leftovers.Enquiry {key}? [yes/no] " for key in (1, 2)]


def test_a_row_that_others_point_at_is_only_asked_for_with_cascade() -> None:
    found = Found(ENQUIRIES, rows(1) + rows(2, pointing=POINTING), 2)
    assert confirm([found], answering(["yes"])) == [(ENQUIRIES, [1])]
    asked: list[str] = []
    assert confirm([found], answering(["no", "yes"], asked), cascade=True) == [(ENQUIRIES, [2])]
    assert asked[1] == "Delete leftovers.Enquiry 2 (2 leftovers.Answer.enquiry deleted with it)? [yes/no] "
    assert [row.pk for row in deletable(found, cascade=False)] == [1]


def test_a_model_without_rows_to_delete_is_not_asked_about() -> None:
    nothing = [Found(PEOPLE, (), 0), Found(ENQUIRIES, rows(2, pointing=POINTING), 1)]
    assert confirm(nothing, answering([])) == []


@pytest.mark.requirement("T5")
@given(answers=st.lists(st.text(max_size=6), min_size=8, max_size=8), data=st.data())
def test_only_a_plain_yes_deletes(answers: list[str], data: Any) -> None:
    keys = data.draw(st.sets(st.integers(1, 99), min_size=1, max_size=7))
    given_answers = dict(zip(sorted(keys), answers, strict=False))
    confirmed = confirm([Found(ENQUIRIES, rows(*sorted(keys)), len(keys))], answering(given_answers.values()))
    meant = [key for key, answer in given_answers.items() if answer.strip().lower() in ("y", "yes")]
    assert confirmed == ([(ENQUIRIES, meant)] if meant else [])
