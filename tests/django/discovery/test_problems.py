"""Problems are data: told once, in order, with stable ids."""

from typing import Any

from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from handfast.django.discovery.problems import DiscoveryProblem, DiscoveryProblems, ProblemId, dotted_name


def test_the_same_problem_is_told_once_and_errors_come_first() -> None:
    findings = DiscoveryProblems()
    findings.add(ProblemId.LEFT_OUT, "a", hint="h", where="z")
    findings.add(ProblemId.FIELD_OPEN, "b", hint="h", where="y")
    findings.add(ProblemId.FIELD_OPEN, "b", hint="h", where="x")
    findings.add(ProblemId.FIELD_OPEN, "b", hint="h", where="x")
    findings.add(ProblemId.NAME_TAKEN, "c", hint="h", where="w")
    assert findings.sorted() == (
        DiscoveryProblem(ProblemId.NAME_TAKEN, "c", "h", "w"),
        DiscoveryProblem(ProblemId.FIELD_OPEN, "b", "h", "x"),
        DiscoveryProblem(ProblemId.FIELD_OPEN, "b", "h", "y"),
        DiscoveryProblem(ProblemId.LEFT_OUT, "a", "h", "z"),
    )


def test_ids_never_change() -> None:
    assert {each.name: each.value for each in ProblemId} == {
        "NAME_TAKEN": "handfast.E001",
        "VIEW_UNUSABLE": "handfast.E002",
        "ADDRESS_UNCLEAR": "handfast.E003",
        "WRITE_UNKNOWN": "handfast.E004",
        "SERIALIZER_UNKNOWN": "handfast.W001",
        "SERIALIZER_UNUSABLE": "handfast.W002",
        "INPUT_UNKNOWN": "handfast.W003",
        "FIELD_OPEN": "handfast.W004",
        "OUTPUT_REWRITTEN": "handfast.W005",
        "FILTERS_UNKNOWN": "handfast.W006",
        "PAGES_UNKNOWN": "handfast.W007",
        "PATTERN_UNMATCHED": "handfast.W008",
        "LEFT_OUT": "handfast.I001",
        "RESULT_OPEN": "handfast.I002",
        "NAME_SHORTENED": "handfast.I003",
        "NAME_LONG": "handfast.I004",
        "FIELDS_STORED": "handfast.I005",
    }


def test_a_class_is_named_as_one_would_import_it() -> None:
    assert dotted_name(DiscoveryProblems) == "handfast.django.discovery.problems.DiscoveryProblems"


def test_a_function_is_named_as_its_author_knows_it() -> None:
    @api_view(["GET"])
    def ping(request: Request) -> Response:
        return Response()

    made: Any = ping  # Any: what @api_view puts on a function is in no stub
    assert dotted_name(made.cls) == "tests.django.discovery.test_problems.ping"
    assert dotted_name(Response) == "rest_framework.response.Response"
