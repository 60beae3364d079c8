"""Relations: an id or a name or an object in, and what the API really sends out."""

from typing import Any

import pytest
from rest_framework import serializers

from handfast.django.discovery.drf_types import AnyField, Json
from handfast.django.discovery.problems import DiscoveryProblems
from handfast.django.discovery.schemas.serializers import Direction, Shapes
from tests.django.project.models import Contact, Device, Rack, Site, Tag

OBJECT: Json = {"type": "object", "minProperties": 1}
LINK: Json = {"type": "string", "format": "uri-reference"}
_WAYS: tuple[Direction, ...] = ("input", "output")


def both(**declared: AnyField | None) -> tuple[Json, Json]:
    """What a serializer of devices takes and sends for fields that are declared, or left to the model."""
    meta = type("Meta", (), {"model": Device, "fields": tuple(declared)})
    own = {name: field for name, field in declared.items() if field is not None}
    serializer = type("DeviceSerializer", (serializers.ModelSerializer,), {**own, "Meta": meta})
    shapes = Shapes(DiscoveryProblems())
    return tuple(shapes.of(serializer(), way).schema["properties"] for way in _WAYS)


@pytest.mark.requirement("000-15")
def test_a_foreign_key_takes_its_id_its_name_or_an_object() -> None:
    assert both(site=None) == (
        {
            "site": {
                "oneOf": [{"type": ["integer", "string"]}, OBJECT],
                "description": "Where it stands. The id or name of the site, or an object of fields that identify it, "
                'such as {"name": …}.',
            }
        },
        {"site": {"type": "integer", "description": "Where it stands."}},
    )


def test_a_key_without_another_name_is_only_itself() -> None:
    assert both(rack=None) == (
        {
            "rack": {
                "oneOf": [{"type": "string", "format": "uuid"}, OBJECT, {"type": "null"}],
                "description": "The id of the rack, or an object of fields that identify it.",
            }
        },
        {"rack": {"type": ["string", "null"], "format": "uuid"}},
    )


def test_many_are_a_list_of_them() -> None:
    one = {
        "oneOf": [{"type": "string"}, OBJECT],
        "description": "The id of the tag, or an object of fields that identify it.",
    }
    assert both(tags=None) == (
        {"tags": {"type": "array", "items": one}},
        {"tags": {"type": "array", "items": {"type": "string"}}},
    )
    declared = serializers.PrimaryKeyRelatedField(many=True, queryset=Tag.objects.all(), allow_empty=False)
    assert both(tags=declared)[0]["tags"] == {"type": "array", "items": one, "minItems": 1}


def test_a_slug_is_what_its_column_holds() -> None:
    taken, sent = both(site=serializers.SlugRelatedField("slug", queryset=Site.objects.all()))
    assert (taken["site"]["oneOf"], sent) == ([{"type": "string"}, OBJECT], {"site": {"type": "string"}})
    assert taken["site"]["description"].startswith("The slug or name of the site, or an object")


def test_a_slug_along_a_relation_may_be_null_where_the_relation_may() -> None:
    sent = both(site=serializers.SlugRelatedField("region__name", queryset=Site.objects.all()))[1]
    assert sent == {"site": {"type": ["string", "null"]}}


def test_a_link_is_a_link() -> None:
    sites = serializers.HyperlinkedRelatedField("site-detail", queryset=Site.objects.all())
    racks = serializers.HyperlinkedRelatedField("rack-detail", queryset=Rack.objects.all())
    taken, sent = both(site=sites, rack=racks)
    assert [taken[name]["oneOf"][0] for name in ("site", "rack")] == [{"type": "string"}, LINK]
    assert sent == {"site": LINK, "rack": {"type": ["string", "null"], "format": "uri-reference"}}


def test_what_is_read_only_is_found_from_the_model() -> None:
    taken, sent = both(
        site=serializers.PrimaryKeyRelatedField(read_only=True),
        tags=serializers.StringRelatedField(many=True, read_only=True),
        rack=serializers.StringRelatedField(),
        url=serializers.HyperlinkedIdentityField("device-detail"),
    )
    assert (taken, sent) == (
        {},
        {
            "site": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "rack": {"type": ["string", "null"]},
            "url": LINK,
        },
    )


def test_what_is_only_read_and_asked_for_all_the_same_takes_an_empty_list() -> None:
    field: AnyField = serializers.StringRelatedField(
        many=True
    )  # as REST framework documents it, which makes it required
    taken, _ = both(tags=field)
    assert taken == {
        "tags": {"type": "array", "maxItems": 0, "description": "Is only ever read, and still asked for: send []."}
    }
    assert both(tags=serializers.StringRelatedField(many=True, required=False))[0] == {}


def test_a_key_with_a_field_of_its_own_is_described_by_that() -> None:
    hexadecimal = serializers.UUIDField(format="hex")
    taken, sent = both(rack=serializers.PrimaryKeyRelatedField(queryset=Rack.objects.all(), pk_field=hexadecimal))
    assert (taken["rack"]["oneOf"][0], sent["rack"]["type"]) == (
        {"type": "string", "format": "uuid"},
        ["string", "null"],
    )


class Found(serializers.RelatedField[Any, Any, Any]):
    def get_queryset(self) -> Any:
        return Contact.objects.all()

    def to_representation(self, value: Any) -> str:
        return str(value)

    def to_internal_value(self, data):  # type: ignore[no-untyped-def]  # as many are written
        return self.get_queryset().get(email=data["email"])


class Expanded(serializers.PrimaryKeyRelatedField[Any]):
    def to_representation(self, value: Any) -> dict[str, str]:
        return {"name": str(value.pk)}


def test_many_of_the_projects_own_are_a_list_of_what_they_say() -> None:
    taken, sent = both(tags=Expanded(many=True, queryset=Tag.objects.all()))
    assert taken["tags"]["items"]["oneOf"] == [{"type": "string"}, OBJECT]
    assert sent["tags"]["items"] == {"type": "object", "additionalProperties": {"type": "string"}}


def test_a_relation_of_the_projects_own_is_open_or_as_annotated() -> None:
    taken, sent = both(site=Found())
    assert (taken, sent) == ({"site": {}}, {"site": {"type": "string"}})
