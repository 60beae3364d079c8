"""Finding empty rows in a real database."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection, models, transaction
from django.db.models import JSONField, Value
from django.test.utils import CaptureQueriesContext, isolate_apps
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handfast.django.empty_rows.search import PointingRows, _holds_key_of, created_column, find_empty_rows
from tests.django.empty_rows.serializers import ENQUIRIES, PEOPLE, EnquirySerializer
from tests.django.leftovers.models import Answer, Bill, Enquiry, Label, Person, Remark, Ticket
from tests.django.project.models import Rack

# What a caller may say of each field, besides nothing.
SAID: dict[str, Any] = {
    "name": "Ada",
    "email": "ada@example.com",
    "source": "phone",
    "urgency": 0,
    "budget": Decimal("0.01"),
    "is_open": False,
    "due": date(2026, 3, 1),
    "answers": {"a": None},
    "extra": False,
    "attachment": "a.txt",
}


pytestmark = pytest.mark.usefixtures("database")


def found_keys(**options: Any) -> list[int]:
    return [row.pk for row in find_empty_rows(ENQUIRIES, **options).rows]


@pytest.mark.requirement("T5")
def test_a_row_of_which_nothing_was_said_is_found() -> None:
    left = Enquiry.objects.create()
    Enquiry.objects.create(name="Ada")
    assert found_keys() == [left.pk]


@pytest.mark.requirement("T5")
@pytest.mark.parametrize("field", SAID)
def test_one_field_that_was_said_is_enough_to_leave_a_row_alone(field: str) -> None:
    Enquiry.objects.create(**{field: SAID[field]})
    assert found_keys() == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # each example rolls back what it did itself
@given(said=st.sets(st.sampled_from(sorted(SAID))), labelled=st.booleans(), follows=st.booleans())
def test_exactly_the_rows_without_anything_said_are_found(said: set[str], labelled: bool, follows: bool) -> None:
    with transaction.atomic():
        other = Enquiry.objects.create(name="another")
        row = Enquiry.objects.create(**{field: SAID[field] for field in said}, follows=other if follows else None)
        if labelled:
            row.labels.add(Label.objects.create(name="late"))
        assert found_keys() == ([] if said or labelled or follows else [row.pk])
        transaction.set_rollback(True)


def test_null_and_blank_are_nothing_however_they_are_stored() -> None:
    rows = [
        Enquiry.objects.create(email=""),
        Enquiry.objects.create(extra=Value(None, JSONField()), answers=Value(None, JSONField())),
        Enquiry.objects.create(source=""),
    ]
    assert found_keys() == [row.pk for row in rows]


def test_fields_that_nobody_sends_do_not_make_a_row_full() -> None:
    left = Enquiry.objects.create(token="abc", rank=3)
    (row,) = find_empty_rows(ENQUIRIES).rows
    assert (row.pk, row.created) == (left.pk, left.created)
    assert row.rest == {"reference": left.reference, "received": left.received, "token": "…", "rank": 3}


def test_a_relation_to_another_row_counts_as_said() -> None:
    first = Enquiry.objects.create(name="Ada")
    Enquiry.objects.create(follows=first)
    Enquiry.objects.create().labels.add(Label.objects.create(name="late"))
    assert found_keys() == []


def test_rows_that_point_at_it_are_counted_with_what_becomes_of_them() -> None:
    left = Enquiry.objects.create()
    for _ in range(2):
        Answer.objects.create(enquiry=left)
    Bill.objects.create(enquiry=left)
    Enquiry.objects.create(name="Ada", follows=left)
    Remark.objects.create(about=left)
    other_kind = ContentType.objects.get_for_model(Person)
    Remark.objects.create(kind=other_kind, row=str(left.pk))  # the same key, and another row
    (row,) = find_empty_rows(ENQUIRIES).rows
    assert set(row.pointing) == {
        PointingRows("leftovers.Answer.enquiry", 2, "deleted with it"),
        PointingRows("leftovers.Bill.enquiry", 1, "keep it from being deleted"),
        PointingRows("leftovers.Enquiry.follows", 1, "kept, without it"),
        PointingRows("leftovers.Remark.row", 1, "deleted with it"),
    }


def test_a_row_that_can_be_about_any_other_is_counted_where_nothing_leads_back_to_it() -> None:
    """Django would leave it pointing at nothing; a person should know before that."""
    left = Person.objects.create()
    Remark.objects.create(about=left)
    Remark.objects.create(kind=ContentType.objects.get_for_model(Enquiry), row=str(left.pk))
    (row,) = find_empty_rows(PEOPLE).rows
    assert row.pointing == (PointingRows("leftovers.Remark.row", 1, "left pointing at nothing"),)


@pytest.mark.parametrize(
    ("column", "model", "is_held"),
    [
        (models.CharField(), Ticket, True),
        (models.PositiveIntegerField(), Ticket, True),
        (models.UUIDField(), Ticket, False),
        (models.PositiveIntegerField(), Rack, False),
        (models.UUIDField(), Rack, True),
    ],
    ids=str,
)
def test_a_key_is_only_compared_with_what_can_hold_it(column: Any, model: Any, is_held: bool) -> None:
    assert _holds_key_of(column, model) == is_held
    with isolate_apps("tests.django.leftovers"):
        whole: Any = models.OneToOneField(model, models.CASCADE, primary_key=True, related_name="+")
        extending: Any = type("Half", (models.Model,), {"whole": whole, "__module__": "tests.django.leftovers.models"})
    assert _holds_key_of(column, extending) == is_held


def test_it_is_one_query_however_many_rows_there_are() -> None:
    Enquiry.objects.bulk_create([Enquiry() for _ in range(30)])
    with CaptureQueriesContext(connection) as queries:
        found = find_empty_rows(ENQUIRIES, limit=10)
    assert (len(queries), len(found.rows), found.total) == (1, 10, 30)


def test_no_rows_are_none() -> None:
    assert find_empty_rows(PEOPLE).rows == ()
    assert find_empty_rows(PEOPLE).total == 0


def test_only_rows_since_a_day_or_a_moment() -> None:
    old, new = Enquiry.objects.create(), Enquiry.objects.create()
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    Enquiry.objects.filter(pk=old.pk).update(created=moment - timedelta(days=1))
    Enquiry.objects.filter(pk=new.pk).update(created=moment)
    assert found_keys(since=date(2026, 3, 1)) == [new.pk]
    assert found_keys(since=datetime(2026, 3, 1, 12)) == [new.pk]
    assert found_keys(since=moment + timedelta(seconds=1)) == []
    assert found_keys(since=date(2026, 2, 28)) == [old.pk, new.pk]


def test_when_a_row_was_made_is_known_by_django_or_by_a_default() -> None:
    assert created_column(Enquiry) is Enquiry._meta.get_field("created")
    assert created_column(Person) is None
    assert created_column(Ticket) is None  # by the database, which nothing here can tell from a date in it


def test_a_wrapped_call_is_what_leaves_such_a_row() -> None:
    serializer = EnquirySerializer(data={"data": {"name": "Ada"}})
    assert serializer.is_valid()
    left = serializer.save()
    assert found_keys() == [left.pk]
    assert timezone.is_aware(left.created)
