"""The rule by which rows of a model are empty."""

import uuid
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from rest_framework import serializers, viewsets
from rest_framework.routers import SimpleRouter

from handfast.django.discovery import discover
from handfast.django.empty_rows.emptiness import (
    AlwaysFilled,
    DefaultValues,
    Emptiness,
    EmptyColumn,
    NoRows,
    NotJudged,
    Undecidable,
    Unsearchable,
    Writer,
    default_values_of,
    emptiness_by_model,
    emptiness_of,
)
from tests.django.discovery.calling import TOOLS
from tests.django.empty_rows.serializers import ENQUIRIES, PEOPLE, PersonSerializer, TicketSerializer, VisitSerializer
from tests.django.leftovers.models import Answer, Enquiry, Label, Person, Ticket, Visit

MADE_ANEW = Undecidable("has a default that is made for every row")


def count() -> int:
    raise AssertionError("a default that counts is never called")


@pytest.mark.parametrize(
    ("column", "rest"),
    [
        (models.CharField(), DefaultValues(("",))),
        (models.TextField(default="new"), DefaultValues(("new", ""))),
        (models.EmailField(null=True), DefaultValues(("",), nulls=True)),
        (models.FileField(), DefaultValues(("",))),
        (models.BinaryField(), DefaultValues((b"",))),
        (models.IntegerField(default=3), DefaultValues((3,))),
        (models.IntegerField(default="3"), DefaultValues((3,))),
        (models.IntegerField(null=True), DefaultValues(nulls=True)),
        (models.IntegerField(null=True, default=3), DefaultValues((3,), nulls=True)),
        (models.IntegerField(default=3, db_default=4), DefaultValues((3, 4))),
        (models.IntegerField(db_default=models.Value(4)), DefaultValues((4,))),
        (models.BooleanField(default=False), DefaultValues((False,))),
        (
            models.DecimalField(default=Decimal("0.00"), max_digits=4, decimal_places=2),
            DefaultValues((Decimal("0.00"),)),
        ),
        (models.DateField(null=True), DefaultValues(nulls=True)),
        (models.DateField(default=date(2026, 1, 1)), DefaultValues((date(2026, 1, 1),))),
        (models.JSONField(default=dict), DefaultValues(({},), json_null=True)),
        (models.JSONField(null=True), DefaultValues(nulls=True, json_null=True)),
        (models.GenericIPAddressField(null=True), DefaultValues(nulls=True)),
        (models.UUIDField(null=True), DefaultValues(nulls=True)),
    ],
)
def test_a_column_is_at_rest_at_its_default_blank_or_null(column: Any, rest: DefaultValues) -> None:
    assert default_values_of(column) == rest


@pytest.mark.parametrize(
    "column",
    [
        models.UUIDField(default=uuid.uuid4),
        models.DateTimeField(default=timezone.now),
        models.DateField(default=date.today),
        models.IntegerField(default=count),
        models.DateTimeField(db_default=Now()),
        models.DateTimeField(null=True, default=timezone.now),
    ],
)
def test_a_default_that_is_made_anew_tells_nothing_and_is_never_called(column: Any) -> None:
    assert default_values_of(column) == MADE_ANEW


def test_a_column_that_is_set_to_the_time_tells_nothing() -> None:
    assert default_values_of(models.DateTimeField(auto_now_add=True)) == Undecidable("is set to the time")
    assert default_values_of(models.DateField(auto_now=True)) == Undecidable("is set to the time")


@pytest.mark.parametrize(
    "column", [models.IntegerField(), models.DateField(), models.UUIDField(), models.BooleanField()]
)
def test_a_column_without_default_and_null_is_always_filled_in(column: Any) -> None:
    assert default_values_of(column) == AlwaysFilled()


def test_what_a_serializer_fills_in_counts_as_if_nobody_had_said_it() -> None:
    assert default_values_of(models.IntegerField(), 7) == DefaultValues((7,))
    assert default_values_of(models.IntegerField(default=3), 7, 3) == DefaultValues((3, 7))
    assert default_values_of(models.IntegerField(default=3), count) == MADE_ANEW


def test_a_default_that_the_column_does_not_take_tells_nothing() -> None:
    assert default_values_of(models.IntegerField(default="many")) == Undecidable(
        "has a default that it does not take itself"
    )


def test_every_writable_field_of_a_tool_must_be_at_rest() -> None:
    assert {one.name: one for one in ENQUIRIES.conditions} == {
        "name": EmptyColumn("name", DefaultValues(("",))),
        "email": EmptyColumn("email", DefaultValues(("",), nulls=True)),
        "source": EmptyColumn("source", DefaultValues(("web", ""))),
        "urgency": EmptyColumn("urgency", DefaultValues((3,))),
        "budget": ENQUIRIES.conditions[4],
        "is_open": EmptyColumn("is_open", DefaultValues((True,))),
        "due": EmptyColumn("due", DefaultValues(nulls=True)),
        "answers": EmptyColumn("answers", DefaultValues(({},), json_null=True)),
        "extra": EmptyColumn("extra", DefaultValues(nulls=True, json_null=True)),
        "attachment": EmptyColumn("attachment", DefaultValues(("",))),
        "labels": NoRows("labels", Enquiry.labels.through, "enquiry_id", "id"),
        "follows_id": EmptyColumn("follows_id", DefaultValues(nulls=True)),
    }


def test_what_does_not_tell_is_named_with_its_reason() -> None:
    assert ENQUIRIES.not_judged == (
        NotJudged("reference", "has a default that is made for every row", "reference"),
        NotJudged("received", "has a default that is made for every row", "received"),
        NotJudged("captcha", "is not a column"),
    )


def test_a_model_of_which_nothing_has_to_be_said_is_doubtful() -> None:
    assert (ENQUIRIES.is_doubtful, PEOPLE.is_doubtful) == (True, False)


def test_one_lenient_tool_makes_a_model_doubtful() -> None:
    class Lenient(PersonSerializer):
        email = serializers.CharField(required=False)
        first_name = serializers.CharField(required=False)

    found = emptiness_of(Person, [Writer("strict", PersonSerializer()), Writer("lenient", Lenient())])
    assert not isinstance(found, Unsearchable)
    assert (found.is_doubtful, found.tools) == (True, ("strict", "lenient"))


def test_a_row_that_must_belong_to_another_is_never_empty() -> None:
    found = emptiness_of(Visit, [Writer("visits__create", VisitSerializer())])
    assert found == Unsearchable(Visit, ("visits__create",), "no row can be without 'person'")


def test_a_model_without_a_telling_field_is_not_searched() -> None:
    found = emptiness_of(Ticket, [Writer("tickets__create", TicketSerializer())])
    why = "none of its fields shows whether it was filled in"
    assert found == Unsearchable(Ticket, ("tickets__create",), why)


def test_what_any_of_several_tools_can_fill_in_counts() -> None:
    class Names(serializers.ModelSerializer[Person]):
        class Meta:
            model = Person
            fields = ("first_name",)

    class Mails(serializers.ModelSerializer[Person]):
        address = serializers.CharField(source="email", default="none@example.com")

        class Meta:
            model = Person
            fields = ("address",)

    found = emptiness_of(Person, [Writer("names", Names()), Writer("mails", Mails())])
    assert not isinstance(found, Unsearchable)
    assert found.conditions == (
        EmptyColumn("first_name", DefaultValues(("",))),
        EmptyColumn("email", DefaultValues(("none@example.com", ""))),
    )


def test_rows_that_are_written_along_must_not_be_there() -> None:
    class AnswerSerializer(serializers.ModelSerializer[Answer]):
        class Meta:
            model = Answer
            fields = ("id",)

    class WithAnswers(serializers.ModelSerializer[Enquiry]):
        answer_set = AnswerSerializer(many=True)
        about = serializers.CharField(source="follows.name")

        class Meta:
            model = Enquiry
            fields = ("answer_set", "about")

    class Labelled(serializers.ModelSerializer[Label]):
        enquiry_set: Any = serializers.PrimaryKeyRelatedField(many=True, queryset=Enquiry.objects.all())

        class Meta:
            model = Label
            fields = ("enquiry_set",)

    found = emptiness_of(Enquiry, [Writer("enquiries__create", WithAnswers())])
    assert not isinstance(found, Unsearchable)
    assert found.conditions == (
        NoRows("answer_set", Answer, "enquiry_id", "id"),
        EmptyColumn("follows_id", DefaultValues(nulls=True)),
    )
    found = emptiness_of(Label, [Writer("labels__create", Labelled())])
    assert not isinstance(found, Unsearchable)
    assert found.conditions == (NoRows("enquiry_set", Enquiry.labels.through, "label_id", "id"),)


def rules(**viewsets_by_name: Any) -> list[tuple[str, tuple[str, ...]]]:
    router = SimpleRouter()
    for name, viewset in viewsets_by_name.items():
        router.register(name, viewset, basename=name)
    return [(rule.label, rule.tools) for rule in emptiness_by_model(discover(router.urls))]


class People(viewsets.ModelViewSet[Person]):
    queryset = Person.objects.all()
    serializer_class: Any = PersonSerializer


def test_every_model_that_a_create_tool_writes_is_there_once() -> None:
    found = {rule.label: (rule.tools, isinstance(rule, Emptiness)) for rule in emptiness_by_model(TOOLS.values())}
    assert found == {
        "project.Contact": (("contacts__create",), True),
        # Every device stands in a site.
        "project.Device": (("dcim__devices__create", "dcim__sites__devices__create"), False),
        "project.Rack": (("dcim__racks__create",), True),
    }


def test_what_only_reads_or_changes_makes_no_rows() -> None:
    class Reading(viewsets.ReadOnlyModelViewSet[Person]):
        queryset = Person.objects.all()
        serializer_class = PersonSerializer

    assert rules(reading=Reading) == []


def test_two_tools_of_one_model_are_one_rule() -> None:
    assert rules(people=People, others=People) == [("leftovers.Person", ("others__create", "people__create"))]


def test_a_plain_serializer_writes_the_model_of_its_view() -> None:
    class Plain(serializers.Serializer[Person]):
        first_name = serializers.CharField()

    class Views(People):
        serializer_class = Plain

    assert rules(people=Views) == [("leftovers.Person", ("people__create",))]


def test_a_serializer_of_no_model_is_left_out() -> None:
    class Plain(serializers.Serializer[Any]):
        text = serializers.CharField()

    class Views(viewsets.ModelViewSet[Any]):
        serializer_class = Plain

    assert rules(people=Views) == []


def test_rows_of_a_proxy_are_those_of_its_model() -> None:
    class Guest(Person):
        class Meta:
            proxy = True
            app_label = "leftovers_of_one_test"

    class GuestSerializer(serializers.ModelSerializer[Guest]):
        class Meta:
            model = Guest
            fields = ("email",)

    class Views(viewsets.ModelViewSet[Guest]):
        queryset: models.QuerySet[Guest] = Guest.objects.all()
        serializer_class = GuestSerializer

    assert rules(guests=Views) == [("leftovers.Person", ("guests__create",))]
