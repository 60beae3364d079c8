"""Asking the view behind a tool."""

from typing import Any

from rest_framework import serializers, viewsets
from rest_framework.permissions import IsAdminUser, IsAuthenticated
from rest_framework.routers import SimpleRouter

from handfast.django.decorators import mcp_tool
from handfast.django.discovery import ViewTool, discover
from handfast.django.discovery.tool_view import ask_tool, input_serializer, permissions_of
from handfast.django.discovery.views.guarded_calls import without_database
from tests.django.discovery.calling import TOOLS
from tests.django.project.models import Contact, Site
from tests.django.project.serializers import ContactSerializer, PasswordSerializer, SiteSerializer


def tools(viewset: Any) -> dict[str, ViewTool]:
    router = SimpleRouter()
    router.register("rows", viewset, basename="rows")
    return {tool.action: tool for tool in discover(router.urls)}


class Sites(viewsets.ModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class: Any = SiteSerializer

    def get_permissions(self) -> Any:
        return [IsAdminUser()] if self.action == "destroy" else [IsAuthenticated()]


def test_a_view_answers_as_for_this_very_tool() -> None:
    found = tools(Sites)
    asked = {name: ask_tool(found[name]) for name in ("create", "destroy")}
    kinds = {name: [type(one) for one in permissions_of(a.view) or ()] for name, a in asked.items() if a is not None}
    assert kinds == {"create": [IsAuthenticated], "destroy": [IsAdminUser]}


def test_the_serializer_is_the_one_that_reads_the_arguments() -> None:
    for name, expected in (("contacts__create", ContactSerializer), ("contacts__set_password", PasswordSerializer)):
        asked = ask_tool(TOOLS[name])
        assert asked is not None
        assert type(input_serializer(TOOLS[name], asked)) is expected
    asked = ask_tool(TOOLS["contacts__list"])
    assert asked is not None
    assert input_serializer(TOOLS["contacts__list"], asked) is None


def test_a_serializer_that_the_author_named_is_taken() -> None:
    class Named(Sites):
        @mcp_tool(input=PasswordSerializer)
        def create(self, request: Any) -> Any:
            return super().create(request)

    tool = tools(Named)["create"]
    asked = ask_tool(tool)
    assert asked is not None
    assert type(input_serializer(tool, asked)) is PasswordSerializer


def test_what_raises_or_is_kept_in_a_closed_database_has_no_answer(tables: None) -> None:
    class Stored(serializers.ModelSerializer[Site]):
        class Meta:
            model = Site
            fields = ("name",)

        def get_fields(self) -> Any:
            return {**super().get_fields(), **{one.email: serializers.CharField() for one in Contact.objects.all()}}

    class Views(Sites):
        serializer_class = Stored

        def get_permissions(self) -> Any:
            raise RuntimeError

    tool = tools(Views)["create"]
    with without_database():
        asked = ask_tool(tool)
        assert asked is not None
        assert input_serializer(tool, asked) is None
        assert permissions_of(asked.view) is None
    with without_database(on_request=True):
        asked = ask_tool(tool)
        assert asked is not None
        assert type(input_serializer(tool, asked)) is Stored
