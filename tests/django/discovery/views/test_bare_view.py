"""A view with nobody calling: which serializer and which rows it answers with, and how it fails."""

from typing import Any

import pytest
from rest_framework import generics, serializers, viewsets
from rest_framework.response import Response
from rest_framework.versioning import URLPathVersioning

from handfast.django.discovery.problems import DiscoveryProblem, DiscoveryProblems, ProblemId
from handfast.django.discovery.views.bare_view import AskedView, ask_view, bare_view
from handfast.django.discovery.views.operations import find_view, operations_of
from tests.django.project.models import Contact, Device
from tests.django.project.serializers import ContactLineSerializer, ContactSerializer, PasswordSerializer
from tests.django.project.views import ContactViewSet, SiteDevices


def asked(view: Any, findings: DiscoveryProblems | None = None) -> AskedView:
    found = find_view(view)
    assert found is not None
    operation = operations_of(found)[0]
    return ask_view(found, operation, bare_view(found, operation, ["pk"]), findings or DiscoveryProblems())


def test_it_has_an_anonymous_request_an_action_and_empty_places() -> None:
    found = find_view(ContactViewSet.as_view({"patch": "partial_update"}, detail=True))
    assert found is not None
    view: Any = bare_view(found, operations_of(found)[0], ["pk", "site"])
    assert (view.action, view.detail, view.kwargs, view.args, view.format_kwarg) == (
        "partial_update",
        True,
        {"pk": None, "site": None},
        (),
        None,
    )
    request = view.request
    assert (request.method, request.user.is_anonymous, dict(request.query_params), request.version) == (
        "PATCH",
        True,
        {},
        None,
    )
    assert request.build_absolute_uri("/x") == "http://localhost/x"


def test_a_version_is_the_default_one() -> None:
    class Versioning(URLPathVersioning):
        default_version = "v2"

    class Some(generics.ListAPIView[Contact]):
        versioning_class = Versioning
        queryset = Contact.objects.all()

        def get_serializer_class(self) -> Any:
            return ContactSerializer if self.request.version == "v2" else ContactLineSerializer

    assert type(asked(Some.as_view()).serializer) is ContactSerializer


@pytest.mark.parametrize(
    ("actions", "options", "serializer", "is_specific"),
    [
        ({"get": "list"}, {}, ContactLineSerializer, False),
        ({"post": "create"}, {}, ContactSerializer, False),
        ({"get": "recent"}, {}, ContactLineSerializer, False),
        ({"post": "recent"}, {}, ContactLineSerializer, True),
        ({"post": "note"}, {}, ContactSerializer, False),
        ({"post": "set_password"}, {"serializer_class": PasswordSerializer}, PasswordSerializer, True),
    ],
)
def test_the_serializer_is_the_one_that_the_action_would_use(
    actions: Any, options: dict[str, Any], serializer: type, is_specific: bool
) -> None:
    answer = asked(ContactViewSet.as_view(actions, **options))
    assert (type(answer.serializer), answer.is_specific, answer.model) == (serializer, is_specific, Contact)
    assert answer.serializer is not None
    assert answer.serializer.context["request"].user.is_anonymous


class ForUsers(viewsets.ModelViewSet[Contact]):
    queryset = Contact.objects.all()

    def get_serializer_class(self) -> Any:
        return self.request.user.profile.serializer  # type: ignore[union-attr]  # nobody is a user here


class ForUsersOrAll(ForUsers):
    serializer_class = ContactSerializer


class Demanding(serializers.Serializer[Any]):
    def __init__(self, *args: Any, tenant: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


class Demands(viewsets.ModelViewSet[Contact]):
    queryset = Contact.objects.all()
    serializer_class = Demanding


def test_a_view_that_raises_is_a_problem_with_its_reason() -> None:
    reason = "get_serializer_class() raised AttributeError: 'AnonymousUser' object has no attribute 'profile'; "
    hint = "Let it answer for an anonymous user and without an object, or set `serializer_class`."
    findings = DiscoveryProblems()
    assert asked(ForUsers.as_view({"get": "list"}), findings).serializer is None
    assert type(asked(ForUsersOrAll.as_view({"get": "list"}), findings).serializer) is ContactSerializer
    assert list(findings) == [
        DiscoveryProblem(
            ProblemId.SERIALIZER_UNKNOWN,
            f"{reason}so what is taken and sent is not known.",
            hint,
            f"{__name__}.ForUsers.list",
        ),
        DiscoveryProblem(
            ProblemId.SERIALIZER_UNKNOWN,
            f"{reason}`serializer_class` is used instead.",
            hint,
            f"{__name__}.ForUsersOrAll.list",
        ),
    ]


def test_a_serializer_that_cannot_be_made_is_a_problem() -> None:
    findings = DiscoveryProblems()
    assert asked(Demands.as_view({"get": "list"}), findings).serializer is None
    assert [(problem.id, problem.where) for problem in findings] == [
        (ProblemId.SERIALIZER_UNUSABLE, f"{__name__}.Demands.list")
    ]


def test_a_view_that_makes_its_serializer_itself_is_asked_to() -> None:
    class Some(generics.ListAPIView[Contact]):
        queryset = Contact.objects.all()
        serializer_class = Demanding

        def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
            return Demanding(*args, tenant="x", **kwargs)

    findings = DiscoveryProblems()
    assert type(asked(Some.as_view(), findings).serializer) is Demanding
    assert list(findings) == []


def test_without_a_serializer_there_is_no_problem_yet() -> None:
    class Bare(viewsets.GenericViewSet[Any]):
        def list(self, request: Any) -> Response:
            return Response()

    findings = DiscoveryProblems()
    answer = asked(Bare.as_view({"get": "list"}), findings)
    assert (answer.serializer, answer.model, answer.queryset, list(findings)) == (None, None, None, [])


def test_rows_are_found_by_attribute_by_method_and_by_serializer() -> None:
    class Nested(SiteDevices):
        def get_queryset(self) -> Any:
            raise KeyError("site_pk")

    assert [asked(view.as_view()).model for view in (SiteDevices, Nested)] == [Device, Device]
    queryset = asked(Nested.as_view()).queryset
    assert queryset is not None
    assert queryset.model is Device
