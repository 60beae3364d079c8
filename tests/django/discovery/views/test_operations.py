"""Views behind url patterns: found through every decorator, and asked for what they can do."""

import functools
from typing import Any

import pytest
from django.http import HttpResponse
from django.views import View
from rest_framework import generics, viewsets
from rest_framework.decorators import action, api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import DefaultRouter
from rest_framework.schemas import get_schema_view
from rest_framework.views import APIView

from handfast.django.decorators import ToolMark, mcp_tool
from handfast.django.discovery.views.operations import FoundView, find_view, is_left_alone, is_offered, operations_of
from tests.django.project.views import ContactViewSet, Login, echo, hidden, logged, ping, traced

LIST: Any = ContactViewSet.as_view({"get": "list"}, basename="contact", detail=False)


def found(callback: Any) -> FoundView:
    view = find_view(callback)
    assert view is not None
    return view


@pytest.mark.parametrize(
    "callback",
    [
        LIST,
        traced(LIST),
        logged(LIST),
        logged(traced(logged(LIST))),
        functools.partial(LIST, extra=1),
        logged(functools.partial(traced(LIST))),
    ],
    ids=["bare", "wraps", "forgets", "three", "partial", "both"],
)
def test_a_view_is_found_through_what_is_wrapped_around_it(callback: Any) -> None:
    view = found(callback)
    assert (view.cls, view.callback, view.initkwargs, view.actions) == (
        ContactViewSet,
        callback,
        {"basename": "contact", "detail": False},
        {"get": "list"},
    )


def test_what_is_not_rest_frameworks_is_none() -> None:
    class Page(View):
        def get(self, request: Any) -> HttpResponse:
            return HttpResponse()

    assert [find_view(callback) for callback in (Page.as_view(), lambda request: None, print)] == [None] * 3


def test_a_mark_is_found_above_and_below_api_view() -> None:
    assert (found(ping).mark or ToolMark()).output == {"type": "object", "properties": {"pong": {"type": "boolean"}}}
    assert (found(echo).mark or ToolMark()).name == "echo"
    assert found(hidden).mark is None


def test_a_function_is_known_by_its_own_name() -> None:
    assert (found(ping).name, found(LIST).name) == (
        "tests.django.project.views.ping",
        "tests.django.project.views.ContactViewSet",
    )


@mcp_tool
class Marked(APIView):
    schema = None

    def get(self, request: Request) -> Response:
        return Response()


class Unseen(viewsets.ViewSet):
    schema = None

    def list(self, request: Request) -> Response:
        return Response()

    @mcp_tool
    def retrieve(self, request: Request, pk: str) -> Response:
        return Response()


def test_what_is_no_part_of_an_api_is_left_alone() -> None:
    root = found(DefaultRouter().get_api_root_view())
    schema = found(get_schema_view(title="x"))
    assert [is_left_alone(view) for view in (root, schema, found(Marked.as_view()), found(LIST))] == [
        True,
        True,
        False,
        False,
    ]


def test_a_hidden_view_is_offered_where_its_author_says_so() -> None:
    views = [found(Unseen.as_view({"get": name})) for name in ("list", "retrieve")]
    assert [is_left_alone(view) for view in views] == [True, False]


def test_only_what_says_what_it_takes_is_offered_unasked() -> None:
    views = (LIST, generics.ListAPIView.as_view(), Login.as_view(), hidden, ping, Marked.as_view())
    assert [is_offered(found(view)) for view in views] == [True, True, False, False, True, True]


def listed(view: Any) -> list[tuple[str, str, bool]]:
    return [(one.method, one.action, one.shares_action) for one in operations_of(found(view))]


def test_a_viewset_can_be_asked_for_its_actions() -> None:
    view = ContactViewSet.as_view({"post": "create", "get": "list", "head": "list", "options": "x"})
    assert listed(view) == [("get", "list", False), ("post", "create", False)]


def test_a_generic_view_can_be_asked_for_what_its_methods_call() -> None:
    assert listed(generics.RetrieveUpdateDestroyAPIView.as_view()) == [
        ("get", "retrieve", False),
        ("put", "update", False),
        ("patch", "partial_update", False),
        ("delete", "destroy", False),
    ]
    assert listed(Marked.as_view()) == [("get", "get", False)]


def test_methods_that_are_not_allowed_are_none() -> None:
    view = ContactViewSet.as_view({"get": "list", "post": "create"}, http_method_names=["post"])
    assert listed(view) == [("post", "create", False)]


def test_one_action_for_several_methods_shares_its_name() -> None:
    view = ContactViewSet.as_view({"get": "note", "post": "note"}, detail=True)
    assert listed(view) == [("get", "note", True), ("post", "note", True)]


def test_an_extra_action_knows_its_part_of_the_url() -> None:
    view = ContactViewSet.as_view({"post": "set_password"})
    assert [one.url_path for one in operations_of(found(view))] == ["set-password"]
    mapped = ContactViewSet.as_view({"delete": "forget_recent", "get": "recent"})
    assert [one.url_path for one in operations_of(found(mapped))] == ["recent", "recent"]
    assert [one.url_path for one in operations_of(found(LIST))] == [None]


def test_a_mark_on_an_action_is_that_operations() -> None:
    class Some(viewsets.ViewSet):
        @action(detail=False)
        @mcp_tool(name="below")
        def below(self, request: Request) -> Response:
            return Response()

        @mcp_tool(name="above")
        @action(detail=False)
        def above(self, request: Request) -> Response:
            return Response()

    for name in ("below", "above"):
        (one,) = operations_of(found(Some.as_view({"get": name})))
        assert one.mark == ToolMark(name=name)


def test_every_read_is_a_get() -> None:
    view = api_view(["GET", "POST"])(lambda request: Response())
    assert [(one.method, one.is_read) for one in operations_of(found(view))] == [("get", True), ("post", False)]
