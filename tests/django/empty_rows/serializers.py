"""Serializers over the models that may be left empty."""

from typing import Any

from rest_framework import serializers

from handfast.django.empty_rows.emptiness import Emptiness, Writer, emptiness_of
from tests.django.leftovers.models import Enquiry, Person, Ticket, Visit


class EnquirySerializer(serializers.ModelSerializer[Enquiry]):
    captcha = serializers.CharField(write_only=True, required=False)

    class Meta:
        model = Enquiry
        fields = (
            *("id", "name", "email", "source", "urgency", "budget", "is_open", "due", "answers", "extra", "attachment"),
            *("labels", "follows", "reference", "received", "token", "created", "captcha"),
        )


class PersonSerializer(serializers.ModelSerializer[Person]):
    class Meta:
        model = Person
        fields = ("id", "email", "first_name", "last_name")


class VisitSerializer(serializers.ModelSerializer[Visit]):
    class Meta:
        model = Visit
        fields = ("id", "person", "note")


class TicketSerializer(serializers.ModelSerializer[Ticket]):
    class Meta:
        model = Ticket
        fields = ("code", "number", "issued")


def rule(model: Any, *serializers: Any) -> Emptiness:
    found = emptiness_of(model, [Writer(one.__name__, one()) for one in serializers])
    assert isinstance(found, Emptiness)
    return found


ENQUIRIES = rule(Enquiry, EnquirySerializer)
PEOPLE = rule(Person, PersonSerializer)
