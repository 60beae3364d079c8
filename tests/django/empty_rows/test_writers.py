"""Which models the create tools of a project write."""

from typing import Any

from django.db import models
from rest_framework import serializers, viewsets
from rest_framework.routers import SimpleRouter

from handfast.django.discovery import discover
from handfast.django.empty_rows.emptiness import Emptiness
from handfast.django.empty_rows.writers import emptiness_by_model
from tests.django.discovery.calling import TOOLS
from tests.django.empty_rows.serializers import PersonSerializer
from tests.django.leftovers.models import Person


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
