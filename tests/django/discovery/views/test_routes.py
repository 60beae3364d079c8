"""Url patterns flattened: nested, namespaced, by language, and with suffixes."""

from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.http import HttpResponse
from django.urls import URLPattern, URLResolver, include, path, re_path
from rest_framework.urlpatterns import format_suffix_patterns

from handfast.django.discovery.views.routes import PathForm, group_patterns, read_forms, walk_routes


def view(request: Any, **kwargs: Any) -> HttpResponse:
    return HttpResponse()


def test_a_route_has_all_that_it_is_included_under() -> None:
    inner = [path("<int:pk>/", view, {"b": 2}, name="detail"), re_path(r"^(?P<slug>[a-z]+)$", view)]
    outer: list[URLPattern | URLResolver] = [
        path("api/<uuid:tenant>/", include((inner, "app"), namespace="space"), {"a": 1}),
        path("", view),
    ]
    routes = list(walk_routes(outer))
    assert [route.regex for route in routes] == [
        r"/api/(?P<tenant>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/(?P<pk>[0-9]+)/\Z",
        r"/api/(?P<tenant>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/(?P<slug>[a-z]+)$",
        r"/\Z",
    ]
    first = routes[0]
    assert (sorted(first.converters), first.extra, first.namespaces, first.url_name) == (
        ["pk", "tenant"],
        {"a": 1, "b": 2},
        ("space",),
        "detail",
    )
    assert {route.callback for route in routes} == {view}


def test_the_projects_own_urls_are_read_where_none_are_given() -> None:
    assert {route.regex for route in walk_routes()} == {
        route.regex for route in walk_routes("tests.django.project.urls")
    }


def test_a_prefix_by_language_is_kept_apart() -> None:
    (route,) = walk_routes(i18n_patterns(path("contacts/", view)))
    assert (route.regex, route.language) == (r"/en\-us/contacts/\Z", "en-us/")


@pytest.mark.parametrize("allowed", [None, ["json"], ["json", "api"]])
def test_only_the_spelling_with_a_suffix_is_one(allowed: list[str] | None) -> None:
    patterns = format_suffix_patterns([path("a/", view), re_path(r"^b/$", view)], allowed=allowed)
    assert [route.is_format_suffix for route in walk_routes(patterns)] == [False, True, False, True]


def test_a_parameter_that_is_called_format_is_no_suffix() -> None:
    (route,) = walk_routes([path("reports/<str:format>/", view)])
    assert not route.is_format_suffix


@pytest.mark.parametrize(
    ("regex", "forms"),
    [
        (r"/a/(?P<x>\d+)/b/$", [("/a/", "x", "/b/")]),
        (r"/a/(?:(?P<x>\d+)/)?$", [("/a/", "x", "/"), ("/a/",)]),
        (r"/(?P<v>v1|v2)/a\.txt\Z", [("/", "v", "/a.txt")]),
        (r"/100%/(?P<x>.)$", [("/100%/", "x", "")]),
        (r"/(?:a|b)/", []),
    ],
)
def test_a_regex_is_written_back_as_paths(regex: str, forms: list[tuple[str, ...]]) -> None:
    assert read_forms(regex) == tuple(PathForm(parts) for parts in forms)


@pytest.mark.parametrize(
    ("regex", "groups"),
    [
        (r"/(?P<a>[^/.]+)/(?P<b>\d{2})", {"a": "[^/.]+", "b": r"\d{2}"}),
        (r"(?P<a>(?:x|(y))+)z", {"a": "(?:x|(y))+"}),
        (r"(?P<a>[)\]]\))", {"a": r"[)\]]\)"}),
        (r"(?P<a>[]()]+)/(?P<b>[^])]+)", {"a": "[]()]+", "b": "[^])]+"}),
        (r"(?P<a>\\)(?P<b>x)", {"a": r"\\", "b": "x"}),
    ],
)
def test_each_group_is_found_with_what_it_lets_through(regex: str, groups: dict[str, str]) -> None:
    assert group_patterns(regex) == groups
