"""Filters of a list: the parameters that its filter backends read from the query."""

import operator
from collections.abc import Iterator, Sequence
from typing import Any

from rest_framework.filters import OrderingFilter, SearchFilter

from handfast.django.discovery.parameters.filtersets import filterset_parameters
from handfast.django.discovery.problems import DiscoveryProblems, ProblemId, dotted_name
from handfast.django.discovery.schemas.json_schemas import described, options, query_parameters
from handfast.django.discovery.tool import QueryParameter
from handfast.django.discovery.views.bare_view import AskedView
from handfast.django.discovery.views.guarded_calls import Raised, call_guarded
from handfast.django.discovery.views.overridden import is_framework

# The attributes that the framework's own backends use; they ignore the rest of a view.
_ASKED_FOR = ("filter_backends", "filterset_class", "filterset_fields", "search_fields", "ordering_fields")


class Filters:
    """The filters of all views; those of one view are read once, unless a backend may answer differently per action."""

    def __init__(self, findings: DiscoveryProblems) -> None:
        self._findings = findings
        self._known: dict[type, tuple[list[object], list[QueryParameter]]] = {}

    def of(self, asked: AskedView) -> list[QueryParameter]:
        """The parameters of the view's backends; of two with the same name the first."""
        cls = type(asked.view)
        basis = [*(getattr(asked.view, name, None) for name in _ASKED_FOR), asked.model, type(asked.serializer)]
        before, found = self._known.get(cls, ([], []))
        if len(before) == len(basis) and all(map(operator.is_, before, basis)):
            return found
        found = read_filters(asked, self._findings)
        if all(map(is_framework, getattr(asked.view, "filter_backends", None) or ())):
            self._known[cls] = (basis, found)
        return found


def read_filters(asked: AskedView, findings: DiscoveryProblems) -> list[QueryParameter]:
    found: dict[str, QueryParameter] = {}
    for backend in getattr(asked.view, "filter_backends", None) or ():
        answer = call_guarded(lambda backend=backend: list(_read(backend(), asked)))  # type: ignore[misc]  # bound in this turn
        if isinstance(answer, Raised):
            findings.add(
                ProblemId.FILTERS_UNKNOWN,
                f"{backend.__name__} cannot say what it filters by: {answer.reason}",
                hint="Let it answer for an anonymous user, or give the view a `queryset`.",
                where=dotted_name(type(asked.view)),
            )
        else:
            for parameter in answer.value:
                found.setdefault(parameter.name, parameter)
    return list(found.values())


def _read(backend: Any, asked: AskedView) -> Iterator[QueryParameter]:  # Any: a backend of any class
    if isinstance(backend, SearchFilter):
        yield from _search(backend, asked)
    elif isinstance(backend, OrderingFilter):
        yield from _ordering(backend, asked)
    elif hasattr(backend, "get_filterset_class"):
        yield from filterset_parameters(backend, asked)
    elif hasattr(backend, "get_schema_operation_parameters"):
        yield from query_parameters(backend.get_schema_operation_parameters(asked.view))


def _search(backend: SearchFilter, asked: AskedView) -> Iterator[QueryParameter]:
    """The search parameter; none without fields to search in, since the backend would ignore it."""
    fields = backend.get_search_fields(asked.view, asked.view.request)
    if fields:
        names = ", ".join(str(name).lstrip("".join(backend.lookup_prefixes)) for name in fields)
        said = f"Words to look for in {names}; all of them must be found."
        yield QueryParameter(backend.search_param, {"type": "string", "description": said})


def _ordering(backend: OrderingFilter, asked: AskedView) -> Iterator[QueryParameter]:
    names = _ordering_names(backend, asked)
    if names:
        directions = [direction for name in names for direction in (name, f"-{name}")]
        schema = {"type": "array", "items": options(directions)}
        said = described(schema, "What to order by, the first before the others; `-` reverses it")
        yield QueryParameter(backend.ordering_param, said, "comma")


def _ordering_names(backend: OrderingFilter, asked: AskedView) -> Sequence[str]:
    """The names that one can order by; the backend silently drops all others."""
    declared = getattr(asked.view, "ordering_fields", backend.ordering_fields)
    if asked.queryset is None and (declared is None or declared == "__all__"):
        return []
    fields = backend.get_valid_fields(asked.queryset, asked.view, {"request": asked.view.request})  # type: ignore[arg-type]  # read where it is needed
    return [str(name) for name, _ in fields]
