"""Places of a path as arguments: their names, and what may stand in them."""

from typing import Any

import pytest
from django.db import models
from django.db.models import QuerySet
from django.test.utils import isolate_apps
from django.urls import URLPattern, path, re_path
from rest_framework import generics, viewsets
from rest_framework.versioning import URLPathVersioning

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.parameters.path_arguments import path_template
from handfast.django.discovery.parameters.paths import PathParameter, PathTemplate, UrlTarget, path_forms
from handfast.django.discovery.problems import DiscoveryProblems
from handfast.django.discovery.views.bare_view import ask_view, bare_view
from handfast.django.discovery.views.operations import find_view, operations_of
from handfast.django.discovery.views.routes import walk_routes
from tests.django.project.models import Contact, Device, Rack, Site
from tests.django.project.serializers import DeviceSerializer
from tests.django.project.views import SiteViewSet

DETAIL = generics.RetrieveAPIView.as_view(queryset=Device.objects.all(), serializer_class=DeviceSerializer)
LIST = generics.ListAPIView.as_view(queryset=Device.objects.all(), serializer_class=DeviceSerializer)
SITE_BY_SLUG = generics.RetrieveAPIView.as_view(queryset=Site.objects.all(), lookup_field="slug")
RACK = generics.RetrieveAPIView.as_view(queryset=Rack.objects.all())


def made(pattern: URLPattern, taken: tuple[str, ...] = ()) -> PathTemplate:
    (route,) = walk_routes([pattern])
    forms = path_forms(route)
    found = find_view(route.callback)
    assert found is not None
    operation = operations_of(found)[0]
    view = bare_view(found, operation, forms[0].groups)
    return path_template(route, forms, ask_view(found, operation, view, DiscoveryProblems()), taken)


ID: Json = {"type": "integer", "description": "Which network device, by its id."}


@pytest.mark.parametrize(
    ("pattern", "route", "name", "schema"),
    [
        (re_path(r"^devices/(?P<pk>[^/.]+)/$", DETAIL), "/devices/{id}/", "id", ID),
        (path("devices/<int:pk>/", DETAIL), "/devices/{id}/", "id", {**ID, "minimum": 0}),
        (re_path(r"^devices/(?P<pk>\d+)$", DETAIL), "/devices/{id}", "id", {**ID, "minimum": 0}),
        (
            # A text of digits: as a number it would lose its zeros.
            re_path(r"^sites/(?P<slug>\d{4})$", SITE_BY_SLUG),
            "/sites/{slug}",
            "slug",
            {"type": "string", "pattern": r"^(?:\d{4})$", "description": "Which site, by its slug."},
        ),
        (
            re_path(r"^racks/(?P<pk>[^/.]+)/$", RACK),
            "/racks/{id}/",
            "id",
            {"type": "string", "format": "uuid", "description": "Which rack, by its id."},
        ),
        (
            path("sites/<site_slug>/", SiteViewSet.as_view({"get": "retrieve"}, detail=True)),
            "/sites/{site_slug}/",
            "site_slug",
            {"type": "string", "pattern": "^(?:[^/]+)$", "description": "Which site, by its slug."},
        ),
        (path("sites/<site_pk>/devices/", LIST), "/sites/{site_pk}/devices/", "site_pk", {"type": "integer"}),
        (path("racks/<rack_id>/", LIST), "/racks/{rack_id}/", "rack_id", {"type": "string", "format": "uuid"}),
        (
            path("sites/<site_slug>/devices/", LIST),
            "/sites/{site_slug}/devices/",
            "site_slug",
            {"type": ["string", "integer"], "pattern": "^(?:[^/]+)$"},
        ),
        # A `pk` in the middle is somebody else's, and says nothing of what it is the key of.
        (
            path("sites/<pk>/devices/", LIST),
            "/sites/{pk}/devices/",
            "pk",
            {"type": ["string", "integer"], "pattern": "^(?:[^/]+)$"},
        ),
        (path("<uuid:tenant>/devices/", LIST), "/{tenant}/devices/", "tenant", {"type": "string", "format": "uuid"}),
    ],
)
def test_a_place_is_an_argument(pattern: URLPattern, route: str, name: str, schema: Json) -> None:
    template = made(pattern)
    (parameter,) = template.parameters
    assert (template.route, parameter.name, parameter.schema, parameter.is_required) == (route, name, schema, True)


def test_a_name_that_the_body_needs_is_left_to_it() -> None:
    template = made(path("racks/<uuid:pk>/", RACK), taken=("id", "lookup_id"))
    assert [(each.name, each.group, each.is_lookup) for each in template.parameters] == [
        ("lookup_lookup_id", "pk", True)
    ]


def test_the_projects_setting_keeps_pk(settings_of_drf: Any) -> None:
    settings_of_drf(SCHEMA_COERCE_PATH_PK=False)
    assert made(path("devices/<int:pk>/", DETAIL)).parameters[0].name == "pk"


@pytest.fixture
def settings_of_drf() -> Any:
    from django.test import override_settings

    entered = []

    def change(**values: Any) -> None:
        override = override_settings(REST_FRAMEWORK=values)
        override.enable()
        entered.append(override)

    yield change
    for override in entered:
        override.disable()


def test_several_places_are_several_arguments_and_an_optional_one_is_not_required() -> None:
    template = made(re_path(r"^sites/(?P<site>\d+)/devices/(?:(?P<pk>\d+)/)?$", DETAIL))
    assert [(each.name, each.is_required) for each in template.parameters] == [("site", True), ("id", False)]
    assert template.target({"site": 3}) == UrlTarget("/sites/3/devices/", {"site": "3"})


class Versions(URLPathVersioning):
    default_version = "v2"
    allowed_versions = ("v1", "v2")


class Versioned(viewsets.ReadOnlyModelViewSet[Contact]):
    queryset = Contact.objects.all()
    versioning_class = Versions


def test_a_version_has_a_default_and_few_values() -> None:
    template = made(re_path(r"^(?P<version>v1|v2)/contacts/$", Versioned.as_view({"get": "list"})))
    schema = {"type": "string", "enum": ["v1", "v2"], "default": "v2", "description": "The version of the API."}
    assert template.parameters == (PathParameter("version", "version", schema, False, False, "v2"),)
    assert template.target({}) == UrlTarget("/v2/contacts/", {"version": "v2"})
    assert template.target({"version": "v1"}) == UrlTarget("/v1/contacts/", {"version": "v1"})


def test_a_lookup_in_the_middle_of_a_detail_action_is_still_the_views_own() -> None:
    view = SiteViewSet.as_view({"get": "retrieve"}, detail=True)
    template = made(path("sites/<site_slug>/parts/<part>/", view))
    assert [(each.name, each.is_lookup) for each in template.parameters] == [("site_slug", True), ("part", False)]
    assert Site._meta.verbose_name in template.parameters[0].schema["description"]


def test_a_row_of_a_model_that_extends_another_is_known_by_the_key_that_it_shows() -> None:
    with isolate_apps("tests.django.project"):

        def extended(name: str, base: Any, **columns: Any) -> Any:
            return type(name, (base,), {**columns, "__module__": "tests.django.project.models"})

        place = extended("Place", models.Model)
        tower = extended("Tower", place)
        own = extended("Own", models.Model, place=models.OneToOneField(place, models.CASCADE, primary_key=True))
    for model, name in ((place, "id"), (tower, "id"), (own, "place")):
        detail = generics.RetrieveAPIView.as_view(queryset=QuerySet(model))
        assert [each.name for each in made(path("towers/<int:pk>/", detail)).parameters] == [name]
