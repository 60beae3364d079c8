"""By which fields a row may be looked up."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.sessions.models import Session

from handfast.django.discovery.schemas.model_values import Model
from handfast.django.invocation.rows.lookup_fields import as_stored, lookup_columns, naming_columns
from tests.django.depot.models import Crate, Depot, Line, Shelf, Tag
from tests.django.project.models import Device, Rack


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
