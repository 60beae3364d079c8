"""Every filter of django-filter as a parameter, and what really comes of it."""

from typing import Any

import django_filters
import pytest
from django import forms
from django_filters.rest_framework import DjangoFilterBackend, FilterSet
from rest_framework import generics

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.parameters.filtersets import filterset_parameters
from handfast.django.discovery.problems import DiscoveryProblems
from handfast.django.discovery.tool import QueryParameter
from handfast.django.discovery.views.bare_view import ask_view, bare_view
from handfast.django.discovery.views.guarded_calls import without_database
from handfast.django.discovery.views.operations import find_view, operations_of
from tests.django.discovery.calling import TOOLS, call
from tests.django.project.models import Device, Rack, Site, Tag
from tests.django.project.serializers import DeviceSerializer


def parameters(**options: Any) -> list[QueryParameter]:
    own = {"queryset": Device.objects.all(), "serializer_class": DeviceSerializer, **options}
    view: Any = type("Some", (generics.ListAPIView,), own)
    found = find_view(view.as_view())
    assert found is not None
    operation = operations_of(found)[0]
    asked = ask_view(found, operation, bare_view(found, operation, []), DiscoveryProblems())
    with without_database():
        return list(filterset_parameters(DjangoFilterBackend(), asked))


def described_by(one: Any) -> list[QueryParameter]:
    meta = type("Meta", (), {"model": Device, "fields": []})
    return parameters(filterset_class=type("Some", (FilterSet,), {"one": one, "Meta": meta}))


STRING: Json = {"type": "string"}
CHOICES = [("a", "Alpha"), ("Group", [("b", "b")])]


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (django_filters.CharFilter(field_name="name"), [("one", STRING)]),
        (
            django_filters.CharFilter(field_name="name", lookup_expr="istartswith", label="Its name"),
            [("one", {**STRING, "description": "Its name. Begins with this, in any case."})],
        ),
        (
            django_filters.CharFilter(field_name="name", exclude=True),
            [("one", {**STRING, "description": "Leaves out what matches."})],
        ),
        (django_filters.BooleanFilter(field_name="is_on"), [("one", {"type": "boolean"})]),
        (django_filters.NumberFilter(field_name="price"), [("one", {"type": "number"})]),
        (django_filters.NumberFilter(field_name="height"), [("one", {"type": "integer"})]),
        (django_filters.DateFilter(field_name="bought"), [("one", {**STRING, "format": "date"})]),
        (django_filters.DateTimeFilter(field_name="racked"), [("one", {**STRING, "format": "date-time"})]),
        (
            django_filters.NumberFilter(field_name="bought", lookup_expr="year"),
            [("one", {"type": "integer", "minimum": 2, "maximum": 9998})],
        ),
        (
            django_filters.NumberFilter(field_name="racked", lookup_expr="iso_year__gt"),
            [("one", {"type": "integer", "minimum": 2, "maximum": 9998, "description": "More than this."})],
        ),
        (django_filters.TimeFilter(field_name="racked"), [("one", {**STRING, "examples": ["14:30:00"]})]),
        (django_filters.DurationFilter(field_name="racked"), [("one", {**STRING, "examples": ["1 02:30:00"]})]),
        (django_filters.UUIDFilter(field_name="rack__id"), [("one", {**STRING, "format": "uuid"})]),
        (
            django_filters.ChoiceFilter(choices=CHOICES),
            [("one", {**STRING, "enum": ["a", "b"], "description": "a = Alpha."})],
        ),
        (
            django_filters.ChoiceFilter(choices=[("a", "a")], null_label="none"),
            [("one", {**STRING, "enum": ["null", "a"], "description": "null = none."})],
        ),
        (
            django_filters.MultipleChoiceFilter(choices=[(1, "1"), (2, "2")]),
            [("one", {"type": "array", "items": {"type": "integer", "enum": [1, 2]}})],
        ),
        (django_filters.ModelChoiceFilter(queryset=Site.objects.all()), [("one", {"type": "integer"})]),
        (
            django_filters.ModelChoiceFilter(queryset=Site.objects.all(), to_field_name="slug"),
            [("one", STRING)],
        ),
        (
            django_filters.ModelChoiceFilter(queryset=Rack.objects.all(), null_label="none"),
            [("one", {"anyOf": [{**STRING, "format": "uuid"}, {"const": "null"}]})],
        ),
        (
            django_filters.ModelMultipleChoiceFilter(queryset=lambda request: Tag.objects.all()),
            [("one", {"type": "array", "items": STRING})],
        ),
        (
            django_filters.RangeFilter(field_name="price"),
            [
                ("one_min", {"type": "number", "description": "This or more."}),
                ("one_max", {"type": "number", "description": "This or less."}),
            ],
        ),
        (
            django_filters.DateFromToRangeFilter(field_name="bought", help_text="When it was bought."),
            [
                ("one_after", {**STRING, "format": "date", "description": "When it was bought. From this on."}),
                ("one_before", {**STRING, "format": "date", "description": "When it was bought. Up to this."}),
            ],
        ),
        (
            django_filters.LookupChoiceFilter(
                field_name="price", field_class=forms.DecimalField, lookup_choices=[("gt", "gt"), ("lt", "lt")]
            ),
            [
                ("one", {"type": "number"}),
                (
                    "one_lookup",
                    {**STRING, "enum": ["gt", "lt"], "description": "How the value beside it is compared."},
                ),
            ],
        ),
        (
            django_filters.DateRangeFilter(field_name="bought"),
            [
                (
                    "one",
                    {
                        **STRING,
                        "enum": ["today", "yesterday", "week", "month", "year"],
                        "description": "week = Past 7 days, month = This month, year = This year.",
                    },
                )
            ],
        ),
        (django_filters.AllValuesFilter(field_name="name"), [("one", STRING)]),
        (django_filters.AllValuesFilter(field_name="height"), [("one", {"type": "integer"})]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, django_filters.Filter) else "",
)
def test_a_filter_is_a_parameter_of_its_own_kind(one: Any, found: list[tuple[str, Json]]) -> None:
    assert [(parameter.name, parameter.schema) for parameter in described_by(one)] == found
    assert {parameter.style for parameter in described_by(one)} == {"repeat"}


class Numbers(django_filters.BaseInFilter, django_filters.NumberFilter): ...


class Words(django_filters.BaseInFilter, django_filters.CharFilter): ...


class Between(django_filters.BaseRangeFilter, django_filters.DateFilter): ...


@pytest.mark.parametrize(
    ("one", "schema"),
    [
        (
            Numbers(field_name="height", lookup_expr="in"),
            {"type": "array", "items": {"type": "integer"}, "minItems": 1, "description": "Is one of these."},
        ),
        (
            Words(field_name="name", lookup_expr="in"),
            {
                "type": "array",
                "items": {**STRING, "pattern": "^[^,]*$"},
                "minItems": 1,
                "description": "Is one of these.",
            },
        ),
        (
            Between(field_name="bought", lookup_expr="range"),
            {
                "type": "array",
                "items": {**STRING, "format": "date"},
                "minItems": 2,
                "maxItems": 2,
                "description": "Lies between these two.",
            },
        ),
        (
            django_filters.OrderingFilter(fields=[("price", "cost")]),
            {
                "type": "array",
                "items": {**STRING, "enum": ["cost", "-cost"]},
                "minItems": 1,
                "description": "Ordering.",
            },
        ),
    ],
)
def test_several_values_are_a_list_that_is_written_with_commas(one: Any, schema: Json) -> None:
    assert described_by(one) == [QueryParameter("one", schema, "comma")]


def test_fields_of_a_view_are_filters_too() -> None:
    found = parameters(filterset_fields={"bought": ["exact", "gte"], "site__name": ["icontains"]})
    assert [(one.name, one.schema) for one in found] == [
        ("bought", {**STRING, "format": "date"}),
        ("bought__gte", {**STRING, "format": "date", "description": "This or more."}),
        ("site__name__icontains", {**STRING, "description": "Contains this, in any case."}),
    ]


def test_a_required_filter_is_required() -> None:
    assert [one.is_required for one in described_by(django_filters.CharFilter(field_name="name", required=True))] == [
        True
    ]


def test_a_view_without_filters_has_none() -> None:
    assert parameters() == []


# --- what comes of it ------------------------------------------------------------------------------------------------


def names(**arguments: Any) -> list[str]:
    status, answer = call(TOOLS["dcim__devices__list"], {**arguments, "limit": 50})
    assert status == 200, answer
    return sorted(device["name"] for device in answer["results"])


def test_every_kind_of_filter_chooses_rows(database: None) -> None:
    rack, tags = Rack.objects.create(label="A1"), [Tag.objects.create(name=name) for name in ("new", "old")]
    sites = [Site.objects.create(name=name, slug=name) for name in ("hq", "lab")]
    for number, name in enumerate(("a", "b", "c")):
        device = Device.objects.create(
            name=name, site=sites[number % 2], height=number, price=number * 10, is_on=number == 2
        )
        device.tags.set(tags[:number])
    Device.objects.filter(name="a").update(rack=rack, weight=2)
    assert names() == ["a", "b", "c"]
    assert names(name__in=["a", "c"]) == ["a", "c"]
    assert names(site=sites[1].pk) == ["b"]
    assert names(rack=str(rack.pk)) == names(rack__isnull=False) == names(weight=2) == ["a"]
    assert names(tags=["old"]) == ["c"]
    assert names(tags=["new", "old"]) == ["b", "c"]
    assert names(height__gte=1) == names(height__range=[1, 2]) == names(price_min=5) == ["b", "c"]
    assert names(is_on=True) == names(price_min=15, price_max=25) == ["c"]
    assert names(label="B") == ["b"]
    status, answer = call(TOOLS["dcim__devices__list"], {"o": ["-cost", "name"], "limit": 2})
    assert (status, [device["name"] for device in answer["results"]]) == (200, ["c", "b"])
