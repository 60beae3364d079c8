"""What is known of a tool before any call."""

from dataclasses import replace
from typing import Any

import pytest
from rest_framework import parsers, renderers

from handfast.django.invocation.prepared import Form, prepare
from tests.django.invocation.calling import tools


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
