"""The rule by which rows of a model are empty."""

from typing import Any

from rest_framework import serializers

from handfast.django.empty_rows.default_values import AtRest
from handfast.django.empty_rows.emptiness import EmptyColumn, NoRows, NotJudged, Unsearchable, Writer, emptiness_of
from tests.django.empty_rows.serializers import ENQUIRIES, PEOPLE, PersonSerializer, TicketSerializer, VisitSerializer
from tests.django.leftovers.models import Answer, Enquiry, Label, Person, Ticket, Visit


def test_every_writable_field_of_a_tool_must_be_at_rest() -> None:
    assert {one.name: one for one in ENQUIRIES.conditions} == {
        "name": EmptyColumn("name", AtRest(("",))),
        "email": EmptyColumn("email", AtRest(("",), nulls=True)),
        "source": EmptyColumn("source", AtRest(("web", ""))),
        "urgency": EmptyColumn("urgency", AtRest((3,))),
        "budget": ENQUIRIES.conditions[4],
        "is_open": EmptyColumn("is_open", AtRest((True,))),
        "due": EmptyColumn("due", AtRest(nulls=True)),
        "answers": EmptyColumn("answers", AtRest(({},), json_null=True)),
        "extra": EmptyColumn("extra", AtRest(nulls=True, json_null=True)),
        "attachment": EmptyColumn("attachment", AtRest(("",))),
        "labels": NoRows("labels", Enquiry.labels.through, "enquiry_id", "id"),
        "follows_id": EmptyColumn("follows_id", AtRest(nulls=True)),
    }


def test_what_does_not_tell_is_named_with_its_reason() -> None:
    assert ENQUIRIES.not_judged == (
        NotJudged("reference", "has a default that is made for every row", "reference"),
        NotJudged("received", "has a default that is made for every row", "received"),
        NotJudged("captcha", "is no column"),
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
    why = "none of its fields tells whether somebody filled it in"
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
        EmptyColumn("first_name", AtRest(("",))),
        EmptyColumn("email", AtRest(("none@example.com", ""))),
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
        EmptyColumn("follows_id", AtRest(nulls=True)),
    )
    found = emptiness_of(Label, [Writer("labels__create", Labelled())])
    assert not isinstance(found, Unsearchable)
    assert found.conditions == (NoRows("enquiry_set", Enquiry.labels.through, "label_id", "id"),)
