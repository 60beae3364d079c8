"""What is known of a tool before any call."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import override_settings
from django.urls import resolve
from rest_framework import parsers, renderers

from handfast.django.discovery import survey
from handfast.django.invocation.prepared import Form, UrlMatch, prepare
from tests.django.invocation.calling import tools


def test_the_match_is_what_django_would_find() -> None:
    calls: dict[str, dict[str, object]] = {
        "spaced__it__list": {},
        "crates__retrieve": {"id": 5},
        "depots__seen__list": {"depot_pk": 3, "which": "a"},
    }
    for name, arguments in calls.items():
        tool = tools()[name]
        target = tool.path.target(arguments)
        match = UrlMatch(tool)
        for _ in range(2):
            assert repr(match.of(target.path, target)) == repr(resolve(target.path))


def test_a_path_that_another_pattern_takes_still_has_the_tools_own_names() -> None:
    tool = tools()["spaced__it__list"]
    match = UrlMatch(tool)
    found = match.of("/api/depots/", tool.path.target({}))
    assert (found.view_name, found.func, found.route) == ("v2:it", tool.callback, tool.route)
    found = match.of("/api/spaced/it/", tool.path.target({}))
    assert (found.app_names, found.route) == (["spaced"], "api/spaced/it/")


def test_urls_that_are_not_the_projects_own_have_a_match_too() -> None:
    with override_settings(ROOT_URLCONF="tests.django.project.urls"):
        tool = {tool.name: tool for tool in survey("tests.django.depot.urls").tools}["accept-version__list"]
        found = UrlMatch(tool).of("/api/accept-version/", tool.path.target({}))
    assert (found.url_name, found.namespaces, found.kwargs) == (None, [], {})


class VendorParser(parsers.JSONParser):
    media_type = "application/vnd.api+json"


class VendorRenderer(renderers.JSONRenderer):
    media_type = "application/vnd.api+json"


class AnyParser(parsers.BaseParser):
    media_type = "*/*"


def test_a_tool_is_prepared_once() -> None:
    tool = tools()["crates__create"]
    assert prepare(tool) is prepare(tool)
    other = replace(tool)
    assert prepare(other) is not prepare(tool)
    assert prepare(other).tool is other


@pytest.mark.parametrize(
    ("classes", "content_type", "form"),
    [
        ([parsers.MultiPartParser, parsers.JSONParser], "application/json", "json"),
        ([VendorParser], "application/vnd.api+json", "json"),
        ([parsers.FormParser], "application/json", "form"),
        ([AnyParser], "application/json", "json"),
        ([parsers.FileUploadParser], "application/json", "bare_file"),
        ([parsers.FileUploadParser, parsers.JSONParser], "application/json", "bare_file"),
        ([parsers.JSONParser, parsers.FileUploadParser], "application/json", "json"),
        ([parsers.FileUploadParser, parsers.MultiPartParser], "application/json", "form"),
        ([], "application/json", "json"),
    ],
)
def test_a_body_is_sent_in_a_form_that_the_view_reads(classes: list[Any], content_type: str, form: Form) -> None:
    made = prepare(replace(tools()["crates__create"], initkwargs={"parser_classes": classes}))
    assert (made.content_type, made.form) == (content_type, form)


def test_json_is_asked_for_as_the_view_calls_it() -> None:
    tool = tools()["crates__list"]
    assert prepare(tool).accept == "application/json"
    assert (
        prepare(replace(tool, initkwargs={"renderer_classes": [VendorRenderer]})).accept == "application/vnd.api+json"
    )
