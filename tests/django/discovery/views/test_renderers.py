"""Renderers that write answers in their own way: nothing is promised of what only they know."""

from typing import Any

from django.urls import path
from rest_framework import viewsets
from rest_framework.renderers import BrowsableAPIRenderer, JSONRenderer
from rest_framework.views import APIView

from handfast.django import mcp_tool
from handfast.django.discovery import survey
from handfast.django.discovery.problems import DiscoveryProblem, ProblemId
from handfast.django.discovery.views.renderers import json_type, own_renderer
from tests.django.project.models import Site
from tests.django.project.serializers import SiteSerializer


class ShoutingRenderer(JSONRenderer):
    """As packages do that turn `names_like_this` into `namesLikeThis`."""

    def render(self, data: Any, *given: Any, **more: Any) -> Any:
        return super().render({key.upper(): value for key, value in data.items()}, *given, **more)


class VendorRenderer(JSONRenderer):
    media_type = "application/vnd.example+json; charset=utf-8"


def view_with(*classes: Any) -> APIView:
    made: APIView = type("View", (APIView,), {"renderer_classes": classes})()
    return made


def test_the_renderer_that_writes_json_is_the_one_that_counts() -> None:
    assert own_renderer(view_with(JSONRenderer, BrowsableAPIRenderer)) is None
    assert own_renderer(view_with(BrowsableAPIRenderer, ShoutingRenderer)) is ShoutingRenderer
    assert own_renderer(view_with(JSONRenderer, ShoutingRenderer)) is None
    assert own_renderer(view_with(VendorRenderer)) is None
    assert own_renderer(view_with()) is None


def test_plain_json_comes_before_a_kind_of_it() -> None:
    assert json_type([VendorRenderer, JSONRenderer]) == "application/json"
    assert json_type([BrowsableAPIRenderer, VendorRenderer]) == "application/vnd.example+json"
    assert json_type([BrowsableAPIRenderer]) is None


class Sites(viewsets.ReadOnlyModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class = SiteSerializer
    renderer_classes = (ShoutingRenderer,)


class DescribedSites(Sites):
    @mcp_tool(output=SiteSerializer)
    def list(self, *given: Any, **more: Any) -> Any:
        return super().list(*given, **more)

    @mcp_tool(output={"type": "object", "required": ["NAME"]})
    def retrieve(self, *given: Any, **more: Any) -> Any:
        return super().retrieve(*given, **more)


def test_nothing_is_promised_of_what_a_renderer_rewrites_unless_its_author_writes_it_out() -> None:
    """Otherwise every answer of a project with such a renderer would be blocked, after the view did what it does."""
    found = survey(
        [
            path("plain/", Sites.as_view({"get": "list"})),
            path("plain/<int:pk>/", Sites.as_view({"get": "retrieve"})),
            path("described/", DescribedSites.as_view({"get": "list"})),
            path("described/<int:pk>/", DescribedSites.as_view({"get": "retrieve"})),
        ]
    )
    assert {tool.name: tool.output_schema for tool in found.tools} == {
        "described__list": {},
        "described__retrieve": {"type": "object", "required": ["NAME"]},
        "plain__list": {},
        "plain__retrieve": {},
    }
    assert [problem for problem in found.problems if problem.id == ProblemId.RESULT_OPEN] == [
        DiscoveryProblem(
            ProblemId.RESULT_OPEN,
            "Writes answers in its own way, so an agent cannot know what comes back.",
            "Say it with @mcp_tool(output=…) and a JSON Schema, in the words of what it writes.",
            "tests.django.discovery.views.test_renderers.ShoutingRenderer",
        )
    ]
