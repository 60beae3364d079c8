"""What a model's attributes hold, along a source: nothing is promised that the models do not promise."""

from typing import Any

import pytest
from django.db import models
from django.test import override_settings
from django.test.utils import isolate_apps

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.schemas.model_values import (
    Reached,
    column_schema,
    datetime_schema,
    follow,
    identifying_names,
    is_secret_column,
    key_schema,
    lookup_schema,
)
from tests.django.project.models import Contact, Device, Profile, Rack, Site, Tag


@pytest.mark.parametrize(
    ("column", "schema"),
    [
        (models.BooleanField(), {"type": "boolean"}),
        (models.BigAutoField(), {"type": "integer"}),
        (models.PositiveSmallIntegerField(), {"type": "integer"}),
        (models.FloatField(), {"type": "number"}),
        (models.DecimalField(), {"type": "number"}),
        (models.SlugField(), {"type": "string"}),
        (models.TextField(), {"type": "string"}),
        (models.GenericIPAddressField(), {"type": "string"}),
        (models.DateField(), {"type": "string", "format": "date"}),
        (models.DateTimeField(), {"type": "string", "format": "date-time"}),
        (models.TimeField(), {"type": "string"}),
        (models.UUIDField(), {"type": "string", "format": "uuid"}),
        (models.JSONField(), {}),
        (models.BinaryField(), {}),
        (models.FileField(), {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_column_is_sent_as_its_own_kind(column: Any, schema: Json) -> None:
    assert column_schema(column) == schema


class Listed(models.TextField):  # type: ignore[type-arg]  # only the stubs have parameters
    def from_db_value(self, value: Any, *_: Any) -> Any:
        return value.split(",")


class Slugs(models.SlugField):  # type: ignore[type-arg]  # as above
    def pre_save(self, model_instance: Any, add: bool) -> Any:
        return "made"


def test_a_column_that_makes_something_else_of_its_value_is_open() -> None:
    assert (column_schema(Listed()), column_schema(Slugs())) == ({}, {"type": "string"})


def test_an_object_that_no_constraint_holds_may_be_gone() -> None:
    with isolate_apps("tests.django.project"):

        class Note(models.Model):
            contact: Any = models.ForeignKey(Contact, models.DO_NOTHING, db_constraint=False, related_name="+")
            site: Any = models.ForeignKey(Site, models.CASCADE, related_name="+")

            class Meta:
                app_label = "project"

        assert follow(Note, ["contact"]).may_be_null
        assert not follow(Note, ["contact_id"]).may_be_null
        assert not follow(Note, ["site"]).may_be_null
        assert follow(Note, ["contact", "email"]).may_be_missing


def test_a_moment_without_an_offset_is_no_date_time() -> None:
    with override_settings(USE_TZ=False):
        assert (datetime_schema(), datetime_schema(is_aware=True)["format"]) == ({"type": "string"}, "date-time")


def test_keys_are_those_of_the_models() -> None:
    assert [key_schema(model) for model in (Contact, Rack, Tag, None)] == [
        {"type": "integer"},
        {"type": "string", "format": "uuid"},
        {"type": "string"},
        {"type": ["integer", "string"]},
    ]


STRING: Json = {"type": "string"}


@pytest.mark.parametrize(
    ("model", "source", "schema", "may_be_null", "may_be_missing"),
    [
        (Device, "name", STRING, False, False),
        (Device, "pk", {"type": "integer"}, False, False),
        (Device, "bought", {"type": "string", "format": "date"}, True, False),
        (Device, "site", {}, False, False),
        (Device, "site_id", {"type": "integer"}, False, False),
        (Device, "rack", {}, True, False),
        (Device, "site.name", STRING, False, False),
        (Device, "rack.label", STRING, True, True),
        (Device, "site.region.name", STRING, True, True),
        (Device, "tags", {}, False, False),
        (Device, "name.upper", {}, True, True),
        (Site, "devices", {}, False, False),
        (Site, "device", {}, True, True),
        (Contact, "profile", {}, True, False),
        (Contact, "profile.motto", STRING, True, True),
        (Contact, "full_name", STRING, False, False),
        (Contact, "initials", {}, True, False),
        (Contact, "get_status_display", STRING, False, False),
        (Device, "get_weight_display", {"type": ["string", "integer"]}, False, False),
        (Contact, "get_full_name", {}, True, True),
        (Profile, "contact.email", STRING, False, False),
        (Contact, "nothing", {}, True, True),
    ],
)
def test_a_source_is_followed(model: Any, source: str, schema: Json, may_be_null: bool, may_be_missing: bool) -> None:
    reached = follow(model, source.split("."))
    assert (reached.schema, reached.may_be_null, reached.may_be_missing) == (schema, may_be_null, may_be_missing)


def test_relations_lead_to_their_models() -> None:
    sources = ["site", "tags", "site.region", "site.devices", "name"]
    found = [follow(Device, source.split(".")).related for source in sources]
    assert found == [Site, Tag, Site, Device, None]


def test_without_a_model_or_a_source_nothing_is_known() -> None:
    assert follow(None, ["name"]) == follow(Contact, []) == Reached({})


def test_a_row_is_looked_up_by_what_its_column_holds() -> None:
    assert [lookup_schema(Device, lookup) for lookup in ("pk", "site__slug", "site", "no_such")] == [
        {"type": "integer"},
        STRING,
        {"type": "integer"},
        {},
    ]


@pytest.mark.parametrize("name", ["key", "api_key", "key_hash", "sha256hash", "door_pin", "auth_token", "secret"])
def test_no_row_is_named_by_what_may_be_a_secret(name: str) -> None:
    with isolate_apps("tests.django.project"):
        columns: dict[str, Any] = {
            name: models.CharField(max_length=9, unique=True),
            "name": models.CharField(max_length=9),
        }
        model = type("Lock", (models.Model,), {**columns, "__module__": "tests.django.project.models"})
    assert identifying_names(model) == ["name"]
    assert not any(map(is_secret_column, ("keyboard", "pinned", "hashtag", "spinach", "number", "code", "monkey")))


def test_a_row_is_named_by_what_is_unique() -> None:
    assert [identifying_names(model) for model in (Site, Device, Rack, Contact)] == [
        ["name", "slug"],
        ["name"],
        [],
        ["email"],
    ]
