"""What an agent reads about a tool."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework import viewsets
from rest_framework.decorators import action, api_view
from rest_framework.request import Request
from rest_framework.response import Response

from handfast.django.decorators import mcp_tool
from handfast.django.discovery.descriptions import (
    LONGEST,
    describe_tool,
    segments_of,
    shorten_name,
    tool_name,
    without_action,
)
from handfast.django.discovery.problems import DiscoveryProblems
from handfast.django.discovery.views.bare_view import ask_view, bare_view
from handfast.django.discovery.views.operations import find_view, operations_of
from handfast.django.discovery.views.routes import PathForm
from tests.django.project.models import Device


@pytest.mark.requirement("D22")
@pytest.mark.parametrize(
    ("parts", "segments"),
    [
        (("/contacts/",), ["contacts"]),
        (("/api/contacts/",), ["contacts"]),
        (("/api/v1/dcim/devices",), ["dcim", "devices"]),
        (("/v2.1/API/contacts/",), ["contacts"]),
        (("/contacts/api/v1/",), ["contacts", "api", "v1"]),
        (("/apis/contacts/",), ["apis", "contacts"]),
        (("/api/sites/", "pk", "/devices/", "id", "/"), ["sites", "devices"]),
        (("/report-", "year", ".csv"), ["report-.csv"]),
        (("/", "tenant", "/api/contacts/"), ["contacts"]),
        (("/api/v1/",), []),
    ],
)
def test_the_root_and_parameters_are_no_part_of_a_name(parts: tuple[str, ...], segments: list[str]) -> None:
    assert segments_of(PathForm(parts)) == segments


def test_a_language_is_no_part_of_a_name() -> None:
    assert segments_of(PathForm(("/en-us/api/contacts/",)), "en-us/") == ["contacts"]


@pytest.mark.parametrize(
    ("segments", "url_path", "left"),
    [
        (["users", "set-password"], "set-password", ["users"]),
        (["users", "keys", "rotate"], r"keys/(?P<key>\d+)/rotate", ["users"]),
        (["users"], r"(?P<key>\d+)", ["users"]),
        (["users", "list"], "other", ["users", "list"]),
        (["users"], None, ["users"]),
    ],
)
def test_an_extra_action_is_not_named_twice(segments: list[str], url_path: str | None, left: list[str]) -> None:
    assert without_action(segments, url_path) == left


def test_what_a_name_may_not_hold_becomes_an_underscore() -> None:
    assert tool_name(["report-.csv", "über uns"], "list") == "report-_csv___ber_uns__list"


def test_a_long_name_keeps_its_beginning_and_its_action() -> None:
    name = tool_name(["warehouse", "x" * 150], "partial_update")
    assert shorten_name(name) == "warehouse__" + "x" * 92 + "_cd5e7153__partial_update"


@given(st.lists(st.text(min_size=1), max_size=4), st.text(min_size=1))
def test_every_name_is_within_the_rules(segments: list[str], action: str) -> None:
    name = shorten_name(tool_name(segments, action))
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,128}", name)
    assert name == shorten_name(tool_name(segments, action))


@given(st.integers(min_value=0), st.integers(min_value=0))
def test_long_names_that_differ_stay_apart(one: int, other: int) -> None:
    names = [shorten_name(tool_name(["a" * LONGEST, str(number)], "list")) for number in (one, other)]
    assert (names[0] == names[1]) is (one == other)


def description(view: Any) -> str:
    found = find_view(view)
    assert found is not None
    operation = operations_of(found)[0]
    asked = ask_view(found, operation, bare_view(found, operation, []), DiscoveryProblems())
    return describe_tool(found, operation, asked, ["dcim", "patch-panels"])


class Plain(viewsets.ModelViewSet[Device]):
    queryset = Device.objects.all()

    @action(detail=True)
    def power_off(self, request: Request, pk: str) -> Response:
        return Response()

    @action(detail=False)
    def count(self, request: Request) -> Response:
        return Response()


@pytest.mark.parametrize(
    ("actions", "detail", "said"),
    [
        ({"get": "list"}, False, "List network devices."),
        ({"get": "retrieve"}, True, "Get one network device."),
        ({"post": "create"}, False, "Create a network device."),
        ({"put": "update"}, True, "Replace all fields of a network device."),
        ({"patch": "partial_update"}, True, "Change some fields of a network device."),
        ({"delete": "destroy"}, True, "Delete a network device."),
        ({"get": "power_off"}, True, "Power off (a network device)."),
        ({"get": "count"}, False, "Count (network devices)."),
    ],
)
def test_a_sentence_is_made_from_what_it_does(actions: Any, detail: bool, said: str) -> None:
    assert description(Plain.as_view(actions, detail=detail)) == said


def test_several_methods_of_one_action_are_told_apart() -> None:
    view = Plain.as_view(dict.fromkeys(("get", "post", "put", "patch", "delete"), "count"), detail=False)
    found = find_view(view)
    assert found is not None
    said = [
        describe_tool(found, one, ask_view(found, one, bare_view(found, one, []), DiscoveryProblems()), ["devices"])
        for one in operations_of(found)
    ]
    assert sorted(said) == [
        "Change count (network devices).",
        "Delete count (network devices).",
        "Get count (network devices).",
        "Replace count (network devices).",
        "Send count (network devices).",
    ]


class Documented(Plain):
    """Everything with a plug.

    list: All of it,
        in one list.
    create:
    Plug one in.
    """

    def destroy(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Throw it away.

        For good.
        """
        return super().destroy(request, *args, **kwargs)


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        ({"delete": "destroy"}, "Throw it away.\n\nFor good."),
        ({"get": "list"}, "All of it, in one list."),
        ({"post": "create"}, "Plug one in."),
        ({"put": "update"}, "Replace all fields of a network device. Everything with a plug."),
    ],
)
def test_what_the_author_wrote_comes_first(actions: Any, said: str) -> None:
    assert description(Documented.as_view(actions)) == said


def test_a_subclass_does_not_inherit_what_was_said_of_its_base() -> None:
    class Silent(Documented): ...

    assert description(Silent.as_view({"put": "update"})) == "Replace all fields of a network device."


def test_a_mark_on_a_viewset_stands_for_its_docstring() -> None:
    @mcp_tool(description="Machines.")
    class Marked(Documented):
        """Something else."""

    assert description(Marked.as_view({"get": "list"})) == "List network devices. Machines."


def test_without_a_model_the_url_says_what_it_is_about() -> None:
    class Health(viewsets.ViewSet):
        def list(self, request: Request) -> Response:
            return Response()

        def create(self, request: Request) -> Response:
            return Response()

    assert description(Health.as_view({"get": "list"})) == "List patch panels."
    assert description(Health.as_view({"post": "create"})) == "Create (patch panels)."


def test_a_function_is_described_by_its_docstring() -> None:
    @api_view(["GET"])
    def ping(request: Request) -> Response:
        """Say whether anybody is there."""
        return Response()

    assert description(ping) == "Say whether anybody is there."


def test_a_manual_is_cut() -> None:
    class Long(Plain):
        def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
            return super().list(request, *args, **kwargs)

    Long.list.__doc__ = "word " * 1000
    assert len(description(Long.as_view({"get": "list"}))) == 2000
