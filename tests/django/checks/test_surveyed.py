"""What is found in a whole project."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from handfast.django.checks.catalogue import CheckId
from handfast.django.checks.surveyed import surveyed_findings
from handfast.django.discovery import ProblemId, survey


def test_discoverys_problems_are_among_the_findings() -> None:
    found = survey()
    told = [(one.id, one.message, one.hint, one.where) for one in surveyed_findings(found)]
    problems = [(one.id, one.message, one.hint, one.where) for one in found.problems]
    assert problems
    assert [one for one in told if one[0] in set(ProblemId)] == problems


def test_an_ordinary_project_is_only_told_that_anybody_may_write() -> None:
    warnings = {one.id for one in surveyed_findings(survey()) if one.level != "info"}
    assert warnings == {CheckId.OPEN_TO_ALL}


def test_it_costs_no_query(database: None) -> None:
    found = survey()
    with CaptureQueriesContext(connection) as queries:
        surveyed_findings(found)
    assert len(queries) == 0
