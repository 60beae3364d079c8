"""Finding the MCP endpoint among a project's urls, wherever it was put."""

from collections.abc import Sequence
from typing import Any

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import URLPattern, URLResolver, include, path, re_path, set_script_prefix
from django.urls.resolvers import RegexPattern

from handfast.django.mounted import Mount, find_mounts


def endpoint(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


OURS: Any = ([path("", endpoint)], "handfast")  # Any: what include() takes in the place of a module


def mounts(*patterns: URLPattern | URLResolver) -> Sequence[Mount]:
    return find_mounts(URLResolver(RegexPattern(r"^/"), list(patterns)))


def test_it_is_found_at_the_root_and_below_other_includes() -> None:
    other = path("shop/", include(([path("", endpoint)], "shop")))
    assert mounts(other, path("mcp/", include(OURS))) == [Mount("mcp/", endpoint)]
    assert mounts(path("api/v1/", include([path("mcp/", include(OURS))]))) == [Mount("api/v1/mcp/", endpoint)]
    assert mounts(path("mcp/", include(OURS, namespace="agents"))) == [Mount("mcp/", endpoint)]
    assert mounts(re_path(r"^mcp/", include(OURS))) == [Mount("mcp/", endpoint)]


def test_nothing_is_found_where_it_is_not() -> None:
    assert mounts(path("mcp/", include(([path("", endpoint)], "other")))) == []
    assert mounts() == []


def test_two_places_are_found_in_their_order() -> None:
    found = mounts(path("a/", include(OURS)), path("b/", include(OURS, namespace="second")))
    assert [mount.path for mount in found] == ["a/", "b/"]


def test_an_address_with_parameters_is_only_known_to_callers() -> None:
    (mount,) = mounts(path("<slug:tenant>/mcp/", include(OURS)))
    assert (mount.path, mount.address) == (None, None)


def test_the_prefix_of_the_whole_project_is_part_of_its_address() -> None:
    (mount,) = mounts(path("mcp/", include(OURS)))
    assert mount.address == "/mcp/"
    set_script_prefix("/shop/")
    try:
        assert mount.address == "/shop/mcp/"
    finally:
        set_script_prefix("/")


@override_settings(LANGUAGE_CODE="de", USE_I18N=True)
def test_a_language_in_its_address_is_noticed() -> None:
    (mount,) = mounts(*i18n_patterns(path("mcp/", include(OURS))))
    assert mount.has_language
