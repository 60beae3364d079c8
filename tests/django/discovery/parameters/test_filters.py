"""Filter backends: what each reads from the query, and what is not offered because nobody would read it."""

from typing import Any

import pytest
from rest_framework import filters, generics, viewsets
from rest_framework.decorators import action
from rest_framework.serializers import ModelSerializer

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.parameters.filters import Filters
from handfast.django.discovery.problems import DiscoveryProblem, DiscoveryProblems, ProblemId
from handfast.django.discovery.tool import QueryParameter
from handfast.django.discovery.views.bare_view import ask_view, bare_view
from handfast.django.discovery.views.operations import find_view, operations_of
from tests.django.project.models import Contact, Site


class SiteSerializer(ModelSerializer[Site]):
    class Meta:
        model = Site
        fields = ("id", "name", "region")


def parameters(findings: DiscoveryProblems | None = None, **options: Any) -> list[QueryParameter]:
    own = {"queryset": Site.objects.all(), "serializer_class": SiteSerializer, **options}
    view: Any = type("Some", (generics.ListAPIView,), own)
    found = find_view(view.as_view())
    assert found is not None
    findings = findings or DiscoveryProblems()
    operation = operations_of(found)[0]
    return Filters(findings).of(ask_view(found, operation, bare_view(found, operation, []), findings))


def ordering(*names: str) -> Json:
    return {
        "type": "array",
        "items": {"type": "string", "enum": [name for one in names for name in (one, f"-{one}")]},
        "description": "What to order by, the first before the others; `-` reverses it.",
    }


class Named(filters.SearchFilter):
    search_param = "q"

    def get_search_fields(self, view: Any, request: Any) -> Any:
        return ["^name", "=slug"]


def test_a_search_names_its_fields() -> None:
    said = "Words to look for in name, slug; all of them must be found."
    expected = QueryParameter("search", {"type": "string", "description": said})
    assert parameters(filter_backends=[filters.SearchFilter], search_fields=["^name", "slug"]) == [expected]
    assert parameters(filter_backends=[Named]) == [QueryParameter("q", expected.schema)]


def test_a_search_without_fields_is_not_offered() -> None:
    assert parameters(filter_backends=[filters.SearchFilter]) == []


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"ordering_fields": ["name", ("slug", "Short name")]}, ["name", "slug"]),
        ({"ordering_fields": "__all__"}, ["id", "name", "slug", "region"]),
        ({}, ["id", "name", "region"]),
    ],
)
def test_an_ordering_lists_what_can_be_ordered_by(options: dict[str, Any], names: list[str]) -> None:
    (found,) = parameters(filter_backends=[filters.OrderingFilter], **options)
    assert found == QueryParameter("ordering", ordering(*names), "comma")


def test_an_ordering_by_nothing_is_not_offered() -> None:
    assert parameters(filter_backends=[filters.OrderingFilter], ordering_fields=[]) == []


class Own(filters.BaseFilterBackend):
    def get_schema_operation_parameters(self, view: Any) -> list[Json]:
        return [
            {"name": "near", "in": "query", "description": "A place", "schema": {"type": "string"}, "required": True},
            {"name": "search", "in": "query", "schema": {"type": "integer"}},
        ]


class Mute:
    def filter_queryset(self, request: Any, queryset: Any, view: Any) -> Any:
        return queryset


class Broken(filters.BaseFilterBackend):
    def get_schema_operation_parameters(self, view: Any) -> list[Json]:
        return [{"name": str(Contact.objects.count())}]


def test_other_backends_are_asked_and_the_first_of_a_name_stays() -> None:
    found = parameters(filter_backends=[filters.SearchFilter, Own, Mute], search_fields=["name"])
    assert [(one.name, one.schema["type"], one.is_required) for one in found] == [
        ("search", "string", False),
        ("near", "string", True),
    ]


def test_a_backend_that_fails_is_a_problem_and_costs_only_itself(tables: None) -> None:
    from handfast.django.discovery.views.guarded_calls import without_database

    findings = DiscoveryProblems()
    with without_database():
        found = parameters(findings, filter_backends=[Broken, Named])
    assert [one.name for one in found] == ["q"]
    assert list(findings) == [
        DiscoveryProblem(
            ProblemId.FILTERS_UNKNOWN,
            "Broken cannot say what it filters by: DatabaseAsked: the database was asked",
            "Let it answer for an anonymous user, or give the view a `queryset`.",
            f"{__name__}.Some",
        )
    ]


class Counted(filters.SearchFilter):
    asked = 0

    def get_search_fields(self, view: Any, request: Any) -> Any:
        Counted.asked += 1
        return [view.action]


class Sites(viewsets.ReadOnlyModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class = SiteSerializer
    filter_backends: Any = (filters.SearchFilter,)
    search_fields: Any = ("name",)

    @action(detail=False)
    def recent(self, request: Any) -> Any:
        return self.list(request)


def found_by(**options: Any) -> list[list[QueryParameter]]:
    """The filters of two actions of one view."""
    findings = DiscoveryProblems()
    read = Filters(findings)
    both = []
    for name in ("list", "recent"):
        view = find_view(Sites.as_view({"get": name}, **options))
        assert view is not None
        operation = operations_of(view)[0]
        both.append(read.of(ask_view(view, operation, bare_view(view, operation, []), findings)))
    return both


def test_the_filters_of_a_view_are_read_once_for_all_its_actions() -> None:
    first, second = found_by()
    assert first is second


def test_a_backend_of_the_projects_own_may_answer_each_action_otherwise() -> None:
    first, second = found_by(filter_backends=[Counted])
    assert (first[0].schema["description"], second[0].schema["description"], Counted.asked) == (
        "Words to look for in list; all of them must be found.",
        "Words to look for in recent; all of them must be found.",
        2,
    )


def test_an_action_with_other_fields_has_other_filters() -> None:
    findings = DiscoveryProblems()
    read = Filters(findings)
    described = []
    for fields in (["name"], ["slug"]):
        view = find_view(Sites.as_view({"get": "list"}, search_fields=fields))
        assert view is not None
        operation = operations_of(view)[0]
        (found,) = read.of(ask_view(view, operation, bare_view(view, operation, []), findings))
        described.append(found.schema["description"].split()[5])
    assert described == ["name;", "slug;"]
