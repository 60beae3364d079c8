"""By which fields a row may be looked up."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.sessions.models import Session
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from rest_framework import serializers

from handfast.django.discovery.schemas.model_values import Model
from handfast.django.invocation.named_rows import (
    NoRow,
    as_stored,
    lookup_columns,
    naming_columns,
    row_by_fields,
    row_by_text,
)
from tests.django.depot.models import Crate, Depot, Line, Shelf, Tag
from tests.django.project.models import Device, Rack
from tests.django.project.models import Tag as KeyTag


@pytest.mark.parametrize(
    ("model", "columns"),
    [
        (Depot, {"id", "pk", "name", "slug"}),  # not the token of its door, nor what nobody goes by
        (Shelf, {"id", "pk", "depot", "label"}),
        (Tag, {"id", "pk", "name"}),
        (Crate, {"id", "pk", "code"}),
        (Line, {"id", "pk"}),
        (User, {"id", "pk", "username"}),
        (Permission, {"id", "pk", "name", "content_type", "codename"}),
        (Session, {"session_key", "pk"}),
        (Device, {"id", "pk", "name"}),
        (Rack, {"id", "pk"}),
    ],
)
def test_only_what_identifies_a_row_finds_it(model: Model, columns: set[str]) -> None:
    assert set(lookup_columns(model)) == columns


@pytest.mark.parametrize(("model", "names"), [(Depot, ["name", "slug"]), (Tag, ["name"]), (Line, []), (Rack, [])])
def test_a_text_may_be_meant_for_a_name(model: Model, names: list[str]) -> None:
    assert [column.name for column in naming_columns(model)] == names


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (Depot, "id", "one"),
        (Depot, "id", True),
        (Depot, "name", ["a"]),
        (Depot, "name", {"a": 1}),
        (Depot, "name", "a\0b"),
        (Shelf, "depot", "one"),
        (Rack, "id", "no-uuid"),
    ],
)
def test_what_a_column_cannot_hold_is_not_asked_for(model: Model, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        as_stored(lookup_columns(model)[name], value)


def test_values_are_read_as_the_column_has_them() -> None:
    assert as_stored(lookup_columns(Depot)["id"], "7") == 7
    assert as_stored(lookup_columns(Depot)["name"], 7) == "7"
    assert as_stored(lookup_columns(Shelf)["depot"], 7) == 7


@pytest.fixture
def shelves() -> list[Shelf]:
    north, south = (Depot.objects.create(name=name, slug=name.lower()) for name in ("North", "South"))
    return [Shelf.objects.create(depot=depot, label=label) for depot in (north, south) for label in ("1", "2")]


def test_a_row_is_found_by_what_identifies_it(shelves: list[Shelf]) -> None:
    third = shelves[2]
    for value in (
        {"id": third.pk},
        {"pk": str(third.pk)},
        {"depot": third.depot.pk, "label": "1"},
        {"depot": {"name": "South"}, "label": "1"},
        {"depot": {"slug": "south", "name": "South"}, "label": 1},
    ):
        assert row_by_fields(Shelf.objects.all(), value) == third


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"label": "9"}, "no shelf was found by 'label'"),
        ({"label": "1"}, "2 shelves were found by 'label'; send what only one of them has, such as its id"),
        ({"depot": {"name": "East"}, "label": "1"}, "no shelf was found by 'depot' and 'label'"),
        ({"id": 10**30}, "no shelf was found by 'id'"),
        ({"id": "one"}, "'id' is not a value that this field can have"),
        ({"label": ["1", "2"]}, "'label' is not a value that this field can have"),
        ({"label": {"gt": "1"}}, "'label' is not a value that this field can have"),
        ({"depot": {"label": "1"}}, "depots cannot be looked up by 'label', only by 'id', 'name' and 'slug'"),
        (
            {"depot": {"door_token": "secret"}},
            "depots cannot be looked up by 'door_token', only by 'id', 'name' and 'slug'",
        ),
        ({"depot": {"rating": 5}}, "depots cannot be looked up by 'rating', only by 'id', 'name' and 'slug'"),
        ({"depot": {}}, "depots cannot be looked up by this object, only by 'id', 'name' and 'slug'"),
        ({"label__gt": "0"}, "shelves cannot be looked up by 'label__gt', only by 'id', 'depot' and 'label'"),
        ({"crate": 1}, "shelves cannot be looked up by 'crate', only by 'id', 'depot' and 'label'"),
        ({"depot__name": "North"}, "shelves cannot be looked up by 'depot__name', only by 'id', 'depot' and 'label'"),
        ({"a" * 99: 1}, f"shelves cannot be looked up by '{'a' * 64}…', only by 'id', 'depot' and 'label'"),
    ],
)
def test_what_finds_no_row_says_by_which_fields_and_how_many(
    shelves: list[Shelf], value: dict[str, Any], problem: str
) -> None:
    with pytest.raises(NoRow) as refused:
        row_by_fields(Shelf.objects.all(), value)
    assert str(refused.value) == problem


def test_only_rows_of_the_queryset_are_found(shelves: list[Shelf]) -> None:
    with pytest.raises(NoRow, match=r"^no shelf was found by 'id'$"):
        row_by_fields(Shelf.objects.filter(label="2"), {"id": shelves[0].pk})


def test_a_name_need_not_be_unique() -> None:
    tag = Tag.objects.create(name="red")
    assert row_by_fields(Tag.objects.all(), {"name": "red"}) == tag


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
def test_a_text_that_finds_no_row_says_by_which_fields_and_how_many(
    field: Any, rows: Any, text: str, problem: str
) -> None:
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
