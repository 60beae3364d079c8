"""Paths made from arguments: what Django makes of them, and what no path can hold."""

import uuid
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pytest
from django.http import HttpResponse
from django.urls import Resolver404, URLPattern, URLResolver, path, re_path, register_converter
from django.urls.converters import get_converters
from django.urls.resolvers import RegexPattern
from hypothesis import given
from hypothesis import strategies as st

from handfast.django.discovery.parameters.paths import (
    AddressUnclear,
    PathParameter,
    PathRefused,
    PathTemplate,
    UrlTarget,
    path_forms,
)
from handfast.django.discovery.views.routes import walk_routes


def view(request: Any, **kwargs: Any) -> HttpResponse:
    return HttpResponse()


class Hex:
    regex = "[0-9a-f]+"

    def to_python(self, value: str) -> int:
        if len(value) > 4:
            raise ValueError
        return int(value, 16)

    def to_url(self, value: int) -> str:
        return f"{value:x}"


if "hex" not in get_converters():
    register_converter(Hex, "hex")


def template(pattern: URLPattern) -> PathTemplate:
    (route,) = walk_routes([pattern])
    forms = path_forms(route)
    groups = dict.fromkeys(group for form in forms for group in form.groups)
    parameters = tuple(PathParameter(f"the_{group}", group, {}) for group in groups)
    return PathTemplate("", forms, parameters, route.regex, route.converters, route.extra)


def test_arguments_become_what_django_would_hand_the_view() -> None:
    made = template(path("a/<int:x>/<uuid:y>/<str:z>/<hex:h>", view, {"extra": True}))
    some = uuid.UUID(int=7)
    arguments = {"the_x": 5, "the_y": str(some), "the_z": "ü ?", "the_h": 255, "other": 1}
    kwargs = {"x": 5, "y": some, "z": "ü ?", "h": 255, "extra": True}
    assert made.target(arguments) == UrlTarget(f"/a/5/{some}/%C3%BC%20%3F/ff", kwargs)


@pytest.mark.parametrize(
    ("route", "arguments", "refused"),
    [
        ("<int:x>/<str:z>/", {"the_x": "five", "the_z": "a"}, "the_x"),
        ("<int:x>/<str:z>/", {"the_x": 5, "the_z": "a/b"}, "the_z"),
        ("<int:x>/<str:z>/", {"the_x": 5, "the_z": ""}, "the_z"),
        ("<int:x>/<str:z>/", {"the_x": 5}, "the_z"),
        ("<int:x>/<str:z>/", {"the_x": None, "the_z": "a"}, "the_x"),
        ("<hex:h>/", {"the_h": "text"}, "the_h"),
        ("<hex:h>/", {"the_h": 2**40}, "the_h"),
    ],
)
def test_what_no_path_can_hold_is_refused_by_name(route: str, arguments: dict[str, Any], refused: str) -> None:
    with pytest.raises(PathRefused) as caught:
        template(path(route, view)).target(arguments)
    assert (caught.value.parameter, str(caught.value)) == (
        refused,
        f"Argument '{refused}' does not fit the address of this tool. Send one as its schema says.",
    )


def test_an_optional_part_may_be_left_out() -> None:
    made = template(re_path(r"^a/(?:(?P<x>[a-z]+)/)?$", view))
    assert made.target({"the_x": "b"}) == UrlTarget("/a/b/", {"x": "b"})
    assert made.target({}) == UrlTarget("/a/", {})


def test_no_path_leads_to_another_host() -> None:
    assert template(re_path(r"^(?P<x>.*)$", view)).target({"the_x": "/example.com"}).path == "/%2Fexample.com"


def test_a_whole_number_stands_in_a_path_as_one() -> None:
    made = template(path("a/<int:x>/", view))
    whole = replace(made, parameters=(PathParameter("the_x", "x", {"type": "integer"}),))
    assert [whole.target({"the_x": value}).path for value in (1.0, 7, 2**63 - 1)] == [
        "/a/1/",
        "/a/7/",
        "/a/9223372036854775807/",
    ]
    for value in (2**63, 1e30, -(2**70)):
        with pytest.raises(PathRefused):
            whole.target({"the_x": value})


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (re_path(r"^(\d+)/$", view), "it has a parameter without a name"),
        (re_path(r"^(\d+)/(?P<x>a)$", view), "it has a parameter without a name"),
        (re_path(r"^a|b/$", view), "it has alternatives, or parts that cannot be written back"),
    ],
)
def test_a_pattern_without_a_path_says_why(pattern: URLPattern, reason: str) -> None:
    (route,) = walk_routes([pattern])
    with pytest.raises(AddressUnclear, match=reason):
        path_forms(route)


def test_one_name_for_two_parameters_is_no_address() -> None:
    (route,) = walk_routes([URLResolver(RegexPattern(r"^(?P<pk>\d+)/"), [path("<int:pk>/", view)])])
    with pytest.raises(AddressUnclear, match="one name stands for two of its parameters"):
        path_forms(route)


PATTERNS = [
    path("a/<str:x>/", view),
    path("a/<slug:x>", view),
    path("<path:x>/b", view),
    re_path(r"^a/(?P<x>[^/.]+)/$", view),
    re_path(r"^(?P<x>.+)$", view),
    re_path(r"^a(?P<x>[0-9]*)\Z", view),
]


@given(st.sampled_from(PATTERNS), st.text(max_size=6) | st.integers())
def test_a_path_leads_to_the_view_with_the_same_argument_or_is_refused(pattern: URLPattern, value: str | int) -> None:
    made = template(pattern)
    resolver = URLResolver(RegexPattern(r"^/"), [pattern])
    try:
        target = made.target({"the_x": value})
    except PathRefused:
        raw = "".join(str(value) if part == "x" else part for part in made.forms[0].parts)
        try:
            found = resolver.resolve(raw).kwargs["x"]
        except Resolver404:
            return
        assert found != str(value), "Django would have taken it"
        return
    assert resolver.resolve(unquote(target.path)).kwargs == target.kwargs == {"x": str(value)}
