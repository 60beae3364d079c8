"""What a tool takes and sends: by its serializer, by its code, and by what its author says."""

from typing import Any

import pytest
from rest_framework import generics, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from handfast.django.decorators import UNMARKED, ToolMark, mcp_tool
from handfast.django.discovery.assembly import (
    Assembly,
    Sent,
    Taken,
    UnknownSerializer,
    annotations_of,
    effective_mark,
    kind_of,
)
from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.problems import DiscoveryProblem, DiscoveryProblems, ProblemId
from handfast.django.discovery.schemas.serializers import Shapes
from handfast.django.discovery.tool import QueryParameter
from handfast.django.discovery.views.bare_view import ask_view, bare_view
from handfast.django.discovery.views.operations import FoundView, Operation, find_view, operations_of
from tests.django.project.models import Contact, Site
from tests.django.project.serializers import ContactLineSerializer, PasswordSerializer, RegionSerializer, SiteSerializer

LINE: Json = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "email": {"type": "string", "description": "Where to write to."}},
    "required": ["id", "email"],
}
PASSWORD: Json = {"password": {"type": "string", "minLength": 8}}


class Contacts(viewsets.ModelViewSet[Contact]):
    queryset = Contact.objects.all()
    serializer_class = ContactLineSerializer

    @action(detail=True, methods=["post"])
    def wave(self, request: Request, pk: str) -> Response:
        return Response({"waved": True})

    @action(detail=True, methods=["post"], serializer_class=PasswordSerializer)
    def set_password(self, request: Request, pk: str) -> Response:
        return Response({"set": True})

    @action(detail=False, methods=["post"])
    def invite(self, request: Request) -> Response:
        self.get_serializer(data=request.data).is_valid(raise_exception=True)
        return Response({"invited": True})

    @action(detail=False, methods=["post"])
    def touch(self, request: Request) -> Response:
        self.get_serializer(data=request.data, partial=True)
        return Response()

    @action(detail=True, methods=["post"])
    def publish(self, request: Request, pk: str) -> Response:
        return Response(self.get_serializer(self.get_object()).data)

    @action(detail=False, methods=["post"])
    def load(self, request: Request) -> Response:
        return Response({"lines": len(request.data)})

    @action(detail=False)
    def mine(self, request: Request) -> Response:
        return Response(self.filter_queryset(self.get_queryset()).values())


class Made:
    """One operation of a view, with what is found out about it."""

    def __init__(self, view: Any, method: str | None = None) -> None:
        found = find_view(view)
        assert found is not None
        self.found: FoundView = found
        every = operations_of(found)
        self.operation: Operation = next((one for one in every if one.method == method), every[0])
        self.findings = DiscoveryProblems()
        instance = bare_view(found, self.operation, [])
        self.asked = ask_view(found, self.operation, instance, self.findings)
        self.assembly = Assembly(Shapes(self.findings), self.findings)
        self.mark = effective_mark(found, self.operation)

    def taken(self) -> Taken:
        return self.assembly.taken(self.operation, self.asked, self.mark)

    def sent(self) -> Sent:
        return self.assembly.sent(self.operation, self.asked, self.mark)


def extra(name: str, method: str = "post", **options: Any) -> Made:
    return Made(Contacts.as_view({method: name}, **options))


EMAIL: Json = {"type": "string", "format": "email", "minLength": 1, "maxLength": 254}


@pytest.mark.parametrize(
    ("made", "names", "required", "is_partial", "serializer"),
    [
        (Made(Contacts.as_view({"post": "create"})), ["email"], ("email",), False, ContactLineSerializer),
        (Made(Contacts.as_view({"put": "update"})), ["email"], ("email",), False, ContactLineSerializer),
        (Made(Contacts.as_view({"patch": "partial_update"})), ["email"], (), True, ContactLineSerializer),
        (extra("wave"), [], (), False, None),
        (
            extra("set_password", serializer_class=PasswordSerializer),
            ["password"],
            ("password",),
            False,
            PasswordSerializer,
        ),
        (extra("invite"), ["email"], ("email",), False, ContactLineSerializer),
        (extra("touch"), ["email"], (), True, ContactLineSerializer),
        (extra("load"), [], (), False, None),
        (extra("publish"), [], (), False, None),
    ],
    ids=["create", "update", "partial_update", "wave", "set_password", "invite", "touch", "load", "publish"],
)
def test_a_write_takes_what_its_code_reads(
    made: Made, names: list[str], required: tuple[str, ...], is_partial: bool, serializer: type | None
) -> None:
    taken = made.taken()
    assert (list(taken.properties), taken.required, taken.is_partial, taken.serializer, taken.has_body) == (
        names,
        required,
        is_partial,
        serializer,
        True,
    )


def test_a_body_that_nobody_describes_is_a_problem() -> None:
    made = extra("load")
    made.taken()
    assert list(made.findings) == [
        DiscoveryProblem(
            ProblemId.INPUT_UNKNOWN,
            "Reads the body of its request, and no serializer says what that holds; an agent can only call it without "
            "one.",
            "Name it with @mcp_tool(input=…), or with serializer_class.",
            f"{__name__}.Contacts.load",
        )
    ]


class ByHand(viewsets.ViewSet):
    def create(self, request: Request) -> Response:
        return Response(request.data)


class NoSerializer(viewsets.ModelViewSet[Contact]):
    queryset = Contact.objects.all()


class Free(serializers.BaseSerializer[Any]):
    def to_internal_value(self, data: Any) -> Any:
        return data


class Anything(viewsets.ModelViewSet[Contact]):
    queryset = Contact.objects.all()
    serializer_class = Free


class Registration(generics.GenericAPIView[Contact]):
    def post(self, request: Request) -> Response:
        self.get_serializer(data=request.data).is_valid(raise_exception=True)
        return Response()


@pytest.mark.parametrize("view", [ByHand, NoSerializer, Anything, Registration])
def test_a_write_through_a_serializer_that_nobody_knows_is_no_tool(view: Any) -> None:
    made = Made(view.as_view() if view is Registration else view.as_view({"post": "create"}))
    with pytest.raises(UnknownSerializer):
        made.taken()
    handler = "post" if view is Registration else "create"
    assert [(problem.id, problem.where) for problem in made.findings] == [
        (ProblemId.WRITE_UNKNOWN, f"{__name__}.{view.__name__}.{handler}")
    ]


def test_a_generic_view_takes_its_serializer_only_where_it_reads_a_body() -> None:
    class Recount(Registration):
        def post(self, request: Request) -> Response:
            return Response({"counted": True})

    views = [view.as_view(serializer_class=PasswordSerializer) for view in (Registration, Recount)]
    assert [list(Made(view).taken().properties) for view in views] == [["password"], []]


def test_a_read_takes_filters_only_where_its_code_applies_them() -> None:
    from rest_framework.filters import SearchFilter

    options: dict[str, Any] = {"filter_backends": [SearchFilter], "pagination_class": None}
    Contacts.search_fields = ("email",)  # type: ignore[attr-defined]  # only a search needs it
    taken = [extra(name, "get", **options).taken() for name in ("list", "mine", "retrieve")]
    assert [[one.name for one in each.query] for each in taken] == [["search"], ["search"], []]
    assert {each.has_body for each in taken} == {False}


# --- what is sent ----------------------------------------------------------------------------------------------------


def test_a_standard_answer_is_what_its_serializer_sends() -> None:
    for name, method in (("create", "post"), ("retrieve", "get"), ("update", "put"), ("partial_update", "patch")):
        assert extra(name, method).sent() == Sent(LINE, False, ContactLineSerializer), name
    listed = Sent({"type": "array", "items": LINE}, True, ContactLineSerializer)
    assert extra("list", "get").sent() == listed
    assert extra("destroy", "delete").sent() == Sent({"type": "null"})


def test_an_answer_that_is_made_by_hand_is_open_and_told() -> None:
    made = extra("wave")
    assert made.sent() == Sent({})
    assert list(made.findings) == [
        DiscoveryProblem(
            ProblemId.RESULT_OPEN,
            "Makes its answer itself, so an agent cannot know what comes back.",
            "Say it with @mcp_tool(output=…): a serializer, or a JSON Schema.",
            f"{__name__}.Contacts.wave",
        )
    ]


def test_a_view_that_finishes_its_answers_itself_is_open() -> None:
    class Enveloped(Contacts):
        def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
            response.data = {"data": response.data}
            return super().finalize_response(request, response, *args, **kwargs)

    assert Made(Enveloped.as_view({"get": "list"})).sent() == Sent({})


def test_a_list_serializer_of_the_projects_own_is_open() -> None:
    class Many(serializers.ListSerializer[Any]):
        def to_representation(self, data: Any) -> Any:
            return {"all": super().to_representation(data)}

    class Some(ContactLineSerializer):
        class Meta(ContactLineSerializer.Meta):
            list_serializer_class = Many

    made = Made(Contacts.as_view({"get": "list"}, serializer_class=Some))
    assert made.sent() == Sent({}, True, Some)


def test_definitions_stand_at_the_root_of_a_list() -> None:
    view = generics.ListAPIView.as_view(queryset=Site.objects.all(), serializer_class=RegionSerializer)
    schema = Made(view).sent().schema
    assert schema["items"] == {"$ref": "#/$defs/Region"}
    assert list(schema["$defs"]) == ["Region"]


def test_a_serializer_whose_fields_cannot_be_listed_is_a_problem() -> None:
    class Broken(serializers.Serializer[Any]):
        def get_fields(self) -> Any:
            return {"one": self.context["tenant"]}

    made = Made(Contacts.as_view({"get": "retrieve"}, serializer_class=Broken))
    assert made.sent() == Sent({})
    assert [(problem.id, problem.message.rpartition(": ")[2]) for problem in made.findings] == [
        (ProblemId.SERIALIZER_UNUSABLE, "'tenant'")
    ]


# --- what the author says --------------------------------------------------------------------------------------------


def marked(**said: Any) -> Made:
    class Some(viewsets.ViewSet):
        @action(detail=False, methods=["get", "post"])
        @mcp_tool(**said)
        def do(self, request: Request) -> Response:
            return Response(request.data)

    return Made(Some.as_view({said.pop("method", "post"): "do"}))


@pytest.mark.parametrize("declared", [PasswordSerializer, PasswordSerializer()], ids=["class", "instance"])
def test_an_input_may_be_named(declared: Any) -> None:
    taken = marked(input=declared).taken()
    assert (taken.properties, taken.required, taken.serializer) == (PASSWORD, ("password",), PasswordSerializer)


def test_an_input_of_a_patch_is_taken_in_parts() -> None:
    class Some(viewsets.ViewSet):
        @mcp_tool(input=PasswordSerializer)
        def partial_update(self, request: Request) -> Response:
            return Response(request.data)

    taken = Made(Some.as_view({"patch": "partial_update"})).taken()
    assert (taken.properties, taken.required, taken.is_partial) == (PASSWORD, (), True)


def test_an_input_may_be_a_list() -> None:
    taken = marked(input=PasswordSerializer(many=True)).taken()
    inner = {"type": "object", "properties": PASSWORD, "required": ["password"]}
    assert (taken.properties, taken.required, taken.takes_list) == (
        {"objects": {"type": "array", "items": inner}},
        ("objects",),
        True,
    )


def test_an_input_may_be_a_schema_with_definitions() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"], "$defs": {"A": {}}}
    taken = marked(input=schema).taken()
    assert (taken.properties, taken.required, taken.definitions) == ({"a": {"$ref": "#/$defs/A"}}, ("a",), {"A": {}})


def test_the_input_of_a_read_goes_into_its_query() -> None:
    class Some(viewsets.ViewSet):
        @mcp_tool(input=PasswordSerializer)
        def list(self, request: Request) -> Response:
            return Response()

    taken = Made(Some.as_view({"get": "list"})).taken()
    assert (taken.query, taken.has_body, taken.names) == (
        (QueryParameter("password", PASSWORD["password"], is_required=True),),
        False,
        frozenset(["password"]),
    )


def test_an_output_may_be_named() -> None:
    assert marked(output=ContactLineSerializer).sent() == Sent(LINE, False, ContactLineSerializer)
    listed = Sent({"type": "array", "items": LINE}, True, ContactLineSerializer)
    assert marked(output=ContactLineSerializer(many=True)).sent() == listed
    assert marked(output={"type": "object"}).sent() == Sent({"type": "object"})


def test_what_is_neither_serializer_nor_schema_is_refused() -> None:
    with pytest.raises(TypeError, match="int is neither a serializer nor a JSON Schema"):
        marked(output=3).sent()


def test_a_class_speaks_for_its_one_view_and_not_for_a_viewset() -> None:
    said = mcp_tool(kind="read", description="Looks.", input=PasswordSerializer)
    view: Any = said(type("View", (generics.CreateAPIView,), {"serializer_class": SiteSerializer}))
    viewset: Any = said(type("Views", (viewsets.ModelViewSet,), {"serializer_class": SiteSerializer}))
    assert Made(view.as_view()).mark == ToolMark(None, "Looks.", None, "read", PasswordSerializer, None)
    assert Made(viewset.as_view({"post": "create"})).mark == UNMARKED


# --- kinds and hints -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "method", "kind", "hints"),
    [
        ("list", "get", "read", (True, False, True)),
        ("create", "post", "write", (False, False, False)),
        ("update", "put", "write", (False, False, True)),
        ("partial_update", "patch", "write", (False, False, False)),
        ("destroy", "delete", "write", (False, True, True)),
        ("wave", "post", "write", (False, False, False)),
    ],
)
def test_kinds_and_hints_follow_from_the_method(
    name: str, method: str, kind: str, hints: tuple[bool, bool, bool]
) -> None:
    operation = extra(name, method).operation
    assert kind_of(operation, UNMARKED) == kind
    found = annotations_of(operation, kind_of(operation, UNMARKED))
    assert tuple(found.values()) == (*hints, False)
    assert list(found) == ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]


@pytest.mark.parametrize(
    ("kind", "hints"), [("read", (True, False, True, False)), ("admin", (False, True, True, False))]
)
def test_a_kind_that_is_named_holds(kind: Any, hints: tuple[bool, ...]) -> None:
    operation = extra("destroy", "delete").operation
    assert kind_of(operation, ToolMark(kind=kind)) == kind
    assert tuple(annotations_of(operation, kind).values()) == hints
