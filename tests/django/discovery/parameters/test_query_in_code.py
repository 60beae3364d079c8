"""Parameters that only code reads are found where it reads them by name, and nowhere else."""

import functools
from typing import Any

import pytest
from rest_framework import filters, pagination, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter

from handfast.django.discovery import discover
from handfast.django.discovery.parameters.query_in_code import names_read
from tests.django.discovery.calling import call
from tests.django.project.models import Site
from tests.django.project.serializers import SiteSerializer

ONE = {"type": ["string", "number", "boolean"]}
SEVERAL = {"type": ["array", "string", "number", "boolean"], "items": ONE}


def logged(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


class Reading:
    request: Any

    def by_name(self) -> Any:
        return self.request.query_params.get("status", None), self.request.GET["page"]

    def several(self, request: Request) -> Any:
        return [each for each in request.query_params.getlist("tag") if (lambda: request.GET.get("inner"))()]

    @logged
    def wrapped(self, request: Request) -> Any:
        return request.query_params.get("wrapped")

    def otherwise(self, request: Any) -> Any:
        name = "computed"
        asked = request.data.get("body"), request.query_params.get(name), {"query_params": 1}.get("word")
        return asked, request.query_params.items(), self.request.session["user"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("by_name", {"status": "get", "page": "get"}),
        ("several", {"tag": "getlist", "inner": "get"}),
        ("wrapped", {"wrapped": "get"}),
        ("otherwise", {}),
    ],
)
def test_a_name_is_found_where_the_query_is_asked_for_it(name: str, found: dict[str, str]) -> None:
    assert names_read(vars(Reading)[name]) == found


def test_what_has_no_code_reads_nothing() -> None:
    assert (names_read(len), names_read(3), names_read(property())) == ({}, {}, {})


class Region(filters.BaseFilterBackend):
    def filter_queryset(self, request: Request, queryset: Any, view: Any) -> Any:
        region = request.query_params.get("region")
        return queryset if region is None else queryset.filter(region=region)


class Told(filters.BaseFilterBackend):
    def filter_queryset(self, request: Request, queryset: Any, view: Any) -> Any:
        return queryset.exclude(pk=request.query_params.get("hidden"))

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return []


class Slices(pagination.BasePagination):
    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        return list(queryset[: int(request.query_params.get("most", 2))])

    def get_paginated_response(self, data: Any) -> Response:
        return Response(data)


class Sites(viewsets.ModelViewSet[Site]):
    serializer_class = SiteSerializer
    pagination_class = Slices
    filter_backends = (Region, Told, filters.SearchFilter)
    search_fields = ("name",)

    def get_queryset(self) -> Any:
        found = Site.objects.order_by("name")
        slug = self.request.query_params.get("slug")
        return found.filter(slug=slug) if slug else self._tagged(found)

    def _tagged(self, found: Any) -> Any:
        tags = self.request.query_params.getlist("tag") or self.request.query_params.get("format")
        return found.filter(name__in=tags) if tags else found

    @action(detail=True)
    def near(self, request: Request, pk: str) -> Response:
        return Response({"near": [request.query_params["distance"], request.GET.get("pk")]})


def _urls() -> Any:
    router = SimpleRouter()
    router.register("sites", Sites, basename="site")
    return router.urls


TOOLS = {tool.name: tool for tool in discover(_urls())}


def queried(name: str) -> dict[str, Any]:
    return {one.name: one.schema for one in TOOLS[name].query}


def test_a_list_takes_what_its_view_its_filters_and_its_pages_read() -> None:
    found = queried("sites__list")
    assert list(found) == ["search", "most", "region", "slug", "tag"]  # the declared ones first, the others by name
    assert {name: found[name] for name in ("most", "region", "slug", "tag")} == {
        "most": ONE,
        "region": ONE,
        "slug": ONE,
        "tag": SEVERAL,
    }


def test_what_is_about_one_row_takes_what_its_own_code_reads_and_not_its_path() -> None:
    assert queried("sites__retrieve") == {"slug": ONE, "tag": SEVERAL}
    assert queried("sites__near") == {"distance": ONE}
    assert [one.name for one in TOOLS["sites__near"].path.parameters] == ["id"]


def test_a_write_takes_none() -> None:
    assert [TOOLS[f"sites__{name}"].query for name in ("create", "update", "destroy")] == [(), (), ()]


def test_they_do_what_they_do_over_http(database: None) -> None:
    for name in ("a", "b", "c"):
        Site.objects.create(name=name, slug=f"slug-{name}")

    def names(**asked: Any) -> list[str]:
        status, answer = call(TOOLS["sites__list"], asked)
        assert status == 200
        return [each["name"] for each in answer]

    assert names() == ["a", "b"]
    assert names(most=3) == ["a", "b", "c"]
    assert names(slug="slug-c") == ["c"]
    assert names(tag=["b", "c"]) == ["b", "c"]
