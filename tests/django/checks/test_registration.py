"""The checks as Django runs them: tag, levels, silence, and when they run at all."""

from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.core import checks
from django.test import override_settings
from django.urls import path
from rest_framework import viewsets
from rest_framework.routers import SimpleRouter

from handfast.django.checks import is_asked_for
from handfast.django.discovery import survey
from tests.django.other_urls import ours, project
from tests.django.project.models import Site
from tests.django.project.serializers import SiteSerializer
from tests.django.project.views import Login


class Sites(viewsets.ModelViewSet[Site]):
    """Two urls with one name, and open to all."""

    queryset = Site.objects.all()
    serializer_class = SiteSerializer
    permission_classes: Any = ()


def urls() -> list[Any]:
    router = SimpleRouter()
    router.register("api/sites", Sites, basename="one")
    router.register("v1/sites", Sites, basename="two")
    router.register("open", Sites, basename="three")
    return router.urls


def run(**options: Any) -> list[checks.CheckMessage]:
    return sorted(checks.run_checks(tags=["handfast"], **options), key=lambda one: (-one.level, str(one.id)))


def test_findings_are_messages_of_django_with_level_hint_and_place() -> None:
    with project(*urls(), ours()):
        found = run()
    assert [one.id for one in found] == ["handfast.E001"] * 6 + ["handfast.W030"]
    assert (found[0].level, found[-1].level) == (checks.ERROR, checks.WARNING)
    opened = found[-1]
    names = "open__create, open__destroy, open__partial_update, open__update"
    assert (opened.obj, opened.msg, opened.hint) == (
        f"{__name__}.Sites",
        f"Anybody may write here, without any permission: {names}.",
        "Set permission_classes, or DEFAULT_PERMISSION_CLASSES in settings.REST_FRAMEWORK.",
    )


def test_a_silenced_check_is_silent() -> None:
    with project(*urls(), ours(), SILENCED_SYSTEM_CHECKS=["handfast.E001", "handfast.W030"]):
        assert [one.id for one in run() if not one.is_silenced()] == []


def test_notes_are_for_the_doctor_alone() -> None:
    with project(path("login/", Login.as_view()), ours()):
        assert [one.id for one in survey().problems] == ["handfast.I001"]
        assert run() == []


def test_wrong_settings_are_told_and_nothing_is_looked_for_by_them() -> None:
    with project(*urls(), ours(), HANDFAST={"NAMES": "shop"}):
        assert [one.id for one in run()] == ["handfast.E010"]


def test_tools_that_cannot_be_served_are_told() -> None:
    with project(ours(), HANDFAST={"DISPATCHERS": {"crm": ["customers__*"]}}):
        assert [one.id for one in run()] == ["handfast.E012"]


def test_a_project_without_urls_has_nothing_to_judge() -> None:
    with override_settings():
        del settings.ROOT_URLCONF
        assert run(include_deployment_checks=True) == []


def test_deployment_is_only_looked_at_where_it_is_asked_for() -> None:
    with project(ours(), DEBUG=True, SECURE_SSL_REDIRECT=True, ALLOWED_HOSTS=["shop.example"]):
        assert run() == []
        assert [one.id for one in run(include_deployment_checks=True)] == ["handfast.W041"]


def test_checks_of_another_app_are_about_that_app() -> None:
    with project(*urls(), HANDFAST={"NAMES": "shop"}, DEBUG=True):
        others = [apps.get_app_config("auth")]
        assert run(app_configs=others, include_deployment_checks=True) == []


@pytest.mark.parametrize(
    ("argv", "is_asked"),
    [
        (["manage.py", "check"], True),
        (["manage.py", "check", "--tag", "handfast"], True),
        (["manage.py", "migrate"], False),
        (["manage.py", "runserver", "8000"], False),
        (["manage.py", "nightly"], False),
        (["pytest", "tests/django"], True),
        (["pytest"], True),
        ([], True),
    ],
)
def test_tools_are_judged_only_when_somebody_asks(argv: list[str], is_asked: bool) -> None:
    assert is_asked_for(argv, {"check": "", "migrate": "", "runserver": "", "nightly": ""}) is is_asked


def test_before_another_command_no_view_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["manage.py", "migrate"])
    with project(*urls(), ours()):
        assert run() == []
