"""Bodies that are made when the view asks for them."""

from dataclasses import replace
from typing import Any

import pytest
from django.http import HttpRequest, QueryDict
from django.test import RequestFactory, override_settings
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

from handfast.django.invocation import invoke
from handfast.django.invocation.inner_request import Address, Content, make_request
from handfast.django.invocation.late_body import FORM_TYPE, LateContent, ParsedForm, late_class, who_asks
from tests.django.depot.models import Crate, Depot
from tests.django.invocation.calling import call, outer, refusal, told, tools


def late_request(body: Any, *, has_lookups: bool = False, is_form: bool = False) -> Any:
    late = LateContent(tools()["crates__create"], body, has_lookups=has_lookups, files={}, is_form=is_form)
    given = outer()
    content = Content(FORM_TYPE if is_form else "application/json", 1)
    kind = late_class(type(given))  # type: ignore[arg-type]  # a class, which has a hash
    request: Any = make_request(given, Address("POST", "/api/crates/", "", "application/json"), content, kind)
    request._late = late
    return request


def test_whoever_else_reads_it_gets_it_as_it_was_sent() -> None:
    request = late_request({"depot": {"name": "North"}}, has_lookups=True)
    assert request.body == b'{"depot":{"name":"North"}}'
    assert request.read() == request.body
    assert (request.POST, dict(request.FILES)) == (QueryDict(), {})
    assert who_asks() is None


def test_a_decorator_that_reads_it_first_does_not_keep_the_view_from_its_rows() -> None:
    Depot.objects.create(name="North", slug="n")
    tool = tools()["crates__create"]
    seen: list[bytes] = []

    def reading(request: HttpRequest, **kwargs: Any) -> Any:
        seen.append(request.body)
        return tool.callback(request, **kwargs)

    invoke(replace(tool, callback=reading), {"code": "c", "depot": {"name": "North"}}, outer())
    assert seen == [b'{"code":"c","depot":{"name":"North"}}']
    assert Crate.objects.get().depot.name == "North"


def test_it_is_no_larger_than_django_allows() -> None:
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=100):
        Depot.objects.create(name="N" * 40, slug="n")
        assert refusal("crates__create", {"code": "c" * 90, "depot": "N" * 40}).code == "invalid_input"
        assert refusal("crates__create", {"code": "c" * 90, "depot": 1}).details == {
            "status": 400,
            "kind": "value",
            "fields": {},
        }
        assert call("crates__create", {"code": "c", "depot": {"name": "N" * 40}})["code"] == "c"


def test_a_form_is_read_already() -> None:
    request = late_request({"code": "c"}, is_form=True)
    assert Request(request, parsers=[]).content_type == FORM_TYPE
    assert request.POST == {"code": "c"}
    with pytest.raises(Exception, match="already"):
        _ = request.body
    assert isinstance(request, type(RequestFactory().get("/")))


def test_a_form_keeps_its_files_where_they_are() -> None:
    form = ParsedForm(photo="a file", code="c")
    copied = form.copy()
    copied.update(QueryDict("photo=another"))
    copied.update({"code": "d"}, more=1)
    assert (copied, form) == ({"photo": "a file", "code": "d", "more": 1}, {"photo": "a file", "code": "c"})


def test_a_view_that_reads_only_json_gets_no_file_and_no_empty_row() -> None:
    depot = Depot.objects.create(name="North", slug="n")
    sent = {"code": "c", "depot": depot.pk, "photo": {"filename": "a.txt", "content": "aGk="}}
    assert told(refusal("json-only__create", sent)) == (
        "not_supported",
        (
            'The view behind this tool does not take such a call: Unsupported media type "multipart/form-data"'
            " in request. Use another tool."
        ),
        {"status": 415},
    )
    assert not Crate.objects.exists()


def test_a_parser_that_reads_the_stream_itself_finds_it_there() -> None:
    request = Request(late_request({"code": "c"}), parsers=[JSONParser()])
    assert request.stream.read() == b'{"code":"c"}'
