"""What the doctor sees of a project."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.test import override_settings
from django.urls import include, path
from rest_framework.permissions import AllowAny, IsAdminUser, IsAuthenticated

from handfast.django.access import issue
from handfast.django.checks.catalogue import CheckId
from handfast.django.discovery import ProblemId
from handfast.django.inspect.doctor import Argument, Diagnosis, _name, as_json, examine_project, whole_tool
from tests.django.other_urls import ours, project
from tests.django.project.urls import router
from tests.django.project.views import Login


@contextmanager
def diagnosis(**settings: Any) -> Iterator[Diagnosis]:
    """Of contacts, the machine room's health and a login, at whose urls there is nothing of MCP."""
    with project(path("api/", include(router.urls)), path("login/", Login.as_view()), **settings):
        yield examine_project()


def test_every_tool_is_seen_with_its_arguments_and_its_result() -> None:
    with diagnosis() as found:
        seen = {one.name: one for one in found.tools}
    assert {name.partition("__")[0] for name in seen} == {"alarm", "contacts", "health"}
    assert seen["alarm"].arguments == tuple(
        Argument(name, is_required=True) for name in ("password", "confirm", "reason")
    )
    assert {name: seen[name].result for name in ("alarm", "contacts__destroy", "contacts__note__get")} == {
        "alarm": "typed",
        "contacts__destroy": "nothing",
        "contacts__note__get": "open",
    }
    assert seen["contacts__note__get"].call == "GET /api/contacts/{id}/note/"
    assert seen["contacts__note__get"].permissions == ()


def test_it_tells_warnings_before_notes_and_counts_both() -> None:
    with diagnosis() as found:
        told = [(str(one.id), one.where.rpartition(".")[2]) for one in found.findings]
    assert told == [
        (CheckId.NOT_MOUNTED, "ROOT_URLCONF"),
        (CheckId.OPEN_TO_ALL, "ContactViewSet"),
        (CheckId.OPEN_TO_ALL, "HealthViewSet"),
        (ProblemId.LEFT_OUT, "Login"),
        (ProblemId.RESULT_OPEN, "forget_recent"),
        (ProblemId.RESULT_OPEN, "note"),
        (ProblemId.RESULT_OPEN, "set_password"),
        (ProblemId.RESULT_OPEN, "list"),
    ]
    assert [found.count(level) for level in ("error", "warning", "info")] == [0, 3, 5]


def test_the_endpoint_is_named_where_there_is_one() -> None:
    with project(ours()):
        assert examine_project() == Diagnosis(("/mcp/",), (), ())


def test_what_is_silenced_is_only_counted() -> None:
    with diagnosis(SILENCED_SYSTEM_CHECKS=["handfast.W030", "handfast.I002"]) as found:
        assert [one.id for one in found.findings] == [CheckId.NOT_MOUNTED, ProblemId.LEFT_OUT]
        assert found.silenced == 6


def test_wrong_settings_are_told_and_no_tool_is_looked_for() -> None:
    with diagnosis(HANDFAST={"EXCLUDE": "contacts"}) as found:
        assert (found.tools, [one.id for one in found.findings][:1]) == ((), [CheckId.SETTINGS_WRONG])


def test_one_tool_is_found_by_its_name_and_told_whole() -> None:
    with diagnosis() as found:
        seen = found.tool("contacts__set_password")
    assert seen is not None
    assert found.tool("contacts__nothing") is None
    assert whole_tool(seen) == {
        **next(one for one in as_json(found)["tools"] if one["name"] == "contacts__set_password"),
        **seen.published,
        "view": "tests.django.project.views.ContactViewSet.set_password",
    }
    assert seen.published["inputSchema"]["required"] == ["id", "password"]


def test_dispatchers_are_seen_and_what_they_hide_is_not() -> None:
    with diagnosis(HANDFAST={"DISPATCHERS": "resources", "HIDE_DISPATCHED": True}) as found:
        assert [(one.name, one.kind, one.call) for one in found.tools] == [
            ("alarm", "admin", "POST /api/health/sound_alarm/"),
            ("contacts", "dispatcher", "-"),
            ("health__list", "read", "GET /api/health/"),
        ]
        hidden = found.tool("contacts__create")
    assert hidden in found.hidden
    assert as_json(found)["hidden"] == [one.name for one in found.hidden]
    dispatcher = found.tool("contacts")
    assert dispatcher is not None
    assert (whole_tool(dispatcher)["view"], dispatcher.permissions, dispatcher.result) == (None, None, "open")


def test_tools_that_cannot_be_served_together_are_an_error_and_none_is_seen() -> None:
    with diagnosis(HANDFAST={"DISPATCHERS": {"crm": ["customers__*"]}}) as found:
        assert (found.tools, [one.id for one in found.findings][:1]) == ((), [CheckId.NOT_SERVABLE])


def test_a_project_without_urls_has_nothing_to_show() -> None:
    with override_settings():
        del settings.ROOT_URLCONF
        assert examine_project() == Diagnosis((), (), ())


def test_only_what_somebody_is_listed_is_shown(database: None) -> None:
    User.objects.create_user("ada")
    with project(path("api/", include(router.urls))):
        every, hers = examine_project(), examine_project("ada")
        assert hers == every  # nothing asks for permissions here
    issue(User.objects.get(), name="reader", scopes="django/contacts__*:read")
    with project(path("api/", include(router.urls))):
        names = [one.name for one in examine_project("token:reader").tools]
    assert names == ["contacts__list", "contacts__note__get", "contacts__recent", "contacts__retrieve"]


def test_permissions_that_are_put_together_are_named_together() -> None:
    together = (IsAuthenticated & ~IsAdminUser) | AllowAny
    assert _name(together()) == "((IsAuthenticated & ~IsAdminUser) | AllowAny)"
