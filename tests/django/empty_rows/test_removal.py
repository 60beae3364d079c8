"""Taking empty rows away, and leaving everything else as it is."""

import pytest

from handfast.django.empty_rows.removal import RemovalRefused, Removed, remove
from tests.django.empty_rows.serializers import ENQUIRIES, PEOPLE
from tests.django.leftovers.models import Answer, Bill, Enquiry, Person, Remark, Visit

pytestmark = pytest.mark.usefixtures("database")


@pytest.mark.requirement("T5")
def test_only_the_rows_that_were_confirmed_go() -> None:
    first, second, other = Enquiry.objects.create(), Enquiry.objects.create(), Enquiry.objects.create(name="Ada")
    ghost = Person.objects.create()
    assert remove([(ENQUIRIES, [first.pk]), (PEOPLE, [ghost.pk])]) == Removed(
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
        remove([(PEOPLE, [ghost.pk]), (ENQUIRIES, [first.pk, second.pk])])
    assert str(refused.value) == (f"leftovers.Enquiry {second.pk}: not an empty row any more. Look again, then delete.")
    assert (Enquiry.objects.count(), Person.objects.count()) == (2, 1)


def test_a_row_that_others_point_at_stays_without_cascade() -> None:
    left = Enquiry.objects.create()
    Answer.objects.create(enquiry=left)
    with pytest.raises(RemovalRefused) as refused:
        remove([(ENQUIRIES, [left.pk])])
    assert str(refused.value) == (
        f"leftovers.Enquiry {left.pk}: other rows point at it (1 leftovers.Answer.enquiry). Add --cascade."
    )
    assert (Enquiry.objects.count(), Answer.objects.count()) == (1, 1)


def test_with_cascade_it_says_what_went_with_it() -> None:
    left = Enquiry.objects.create()
    follower = Enquiry.objects.create(name="Ada", follows=left)
    Answer.objects.create(enquiry=left)
    Remark.objects.create(about=left)
    removed = remove([(ENQUIRIES, [left.pk])], cascade=True)
    assert removed == Removed({"leftovers.Enquiry": 1}, {"leftovers.Answer": 1, "leftovers.Remark": 1})
    follower.refresh_from_db()
    assert follower.follows is None


def test_a_row_that_is_protected_stays_even_with_cascade() -> None:
    left = Enquiry.objects.create()
    Bill.objects.create(enquiry=left)
    ghost = Person.objects.create()
    Visit.objects.create(person=ghost)
    with pytest.raises(RemovalRefused) as refused:
        remove([(PEOPLE, [ghost.pk]), (ENQUIRIES, [left.pk])], cascade=True)
    assert str(refused.value) == "leftovers.Enquiry: rows of leftovers.Bill keep a row from being deleted."
    assert (Person.objects.count(), Visit.objects.count(), Enquiry.objects.count()) == (1, 1, 1)
