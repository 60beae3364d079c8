"""Empty rows in words, and for programs."""

import json
from datetime import UTC, date, datetime
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder

from handfast.django.empty_rows.emptiness import Unsearchable
from handfast.django.empty_rows.removal import Removed
from handfast.django.empty_rows.report import as_json, removal_report, report_rows
from handfast.django.empty_rows.search import EmptyRow, Found, PointingRows
from tests.django.empty_rows.serializers import ENQUIRIES, PEOPLE
from tests.django.leftovers.models import Visit

KEY = UUID("6b7e67eb-0000-4000-8000-000000000000")
ANEW = "has a default that is made for every row"
MADE = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
POINTING = PointingRows("leftovers.Answer.enquiry", 2, "deleted with it")
FOUND = [
    Found(ENQUIRIES, (EmptyRow(KEY, MADE, (POINTING,), {"rank": 3, "received": date(2026, 3, 1)}),), 5),
    Found(PEOPLE, (EmptyRow(7, None, (), {}),), 1),
]
LEFT_OUT = [Unsearchable(Visit, ("visits__create",), "no row can be without 'person'")]


def test_a_person_sees_what_is_needed_to_decide() -> None:
    assert list(report_rows(FOUND, LEFT_OUT)) == [
        "leftovers.Enquiry (EnquirySerializer): 5 empty rows",
        "  doubtful: one can be made without any value, so they may be intended",
        f"  not judged: reference ({ANEW}), received ({ANEW}), captcha (is not a column)",
        f"  {KEY}  made 2026-03-01 12:30; rank=3 received=2026-03-01; 2 leftovers.Answer.enquiry deleted with it",
        "  and 4 more: see them with --limit 0",
        "leftovers.Person (PersonSerializer): 1 empty row",
        "  7",
        "leftovers.Visit: not searched, no row can be without 'person'",
    ]


def test_a_model_without_any_is_one_line() -> None:
    assert list(report_rows([Found(ENQUIRIES, (), 0)], [])) == ["leftovers.Enquiry (EnquirySerializer): 0 empty rows"]


def test_a_program_sees_the_same() -> None:
    written = json.loads(json.dumps(as_json(FOUND, LEFT_OUT), cls=DjangoJSONEncoder))
    assert written["models"][0]["rows"] == [
        {
            "pk": str(KEY),
            "created": "2026-03-01T12:30:00Z",
            "pointing": [{"by": "leftovers.Answer.enquiry", "count": 2, "fate": "deleted with it"}],
            "rest": {"rank": 3, "received": "2026-03-01"},
        }
    ]
    assert (written["models"][0]["total"], written["models"][0]["doubtful"]) == (5, True)
    assert written["models"][0]["not_judged"][2] == {"field": "captcha", "why": "is not a column"}
    assert written["not_searched"] == [
        {"model": "leftovers.Visit", "tools": ["visits__create"], "why": "no row can be without 'person'"}
    ]
    assert written["deleted"] is None


def test_what_was_deleted_is_said_with_what_went_along() -> None:
    removed = Removed({"leftovers.Enquiry": 2}, {"leftovers.Answer": 3})
    assert as_json([], [], removed)["deleted"] == {"rows": removed.rows, "with_them": removed.with_them}
    assert list(removal_report(removed)) == [
        "deleted: 2 of leftovers.Enquiry",
        "deleted with them: 3 of leftovers.Answer",
    ]
