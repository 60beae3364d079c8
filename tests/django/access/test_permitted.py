"""Which tools a caller is shown: scopes first, then what the views themselves say."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import include, path
from hypothesis import given
from hypothesis import strategies as st
from rest_framework import authentication, permissions, viewsets
from rest_framework.routers import SimpleRouter
from rest_framework.versioning import URLPathVersioning

from handfast.core.access.scopes import Scope, kind_of
from handfast.django.access import ApiCaller, identify_caller, is_in_scope, issue, may_use, usable_tools
from handfast.django.discovery import ViewTool, discover
from handfast.django.models import AgentToken
from tests.django.access.guarded import ByKey
from tests.django.access.probe import TOOLS
from tests.django.project.models import Site
from tests.django.project.serializers import SiteSerializer

OPEN = ["sites__list", "sites__retrieve", "staffed__anybody"]  # to everybody
WRITES = ["sites__create", "sites__destroy", "sites__partial_update", "sites__update"]
DEVICES = "sites__devices__"


@pytest.fixture
def ada(database: None) -> Any:
    return User.objects.create_user("ada")


def shown(caller: ApiCaller) -> list[str]:
    return [tool.name for tool in usable_tools(caller, TOOLS, caller.request)]


def caller(headers: Mapping[str, str] | None = None) -> ApiCaller:
    return identify_caller(RequestFactory().post("/mcp/", b"{}", content_type="application/json", headers=headers))


def holding(user: Any, scopes: str = "*") -> ApiCaller:
    """The user through a token of ours."""
    _, plain = issue(user, name=f"of {user}", scopes=scopes)
    return caller({"Authorization": f"Bearer {plain}"})


def with_key(user: Any) -> ApiCaller:
    """The user as the project itself knows it."""
    return caller({"Authorization": f"Bearer key-{user}"})


# --- views -----------------------------------------------------------------------------------------------------------


def test_nobody_is_shown_what_everybody_may(database: None) -> None:
    assert shown(caller()) == sorted(OPEN)


@pytest.mark.parametrize("known", [holding, with_key])
def test_a_user_is_shown_what_its_views_let_it_do(ada: Any, known: Callable[[Any], ApiCaller]) -> None:
    who = known(ada)
    keyed = ["keyed__list", "keyed__retrieve"] if known is with_key else []
    devices = [f"{DEVICES}list", f"{DEVICES}retrieve"]  # model permissions are asked for writes alone
    assert shown(who) == sorted([*OPEN, *WRITES, *keyed, *devices, "staffed__list"])


@pytest.mark.parametrize("known", [holding, with_key])
def test_permissions_of_models_and_staff_open_their_tools(ada: Any, known: Callable[[Any], ApiCaller]) -> None:
    before = shown(known(ada))
    ada.user_permissions.add(Permission.objects.get(codename="change_device"))
    ada.is_staff = True
    ada.save()
    AgentToken.objects.all().delete()
    after = shown(known(ada))
    assert sorted(set(after) - set(before)) == [f"{DEVICES}partial_update", f"{DEVICES}update", "staffed__retrieve"]


def test_a_key_that_the_views_refuse_shows_only_what_asks_for_none(database: None) -> None:
    assert shown(caller({"Authorization": "Bearer key-eve"})) == ["staffed__anybody"]


def test_a_view_that_cannot_say_is_hidden_with_one_line(ada: Any, caplog: pytest.LogCaptureFixture) -> None:
    careless = [tool for tool in TOOLS if tool.name.startswith("careless")]
    assert usable_tools(holding(ada), careless, caller().request) == []
    said = "tests.django.access.guarded.CarelessViewSet raised KeyError and is not listed."
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"access.permissions_raised: {said} Let it decide without an object.")
    ]


def test_asking_one_by_one_says_the_same(ada: Any) -> None:
    for who in (caller(), holding(ada), with_key(ada)):
        assert [tool.name for tool in TOOLS if may_use(who, tool)] == shown(who)


def test_a_view_learns_nothing_of_the_message_and_changes_nothing_of_the_request(ada: Any) -> None:
    seen: list[Any] = []

    class Curious(permissions.BasePermission):
        def has_permission(self, request: Any, view: Any) -> bool:
            seen.append((request.method, request.data, dict(request.query_params), request.body, request.is_secure()))
            seen.append((request.user, request.version, request.accepted_renderer.format, view.action, view.kwargs))
            request._request.user = request._request.mark = "spoilt"
            return True

    class View(viewsets.ModelViewSet[Site]):
        queryset = Site.objects.all()
        serializer_class = SiteSerializer
        permission_classes = (Curious,)
        authentication_classes = (ByKey,)
        versioning_class = URLPathVersioning

    [tool] = [tool for tool in discover(routed({"sites": View})) if tool.name == "sites__update"]
    request = RequestFactory().post(
        "/mcp/?q=1", b'{"a":1}', "application/json", secure=True, headers={"Authorization": "Bearer key-ada"}
    )
    before = dict(vars(request))
    assert usable_tools(identify_caller(request), [tool], request) == [tool]
    assert seen == [("PUT", {}, {}, b"", True), (ada, None, "json", "update", {"pk": None})]
    assert vars(request) == before
    assert request.body == b'{"a":1}'


def test_one_view_cannot_sign_a_caller_in_for_another(ada: Any) -> None:
    class ByKeyOnly(viewsets.ReadOnlyModelViewSet[Site]):
        queryset = Site.objects.all()
        serializer_class = SiteSerializer
        authentication_classes = (ByKey,)
        permission_classes = (permissions.IsAuthenticated,)

    class BySession(ByKeyOnly):
        authentication_classes = (authentication.SessionAuthentication,)  # type: ignore[assignment]  # on purpose

    tools = discover(routed({"a": ByKeyOnly, "b": BySession, "c": ByKeyOnly}))
    who = with_key(ada)
    assert [tool.name for tool in usable_tools(who, tools, who.request)] == [
        "a__list",
        "a__retrieve",
        "c__list",
        "c__retrieve",
    ]


# --- scopes ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("D24")
@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        ("django:read", [*OPEN, f"{DEVICES}list", f"{DEVICES}retrieve", "staffed__list"]),
        # What deletes is annotated as destructive.
        ("*:write", ["sites__create", "sites__partial_update", "sites__update"]),
        ("django:admin", ["sites__destroy"]),
        ("django/sites__create *:admin", ["sites__create", "sites__destroy"]),
        ("django/careless__list", []),  # out of the view's permissions, whatever the scope says
        ("other", []),
        ("contacts/*", []),
    ],
)
def test_scopes_take_away_and_never_add(ada: Any, scopes: str, expected: list[str]) -> None:
    assert shown(holding(ada, scopes)) == sorted(expected)


def test_the_name_of_the_server_is_that_of_the_settings(ada: Any) -> None:
    with override_settings(HANDFAST={"NAME": "crm"}):
        assert shown(holding(ada, "crm/sites__list django/sites__retrieve")) == ["sites__list"]


@given(st.lists(st.builds(Scope, st.sampled_from(["django", "*", "x"]), st.text("sitel_*", min_size=1, max_size=6))))
def test_a_tool_is_in_scope_by_its_name_and_annotations_alone(scopes: list[Scope]) -> None:
    request = RequestFactory().post("/mcp/")
    who = ApiCaller(request, scopes=tuple(scopes))
    for tool in TOOLS:
        expected = any(one.allows(server="django", tool=tool.name, kind=kind_of(tool.annotations)) for one in scopes)
        assert is_in_scope(who, tool) == expected
        assert is_in_scope(ApiCaller(request), tool)


def test_views_out_of_scope_are_not_even_asked(ada: Any) -> None:
    who = holding(ada, "django/none")
    with CaptureQueriesContext(connection) as queries:
        assert shown(who) == []
    assert len(queries) == 0


# --- how much it costs -----------------------------------------------------------------------------------------------


def routed(views: Mapping[str, Any]) -> Any:
    router = SimpleRouter()
    for name, view in views.items():
        router.register(name, view, basename=name)
    return (path("api/", include(router.urls)),)


def many(count: int) -> list[ViewTool]:
    """So many tools, each of a view of its own or an action of one."""
    base = {
        "queryset": Site.objects.all(),
        "serializer_class": SiteSerializer,
        "authentication_classes": (ByKey, authentication.SessionAuthentication),
        "permission_classes": (permissions.IsAuthenticated, permissions.DjangoModelPermissions),
    }
    views = {f"v{number}": type(f"V{number}", (viewsets.ModelViewSet,), base) for number in range(count // 6 + 1)}
    return list(discover(routed(views))[:count])


@pytest.fixture(scope="module")
def two_thousand() -> list[ViewTool]:
    return many(2_000)


@pytest.mark.parametrize("known", [holding, with_key])
def test_a_listing_of_2000_tools_costs_no_query_per_tool(
    ada: Any, known: Callable[[Any], ApiCaller], two_thousand: list[ViewTool]
) -> None:
    ada.user_permissions.set(Permission.objects.filter(content_type__model="site"))
    counts = []
    for tools in (two_thousand[:20], two_thousand):
        AgentToken.objects.all().delete()
        who, ByKey.asked = known(ada), 0
        with CaptureQueriesContext(connection) as queries:
            assert usable_tools(who, tools, who.request) == tools
        counts.append((len(queries), ByKey.asked))
    # A user's permissions are two queries. A key is looked up for reads and once more for writes.
    assert counts == [(2, 0) if known is holding else (4, 2)] * 2
