"""Discovery of whole projects: names, collisions, what is left out, and what it may cost."""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.utils import translation
from django.utils.translation import gettext_lazy
from rest_framework import serializers, viewsets
from rest_framework.decorators import action, api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import DefaultRouter, SimpleRouter

from handfast.django.decorators import mcp_tool
from handfast.django.discovery import DiscoveryProblem, ProblemId, UrlTarget, ViewTool, discover, survey
from tests.django.discovery.calling import TOOLS, call
from tests.django.project.models import Contact, Site, Tag
from tests.django.project.serializers import ContactSerializer, SiteSerializer
from tests.django.project.views import ContactViewSet, HealthViewSet, SiteViewSet

Patterns = Sequence[URLPattern | URLResolver]


@pytest.mark.requirement("D22")
def test_the_project_has_these_tools() -> None:
    assert {name: (tool.method, tool.route, tool.kind) for name, tool in TOOLS.items()} == {
        "alarm": ("POST", "/api/v1/health/sound_alarm/", "admin"),
        "contacts__create": ("POST", "/api/v1/contacts/", "write"),
        "contacts__destroy": ("DELETE", "/api/v1/contacts/{id}/", "write"),
        "contacts__forget_recent": ("DELETE", "/api/v1/contacts/recent/", "write"),
        "contacts__list": ("GET", "/api/v1/contacts/", "read"),
        "contacts__note__get": ("GET", "/api/v1/contacts/{id}/note/", "read"),
        "contacts__note__post": ("POST", "/api/v1/contacts/{id}/note/", "write"),
        "contacts__partial_update": ("PATCH", "/api/v1/contacts/{id}/", "write"),
        "contacts__recent": ("GET", "/api/v1/contacts/recent/", "read"),
        "contacts__retrieve": ("GET", "/api/v1/contacts/{id}/", "read"),
        "contacts__set_password": ("POST", "/api/v1/contacts/{id}/set-password/", "write"),
        "contacts__update": ("PUT", "/api/v1/contacts/{id}/", "write"),
        "dcim__devices__create": ("POST", "/api/v1/dcim/devices", "write"),
        "dcim__devices__destroy": ("DELETE", "/api/v1/dcim/devices/{id}", "write"),
        "dcim__devices__list": ("GET", "/api/v1/dcim/devices", "read"),
        "dcim__devices__partial_update": ("PATCH", "/api/v1/dcim/devices/{id}", "write"),
        "dcim__devices__retrieve": ("GET", "/api/v1/dcim/devices/{id}", "read"),
        "dcim__devices__update": ("PUT", "/api/v1/dcim/devices/{id}", "write"),
        "dcim__racks__create": ("POST", "/api/v1/dcim/racks/", "write"),
        "dcim__racks__destroy": ("DELETE", "/api/v1/dcim/racks/{id}/", "write"),
        "dcim__racks__list": ("GET", "/api/v1/dcim/racks/", "read"),
        "dcim__racks__partial_update": ("PATCH", "/api/v1/dcim/racks/{lookup_id}/", "write"),
        "dcim__racks__retrieve": ("GET", "/api/v1/dcim/racks/{id}/", "read"),
        "dcim__racks__update": ("PUT", "/api/v1/dcim/racks/{lookup_id}/", "write"),
        "dcim__sites__devices__create": ("POST", "/api/v1/dcim/sites/{site_pk}/devices/", "write"),
        "dcim__sites__devices__list": ("GET", "/api/v1/dcim/sites/{site_pk}/devices/", "read"),
        "dcim__sites__list": ("GET", "/api/v1/dcim/sites", "read"),
        "dcim__sites__retrieve": ("GET", "/api/v1/dcim/sites/{site_slug}", "read"),
        "echo": ("POST", "/api/v1/echo/", "write"),
        "health__list": ("GET", "/api/v1/health/", "read"),
        "ping__get": ("GET", "/api/v1/ping/", "read"),
        "regions__retrieve": ("GET", "/api/v1/regions/{id}/", "read"),
    }


def test_a_tool_says_all_that_is_needed_to_call_it() -> None:
    tool = TOOLS["contacts__set_password"]
    password = {"type": "string", "minLength": 8}
    which = {"type": "integer", "description": "Which contact, by its id."}
    assert tool.input_schema == {
        "type": "object",
        "properties": {"id": which, "password": password},
        "required": ["id", "password"],
    }
    assert (tool.body, tool.query, tool.handler, tool.action, tool.view) == (
        ("password",),
        (),
        "set_password",
        "set_password",
        ContactViewSet,
    )
    assert (tool.url_name, tool.is_detail, tool.is_list, tool.initkwargs["basename"]) == (
        "contact-set-password",
        True,
        False,
        "contact",
    )
    assert tool.path.target({"id": 7}) == UrlTarget("/api/v1/contacts/7/set-password/", {"pk": "7"})
    assert TOOLS["dcim__sites__list"].url_name == "dcim:site-list"


def test_every_argument_goes_to_exactly_one_place() -> None:
    for tool in TOOLS.values():
        places = [*(each.name for each in tool.path.parameters), *(one.name for one in tool.query), *(tool.body or ())]
        assert Counter(places) == Counter(list(tool.input_schema["properties"])), tool.name
        assert set(tool.input_schema.get("required", ())) <= set(places), tool.name


def test_what_a_flat_call_sends_is_what_is_stored(database: None) -> None:
    sent = {"email": "agent@example.com", "first_name": "Agent", "notes": "flat"}
    status, answer = call(TOOLS["contacts__create"], sent)
    stored = Contact.objects.values("id", "email", "first_name", "notes", "last_name").get()
    assert (status, stored) == (201, {**sent, "last_name": "", "id": answer["id"]})


# --- names and collisions --------------------------------------------------------------------------------------------


def router(*registered: tuple[str, Any], kind: Any = SimpleRouter) -> Any:
    made = kind()
    for number, (prefix, viewset) in enumerate(registered):
        made.register(prefix, viewset, basename=f"thing{number}")
    return made.urls


def names(patterns: Patterns, **selection: Any) -> list[str]:
    return [tool.name for tool in discover(patterns, **selection)]


def test_a_viewset_that_is_mounted_twice_is_two_sets_of_tools() -> None:
    patterns = [path("api/", include(router(("sites", SiteViewSet), ("places", SiteViewSet))))]
    assert names(patterns) == ["places__list", "places__retrieve", "sites__list", "sites__retrieve"]


LISTING = SiteViewSet.as_view({"get": "list"})


@pytest.mark.requirement("D22")
def test_a_name_that_two_tools_would_have_is_neither_ones() -> None:
    urls = router(("sites", SiteViewSet))
    found = survey([path("api/v1/", include(urls)), path("api/v2/", include(urls)), path("x/", include(urls))])
    assert [tool.name for tool in found.tools] == ["x__sites__list", "x__sites__retrieve"]
    where = "tests.django.project.views.SiteViewSet"
    hint = "Leave one of them out: HANDFAST['EXCLUDE'] = ['/api/v1/*']. Or give it a name with @mcp_tool(name=…)."
    assert found.problems == (
        DiscoveryProblem(
            ProblemId.NAME_TAKEN,
            "'sites__list' would be the name of 2 tools, so none of them is one: "
            "GET /api/v1/sites/, GET /api/v2/sites/.",
            hint,
            f"{where}.list",
        ),
        DiscoveryProblem(
            ProblemId.NAME_TAKEN,
            "'sites__retrieve' would be the name of 2 tools, so none of them is one: "
            "GET /api/v1/sites/{site_slug}/, GET /api/v2/sites/{site_slug}/.",
            hint,
            f"{where}.retrieve",
        ),
    )
    alike = survey(
        [path("sites/", LISTING), path("api/", include([path("sites/", LISTING), path("v1/sites/", LISTING)]))]
    )
    same = survey([path("a b/", LISTING), path("a_b/", LISTING)])
    assert {problem.hint for problem in alike.problems} == {hint}
    assert {problem.hint for problem in same.problems} == {
        "Give one of them a name with @mcp_tool(name=…), or leave one out by its url: HANDFAST['EXCLUDE']."
    }
    assert names([path("api/v1/", include(urls)), path("api/v2/", include(urls))], exclude=["/api/v1/*"]) == [
        "sites__list",
        "sites__retrieve",
    ]


def test_a_pattern_that_is_spelt_twice_is_reached_once() -> None:
    urls = router(("sites", SiteViewSet))
    found = survey([path("api/", include(urls)), path("api/", include(urls))])
    assert ([tool.name for tool in found.tools], found.problems) == (["sites__list", "sites__retrieve"], ())


def test_the_root_and_suffixes_of_a_default_router_are_no_tools() -> None:
    assert names([path("", include(router(("sites", SiteViewSet), kind=DefaultRouter)))]) == [
        "sites__list",
        "sites__retrieve",
    ]


def test_a_viewset_at_the_root_is_named_by_its_basename() -> None:
    assert names([path("api/", include(router(("", SiteViewSet))))]) == ["thing0__list", "thing0__retrieve"]


def test_a_language_is_part_of_the_path_and_not_of_the_name() -> None:
    (tool,) = discover(i18n_patterns(path("api/health/", HealthViewSet.as_view({"get": "list"}))))
    assert (tool.name, tool.path.target({}).path) == ("health__list", "/en-us/api/health/")


def test_a_name_that_is_too_long_is_shortened_and_told() -> None:
    long, longer = "l" * 70, "m" * 140
    found = survey([path("", include(router((long, HealthViewSet), (longer, HealthViewSet))))], exclude=["alarm"])
    assert [len(tool.name) for tool in found.tools] == [76, 128]
    told = {problem.id: problem.message for problem in found.problems}
    assert told[ProblemId.NAME_LONG] == "Has a name of 76 characters; some models take no more than 64."
    assert told[ProblemId.NAME_SHORTENED].startswith("Has a name of 146 characters; it is called 'mmmm")


class Renamed(viewsets.ReadOnlyModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class = SiteSerializer

    @mcp_tool(name="where", description="Find a place.")
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().retrieve(request, *args, **kwargs)

    @mcp_tool(exclude=True)
    @action(detail=False)
    def secret(self, request: Request) -> Response:
        return Response()


@mcp_tool(name="places")
class RenamedAsWhole(Renamed): ...


def test_an_author_names_describes_and_leaves_out() -> None:
    tools = discover([path("", include(router(("sites", Renamed))))])
    assert [(tool.name, tool.description) for tool in tools] == [
        ("sites__list", "List sites."),
        ("where", "Find a place."),
    ]
    assert names([path("", include(router(("sites", RenamedAsWhole))))]) == ["places__list", "where"]


# --- include and exclude ---------------------------------------------------------------------------------------------


def test_settings_choose_before_anything_is_described() -> None:
    class Broken(viewsets.ReadOnlyModelViewSet[Site]):
        def __init__(self, **kwargs: Any) -> None:
            raise RuntimeError("never made")

    patterns = [path("", include(router(("sites", SiteViewSet), ("broken", Broken))))]
    with override_settings(HANDFAST={"EXCLUDE": ["broken__*"]}):
        assert survey(patterns).problems == ()
    assert [problem.id for problem in survey(patterns).problems] == [ProblemId.VIEW_UNUSABLE] * 2


def test_patterns_that_match_nothing_are_told() -> None:
    found = survey(router(("sites", SiteViewSet)), include=["sites__*"], exclude=["sites__destroy"])
    assert [(problem.id, problem.message) for problem in found.problems] == [
        (ProblemId.PATTERN_UNMATCHED, "No tool matches 'sites__destroy'.")
    ]


# --- what cannot be one ----------------------------------------------------------------------------------------------


class ForUsers(viewsets.ModelViewSet[Contact]):
    def get_queryset(self) -> Any:
        return self.request.user.contacts.all()  # type: ignore[union-attr]  # nobody is a user here

    def get_serializer_class(self) -> Any:
        return self.request.user.serializer  # type: ignore[union-attr]  # as above


def test_one_broken_view_does_not_hide_the_others() -> None:
    class Broken(viewsets.ReadOnlyModelViewSet[Site]):
        queryset = Site.objects.all()

        @property
        def versioning_class(self) -> Any:  # type: ignore[override]  # raises on purpose
            raise RuntimeError("no such\ntenant")

    found = survey(router(("broken", Broken), ("for-users", ForUsers), ("sites", SiteViewSet)))
    assert [tool.name for tool in found.tools] == [
        "for-users__destroy",
        "for-users__list",
        "for-users__retrieve",
        "sites__list",
        "sites__retrieve",
    ]
    assert Counter((problem.id, problem.where.rpartition(".")[2]) for problem in found.problems) == {
        (ProblemId.VIEW_UNUSABLE, "list"): 1,
        (ProblemId.VIEW_UNUSABLE, "retrieve"): 1,
        (ProblemId.WRITE_UNKNOWN, "create"): 1,
        (ProblemId.WRITE_UNKNOWN, "update"): 1,
        (ProblemId.WRITE_UNKNOWN, "partial_update"): 1,
        **{
            (ProblemId.SERIALIZER_UNKNOWN, name): 1
            for name in ("create", "update", "partial_update", "list", "retrieve", "destroy")
        },
    }
    assert found.problems[0] == DiscoveryProblem(
        ProblemId.VIEW_UNUSABLE,
        "Is no tool: RuntimeError: no such tenant",
        "Let the view be made and asked without a caller, or leave it out with @mcp_tool(exclude=True).",
        f"{__name__}.test_one_broken_view_does_not_hide_the_others.<locals>.Broken.list",
    )


def test_a_url_from_which_no_path_can_be_made_is_told() -> None:
    found = survey([re_path(r"^sites/(\d+)/$", SiteViewSet.as_view({"get": "retrieve"}))])
    assert found.problems == (
        DiscoveryProblem(
            ProblemId.ADDRESS_UNCLEAR,
            "No path can be made from its url pattern: it has a parameter without a name.",
            "Write the pattern with path() and named parameters.",
            "tests.django.project.views.SiteViewSet",
        ),
    )


def test_what_only_its_author_can_describe_is_left_out_and_told() -> None:
    assert [(problem.id, problem.where) for problem in survey().problems if problem.id is ProblemId.LEFT_OUT] == [
        (ProblemId.LEFT_OUT, "tests.django.project.views.Login"),
        (ProblemId.LEFT_OUT, "tests.django.project.views.hidden"),
    ]


# --- when and at what cost -------------------------------------------------------------------------------------------


def test_what_is_registered_later_is_found_later() -> None:
    late: list[URLPattern | URLResolver] = []
    patterns = [path("api/", include(late))]
    assert discover(patterns) == ()
    late += router(("sites", SiteViewSet))
    assert len(discover(patterns)) == 2


def test_discovery_sends_no_query(tables: None) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert len(survey().tools) == len(TOOLS)
    assert list(queries) == []


class StoredFieldsSerializer(serializers.ModelSerializer[Site]):
    """With the fields that a customer has added."""

    class Meta:
        model = Site
        fields = ("id", "name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for tag in Tag.objects.order_by("name"):
            self.fields[f"custom_{tag.name}"] = serializers.CharField(required=True)


class StoredFields(viewsets.ModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class = StoredFieldsSerializer


def test_fields_that_are_kept_in_the_database_are_read_from_it(database: None) -> None:
    Tag.objects.create(name="color")
    found = survey(router(("sites", StoredFields)))
    create = next(tool for tool in found.tools if tool.action == "create")
    assert create.input_schema["required"] == ["name", "custom_color"]
    assert [(one.id, one.where) for one in found.problems] == [
        (ProblemId.FIELDS_STORED, f"{__name__}.StoredFieldsSerializer")
    ]


def test_where_no_query_may_be_sent_they_are_told_and_nothing_is_an_error(database: None) -> None:
    sent: list[str] = []

    def note(execute: Any, sql: str, *more: Any) -> Any:
        answer = execute(sql, *more)
        sent.append(sql)  # what was refused never comes here
        return answer

    with connection.execute_wrapper(note):
        found = survey(router(("sites", StoredFields)), may_query=False)
    assert (found.tools, sent) == ((), [])
    assert {one.id for one in found.problems} == {ProblemId.FIELDS_STORED}
    assert f"{__name__}.StoredFields.create" in {one.where for one in found.problems}


def test_an_authors_schema_is_kept_whole_and_every_name_in_it_has_its_place() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"kind": {"enum": ["mail", "call"]}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "mail"}}},
        "then": {"properties": {"address": {"type": "string"}}, "required": ["address"]},
        "else": {"properties": {"number": {"$ref": "#/$defs/Number"}}},
        "$defs": {"Number": {"type": "integer"}},
    }

    @mcp_tool(name="seek", input=schema)
    @api_view(["GET"])
    def seek(request: Request) -> Response:
        return Response({})

    @mcp_tool(name="reach", input=schema)
    @api_view(["POST"])
    def reach(request: Request) -> Response:
        return Response({})

    reads, writes = survey([path("seek/", seek), path("reach/", reach)]).tools[::-1]
    assert (reads.name, [each.name for each in reads.query], reads.body) == (
        "seek",
        ["kind", "address", "number"],
        None,
    )
    assert (writes.name, writes.query, writes.body) == ("reach", (), ("kind", "address", "number"))
    assert writes.input_schema == schema
    assert reads.input_schema == {
        **schema,
        "properties": {"kind": schema["properties"]["kind"], "address": {}, "number": {}},
    }


def test_texts_are_in_the_projects_language_whoever_asks_first() -> None:
    class Some(serializers.Serializer[Any]):
        size = serializers.IntegerField(help_text=gettext_lazy("Yes"))

    class Things(viewsets.ModelViewSet[Contact]):
        queryset = Contact.objects.all()
        serializer_class = Some

    with translation.override("de"):
        assert str(gettext_lazy("Yes")) == "Ja"
        (tool,) = discover(router(("things", Things)), include=["*__create"])
    assert tool.input_schema["properties"]["size"]["description"] == "Yes."


def test_the_same_project_has_the_same_tools_every_time() -> None:
    def told(tools: Sequence[ViewTool]) -> list[object]:
        return [(tool.name, tool.description, tool.input_schema, tool.output_schema) for tool in tools]

    assert told(discover()) == told(discover())
    assert survey().problems == survey().problems


def test_each_serializer_is_described_once_however_many_views_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Counter[str] = Counter()
    make = serializers.ModelSerializer.get_fields

    def counted(self: Any) -> Any:
        made[type(self).__name__] += 1
        return make(self)

    monkeypatch.setattr(serializers.ModelSerializer, "get_fields", counted)
    many = [(f"contacts{number}", ContactViewSet) for number in range(100)]
    found = survey(router(*many), include=["*__retrieve", "*__create", "*__partial_update", "*__list"])
    assert len(found.tools) == 400
    assert made == {"ContactSerializer": 1, "ProfileSerializer": 1, "ContactLineSerializer": 1}


def test_the_work_grows_no_faster_than_the_number_of_views() -> None:
    assert steps(40) - steps(20) <= 1.1 * (steps(20) - steps(0))


def steps(count: int) -> int:
    """How many functions are called to discover so many viewsets."""
    urls = router(*((f"contacts{number}", ContactViewSet) for number in range(count)))
    survey(urls)  # so that nothing is done for the first time below
    called = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal called
        called += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        survey(urls)
    finally:
        sys.setprofile(before)
    return called


def test_a_serializer_is_named_with_its_tool() -> None:
    tool = TOOLS["contacts__create"]
    assert (tool.input_serializer, tool.output_serializer) == (ContactSerializer, ContactSerializer)
    assert (TOOLS["echo"].input_serializer, TOOLS["contacts__destroy"].output_serializer) == (None, None)
