"""Rows that are named by an object of their fields."""

from typing import Any

import pytest

from handfast.django.invocation.rows.by_fields import NoRow, row_by_fields
from tests.django.depot.models import Depot, Shelf, Tag


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
        ({"id": "one"}, "'id' is no value that this field can have"),
        ({"label": ["1", "2"]}, "'label' is no value that this field can have"),
        ({"label": {"gt": "1"}}, "'label' is no value that this field can have"),
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
