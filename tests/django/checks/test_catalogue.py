"""Every id has one meaning, one level, and a line in the documents."""

import re

from scripts import document_checks

from handfast.django.checks.catalogue import MEANINGS, CheckFinding, CheckId, in_order, level_of
from handfast.django.discovery import ProblemId


def test_every_id_has_a_meaning_and_nothing_else_has() -> None:
    assert set(MEANINGS) == {str(one) for one in (*ProblemId, *CheckId)}


def test_no_id_is_used_twice() -> None:
    assert {str(one) for one in ProblemId} & {str(one) for one in CheckId} == set()


def test_an_id_says_its_level() -> None:
    assert all(re.fullmatch(r"handfast\.[EWI]\d{3}", one) for one in MEANINGS)
    assert [level_of(f"handfast.{letter}001") for letter in "EWI"] == ["error", "warning", "info"]


def test_errors_come_first_and_the_same_finding_once() -> None:
    note = CheckFinding("handfast.I001", "a", "h", "x")
    late, early = CheckFinding("handfast.W004", "a", "h", "z"), CheckFinding("handfast.W004", "a", "h", "y")
    error = CheckFinding("handfast.E010", "a", "h", "x")
    assert in_order([note, late, early, late, error]) == [error, early, late, note]


def test_the_table_of_checks_is_the_catalogue() -> None:
    page = document_checks.PAGE.read_text("utf-8")
    assert page == document_checks.with_table(page), "run: scripts/docs"
