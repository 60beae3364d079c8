"""The tools that write through a serializer, and what takes part in it."""

from typing import Any

from rest_framework import serializers, viewsets
from rest_framework.exceptions import PermissionDenied
from rest_framework.routers import SimpleRouter

from handfast.django.checks.writes import Write, find_writes
from handfast.django.discovery import survey
from tests.django.discovery.calling import TOOLS
from tests.django.project.models import Contact, Site
from tests.django.project.serializers import ContactSerializer, SiteSerializer


def found(viewset: Any) -> dict[str, Write]:
    router = SimpleRouter()
    router.register("rows", viewset, basename="rows")
    return {one.tool.action: one for one in find_writes(survey(router.urls).tools)}


def test_standard_writes_are_found_with_their_fields() -> None:
    (write,) = find_writes([TOOLS["contacts__create"]])
    assert (write.method, write.model, type(write.serializer)) == ("create", Contact, ContactSerializer)
    assert list(write.fields) == ["email", "first_name", "last_name", "notes", "status", "password"]
    methods = {one.tool.name: one.method for one in find_writes(TOOLS.values())}
    assert methods == {
        "contacts__create": "create",
        "contacts__partial_update": "update",
        "contacts__update": "update",
        "dcim__devices__create": "create",
        "dcim__devices__partial_update": "update",
        "dcim__devices__update": "update",
        "dcim__racks__create": "create",
        "dcim__racks__partial_update": "update",
        "dcim__racks__update": "update",
        "dcim__sites__devices__create": "create",
    }


def test_a_stock_write_is_known_as_one() -> None:
    class Stock(viewsets.ModelViewSet[Site]):
        queryset = Site.objects.all()
        serializer_class = SiteSerializer

    write = found(Stock)["create"]
    assert (write.validates_as_stock, write.stores_as_stock, write.may_be_refused) == (True, True, False)


def test_code_of_the_project_on_the_way_is_noticed() -> None:
    class Checked(SiteSerializer):
        def validate(self, attrs: Any) -> Any:
            return attrs

    class Storing(SiteSerializer):
        def save(self, **kwargs: Any) -> Any:
            return super().save(**kwargs)

    class OwnRule:
        def __call__(self, attrs: Any) -> None:
            """Nothing."""

    class Ruled(SiteSerializer):
        class Meta(SiteSerializer.Meta):
            validators = (OwnRule(),)

    class Views(viewsets.ModelViewSet[Site]):
        queryset = Site.objects.all()

        def perform_update(self, serializer: Any) -> None:
            if self.request.user.is_anonymous:
                raise PermissionDenied
            serializer.save()

    def of(serializer: Any) -> dict[str, Write]:
        return found(type("Views", (Views,), {"serializer_class": serializer}))

    assert not of(Checked)["create"].validates_as_stock
    assert not of(Ruled)["create"].validates_as_stock
    assert not of(Storing)["create"].stores_as_stock
    plain = of(SiteSerializer)
    assert (plain["create"].stores_as_stock, plain["update"].stores_as_stock) == (True, False)
    assert (plain["create"].may_be_refused, plain["update"].may_be_refused) == (False, True)


def test_every_text_of_the_projects_own_code_counts_as_a_mention() -> None:
    class Speaking(SiteSerializer):
        def to_representation(self, instance: Site) -> Any:
            return {"shown": instance.name}

    class Views(viewsets.ModelViewSet[Site]):
        queryset = Site.objects.all()
        serializer_class = Speaking

        def get_queryset(self) -> Any:
            return super().get_queryset().filter(slug=self.request.query_params.get("asked"))

    mentioned = found(Views)["create"].mentions()
    assert {"shown", "asked", "slug"} <= mentioned
    assert "region" not in mentioned


def test_a_plain_serializer_has_no_model() -> None:
    class Plain(serializers.Serializer[Site]):
        name = serializers.CharField()

    class Views(viewsets.ModelViewSet[Site]):
        queryset = Site.objects.all()
        serializer_class = Plain

    assert found(Views)["create"].model is None
