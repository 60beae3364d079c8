"""Rows that are named by a text."""

from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from rest_framework import serializers

from handfast.django.invocation.rows.by_fields import NoRow
from handfast.django.invocation.rows.by_text import row_by_text
from tests.django.depot.models import Depot, Line, Tag
from tests.django.project.models import Rack
from tests.django.project.models import Tag as KeyTag


class LinkedRow(serializers.HyperlinkedRelatedField[Any]):
    view_name = "depot-detail"


def by_key(rows: QuerySet[Any]) -> Any:
    return serializers.PrimaryKeyRelatedField(queryset=rows)


def by_slug(rows: QuerySet[Any]) -> Any:
    return serializers.SlugRelatedField(slug_field="slug", queryset=rows)


def by_link(rows: QuerySet[Any]) -> Any:
    return LinkedRow(queryset=rows)


@pytest.mark.parametrize("field", [by_key, by_slug, by_link])
def test_a_text_finds_a_row_by_its_name(field: Any) -> None:
    north = Depot.objects.create(name="North", slug="n")
    rows = Depot.objects.all()
    with CaptureQueriesContext(connection) as queries:
        assert row_by_text(field(rows), rows, "North") == north
    assert len(queries) == 1


def test_a_key_comes_before_a_name() -> None:
    first = Depot.objects.create(name="a", slug="b")
    Depot.objects.create(name=str(first.pk), slug="c")
    Depot.objects.create(name="b", slug="d")
    rows = Depot.objects.all()
    assert row_by_text(by_key(rows), rows, str(first.pk)) == first
    assert row_by_text(by_slug(rows), rows, "b") == first
    assert row_by_text(by_key(rows), rows, "d") == Depot.objects.get(name="b")
    tenth = Depot.objects.create(pk=10, name="ten", slug="t")
    named = Depot.objects.create(name="1_0", slug="e")
    assert row_by_text(by_key(rows), rows, "1_0") == named
    assert row_by_text(by_key(rows), rows, "10") == tenth


@pytest.mark.parametrize(
    ("field", "rows", "text"),
    [
        (by_key, Line.objects.all(), "12"),
        (by_key, Line.objects.all(), "nothing has a name"),
        (by_key, KeyTag.objects.all(), "red"),
        (by_key, Rack.objects.all(), "5dd2e5a5-0a0e-4a2b-9d63-4c1c7e8d6f10"),
        (by_link, Depot.objects.all(), "/api/depots/1/"),
        (by_link, Depot.objects.all(), "https://depot.example/api/depots/1/"),
    ],
)
def test_what_only_the_field_can_read_costs_no_query(field: Any, rows: Any, text: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert row_by_text(field(rows), rows, text) is None
    assert len(queries) == 0


@pytest.mark.parametrize(
    ("field", "rows", "text", "problem"),
    [
        (by_key, Depot.objects.all(), "East", "no depot was found by 'name' or 'slug'"),
        (by_key, Depot.objects.all(), "99", "no depot was found by 'id', 'name' or 'slug'"),
        (by_slug, Depot.objects.all(), "east", "no depot was found by 'slug' or 'name'"),
        (by_link, Depot.objects.all(), "East", "no depot was found by 'name' or 'slug'"),
        (by_key, Tag.objects.all(), "red", "12 tags were found by 'name'; send the id of one of them"),
        (by_key, Tag.objects.none(), "red", "no tag was found by 'name'"),
    ],
)
def test_what_finds_no_row_says_by_which_fields_and_how_many(field: Any, rows: Any, text: str, problem: str) -> None:
    Tag.objects.bulk_create(Tag(name="red") for _ in range(12))
    with pytest.raises(NoRow) as refused:
        row_by_text(field(rows), rows, text)
    assert str(refused.value) == problem


def test_a_key_with_a_form_of_its_own_is_read_in_it() -> None:
    north = Depot.objects.create(name="North", slug="n")
    rows = Depot.objects.all()

    class Marked(serializers.IntegerField):
        def to_internal_value(self, data: Any) -> int:
            return super().to_internal_value(str(data).removeprefix("D"))

    field: Any = serializers.PrimaryKeyRelatedField(queryset=rows, pk_field=Marked())
    assert row_by_text(field, rows, f"D{north.pk}") == north
    assert row_by_text(field, rows, "North") == north
