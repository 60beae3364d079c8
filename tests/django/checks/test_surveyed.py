"""What is found in a whole project."""

from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from rest_framework import permissions, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings

from handfast.django.checks.catalogue import CheckFinding, CheckId
from handfast.django.checks.surveyed import surveyed_findings, try_to_serve
from handfast.django.discovery import ProblemId, survey
from handfast.toolkit.registry import ToolRegistry
from tests.django.checks.found import findings
from tests.django.discovery.calling import TOOLS
from tests.django.project.models import Site
from tests.django.project.serializers import SiteSerializer


class Sites(viewsets.ModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class = SiteSerializer
    permission_classes: Any = ()


class Guard(permissions.BasePermission):
    pass


class Nodding(permissions.AllowAny):
    def has_permission(self, request: Request, view: Any) -> Any:
        return bool(request.user)


ALL = "part0__create, part0__destroy, part0__partial_update, part0__update"


def told(viewset: Any) -> list[CheckFinding]:
    return [one for one in findings(viewset) if one.id == CheckId.OPEN_TO_ALL]


def opened(names: str, where: str) -> list[CheckFinding]:
    return [
        CheckFinding(
            CheckId.OPEN_TO_ALL,
            f"Anybody may write here, without any permission: {names}.",
            "Set permission_classes, or DEFAULT_PERMISSION_CLASSES in settings.REST_FRAMEWORK.",
            where,
        )
    ]


def test_no_permission_at_all_is_told_once_for_a_view() -> None:
    assert told(Sites) == opened(ALL, f"{__name__}.Sites")


@pytest.mark.parametrize(
    "classes",
    [
        (permissions.AllowAny,),
        (permissions.AllowAny, permissions.AllowAny),
        (permissions.AllowAny | permissions.IsAuthenticated,),
        (permissions.AllowAny & permissions.AllowAny,),
    ],
)
def test_permissions_that_let_everybody_through_are_none(classes: Any) -> None:
    assert len(told(type("Open", (Sites,), {"permission_classes": classes}))) == 1


@pytest.mark.parametrize(
    "classes",
    [
        (permissions.IsAuthenticated,),
        (permissions.IsAuthenticatedOrReadOnly,),
        (permissions.AllowAny, permissions.IsAdminUser),
        (permissions.AllowAny & permissions.IsAuthenticated,),
        (permissions.IsAdminUser | permissions.IsAuthenticated,),
        (~permissions.IsAuthenticated,),
        (Guard,),
        (Nodding,),
    ],
)
def test_a_permission_that_may_refuse_is_one(classes: Any) -> None:
    assert told(type("Guarded", (Sites,), {"permission_classes": classes})) == []


def test_reading_may_be_open() -> None:
    class Reading(viewsets.ReadOnlyModelViewSet[Site]):
        queryset = Site.objects.all()
        serializer_class = SiteSerializer
        permission_classes = (permissions.AllowAny,)

    assert told(Reading) == []


def test_an_action_with_permissions_of_its_own_is_judged_by_them() -> None:
    class Mixed(viewsets.GenericViewSet[Site]):
        queryset = Site.objects.all()
        serializer_class = SiteSerializer
        permission_classes = (permissions.IsAuthenticated,)

        @action(detail=True, methods=["post"], permission_classes=[permissions.AllowAny])
        def ring(self, request: Request, pk: str) -> Response:
            return Response()

        @action(detail=True, methods=["post"])
        def close(self, request: Request, pk: str) -> Response:
            return Response()

    where = f"{__name__}.{Mixed.__qualname__}"
    assert told(Mixed) == opened("part0__ring", where)


def test_a_view_that_decides_by_action_is_asked_for_each() -> None:
    class ByAction(Sites):
        def get_permissions(self) -> Any:
            return [] if self.action == "create" else [permissions.IsAuthenticated()]

    assert told(ByAction) == opened("part0__create", f"{__name__}.{ByAction.__qualname__}")


def test_a_view_that_checks_in_its_own_way_or_cannot_say_is_believed() -> None:
    class Checking(Sites):
        def check_permissions(self, request: Request) -> None:
            self.permission_denied(request)

    class Raising(Sites):
        def get_permissions(self) -> Any:
            raise RuntimeError

    assert told(Checking) == told(Raising) == []


@override_settings(REST_FRAMEWORK={"DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"]})
def test_the_projects_default_counts() -> None:
    class Default(viewsets.ModelViewSet[Site]):
        queryset = Site.objects.all()
        serializer_class = SiteSerializer
        # As REST framework's own base class had it, if it had been read under these settings.
        permission_classes: Any = api_settings.DEFAULT_PERMISSION_CLASSES

    assert told(Default) == []


def test_the_tools_are_those_that_the_endpoint_would_list() -> None:
    served = try_to_serve(list(TOOLS.values()))
    assert isinstance(served, ToolRegistry)
    assert [one["name"] for one in served.published()] == sorted(TOOLS)
    assert not served.has_recorder


@override_settings(HANDFAST={"DISPATCHERS": {"crm": ["customers__*"]}})
def test_what_keeps_all_of_them_from_being_served_is_an_error() -> None:
    assert try_to_serve(list(TOOLS.values())) == CheckFinding(
        CheckId.NOT_SERVABLE,
        "The endpoint would answer every request with an error: No tool matches HANDFAST['DISPATCHERS']['crm']."
        " Write patterns such as 'contacts__*'.",
        "Correct what is named, or leave it out: HANDFAST['EXCLUDE'].",
        "settings.HANDFAST",
    )


def test_discoverys_problems_are_among_the_findings() -> None:
    found = survey()
    told = [(one.id, one.message, one.hint, one.where) for one in surveyed_findings(found)]
    problems = [(one.id, one.message, one.hint, one.where) for one in found.problems]
    assert problems
    assert [one for one in told if one[0] in set(ProblemId)] == problems


def test_an_ordinary_project_is_only_told_that_anybody_may_write() -> None:
    warnings = {one.id for one in surveyed_findings(survey()) if one.level != "info"}
    assert warnings == {CheckId.OPEN_TO_ALL}


def test_it_costs_no_query(database: None) -> None:
    found = survey()
    with CaptureQueriesContext(connection) as queries:
        surveyed_findings(found)
    assert len(queries) == 0
