"""Finds the rows that a call names instead of sending ids, and replaces each by what its serializer field takes."""

from collections.abc import Mapping
from typing import Any, Final

from django.core.exceptions import SynchronousOnlyOperation
from django.db.models import Model, QuerySet
from rest_framework import fields, relations
from rest_framework.serializers import ListSerializer, Serializer
from rest_framework.views import APIView

from handfast.core.answers.errors import ToolError, error_invalid_input
from handfast.django.decorators import mark_of
from handfast.django.discovery.assembly import OBJECTS
from handfast.django.discovery.drf_types import AnyField, AnyRelation, AnySerializer
from handfast.django.discovery.tool import ViewTool
from handfast.django.discovery.views.guarded_calls import Raised, call_guarded
from handfast.django.discovery.views.overridden import hands_over
from handfast.django.invocation.named_rows import NoRow, row_by_fields, row_by_text
from handfast.django.invocation.places import Path, shown_path

_KINDS: Final = (
    relations.PrimaryKeyRelatedField,
    relations.SlugRelatedField,
    relations.HyperlinkedRelatedField,
)
_MOST_TOLD: Final = 10


def find_rows(tool: ViewTool, view: APIView, body: Any) -> tuple[Any, ToolError | None]:  # Any: JSON
    """The body with ids, slugs or links for named rows; or the unchanged body, and an error for those not found."""
    serializer = _serializer(tool, view)
    if serializer is None:
        return body, None
    lookups = _Lookups()
    root = getattr(serializer, "child", serializer)
    if isinstance(body, list):
        found: Any = [lookups.resolved(root, item, (OBJECTS, index)) for index, item in enumerate(body)]
    else:
        found = lookups.resolved(root, body, ())
    return (found, None) if not lookups.problems else (body, _refused(lookups.problems))


def _refused(problems: Mapping[str, str]) -> ToolError:
    told = [f"{place}: {what}" for place, what in problems.items()]
    rest = f"; and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
    return error_invalid_input(
        f"Some arguments name no row that can be used: {'; '.join(told[:_MOST_TOLD])}{rest}."
        " Correct them and call again.",
        fields={place: [what] for place, what in problems.items()},
    )


def _serializer(tool: ViewTool, view: Any) -> AnySerializer | None:  # Any: only generic views have serializers
    """The serializer that the view makes for this caller, unless its author declared another for the tool."""
    marks = (mark_of(getattr(tool.view, tool.handler, None)), mark_of(tool.view))
    is_declared = any(mark is not None and mark.input is not None for mark in marks)
    if hasattr(view, "get_serializer") and not is_declared:
        made = call_guarded(view.get_serializer)
        if not isinstance(made, Raised):
            own: AnySerializer = made.value
            return own
    if tool.input_serializer is None:
        return None
    given = call_guarded(lambda: view.get_serializer_context())
    return tool.input_serializer(
        context={"request": view.request, "view": view} if isinstance(given, Raised) else given.value
    )


class _Lookups:
    """The lookups of one call; a row that is named twice is looked up once."""

    def __init__(self) -> None:
        self.problems: dict[str, str] = {}
        self._found: dict[tuple[int, str], Any] = {}  # Any: what a field takes for a row

    def resolved(self, field: Any, value: Any, path: Path) -> Any:  # Any: a field of any kind; JSON
        match field:
            case Serializer() if isinstance(value, dict):
                return self._in_object(field.fields, value, path)
            case ListSerializer() | fields.ListField() if isinstance(value, list):
                return self._in_list(field.child, value, path)
            case fields.DictField() if isinstance(value, dict):
                return {key: self.resolved(field.child, item, (*path, key)) for key, item in value.items()}
            case relations.ManyRelatedField() if isinstance(value, list) and _is_plain_relation(field):
                return self._in_list(field.child_relation, value, path)
            case relations.RelatedField() if isinstance(field, _KINDS) and _is_plain_relation(field):
                return self._row(field, value, path)
            case _:
                return value

    def _in_object(self, named: Mapping[str, AnyField], value: dict[str, Any], path: Path) -> Any:  # Any: JSON
        return {
            key: item if key not in named or named[key].read_only else self.resolved(named[key], item, (*path, key))
            for key, item in value.items()
        }

    def _in_list(self, child: AnyField | None, value: list[Any], path: Path) -> Any:  # Any: JSON
        return [self.resolved(child, item, (*path, index)) for index, item in enumerate(value)]

    def _row(self, field: AnyRelation, value: Any, path: Path) -> Any:  # Any: JSON
        if not isinstance(value, dict | str) or value == "":
            return value
        key = (id(field), repr(value))
        if key not in self._found:
            try:
                self._found[key] = _taken_value(field, value)
            except NoRow as problem:
                self.problems[shown_path(path)] = str(problem)
                return value
        return self._found[key]


def _is_plain_relation(field: AnyField) -> bool:
    """Whether a relation reads its input in the framework's own way; else only its author knows what it takes."""
    return not field.read_only and hands_over(type(field), "to_internal_value")


def _taken_value(field: Any, value: Any) -> Any:  # Any: a relation; JSON
    """What the field takes for the named row, or the value unchanged. Raises: NoRow."""
    rows = field.get_queryset()
    if not isinstance(rows, QuerySet) or rows.query.is_sliced or rows.query.combinator:
        return value  # such a query cannot be filtered further
    try:
        row = row_by_fields(rows, value) if isinstance(value, dict) else row_by_text(field, rows, value)
    except SynchronousOnlyOperation:  # the view reads its body in an event loop
        if isinstance(value, dict):
            raise NoRow("nothing can be looked up where this view runs; send its id") from None
        return value
    return value if row is None else _as_sent(field, row)


def _as_sent(field: Any, row: Model) -> Any:  # Any: a relation; JSON
    """The row as the framework's own field shows it; a subclass of the project may show more than it takes."""
    kind = next(kind for kind in _KINDS if isinstance(field, kind))
    sent = kind.to_representation(field, row)
    return str(sent) if isinstance(field, relations.HyperlinkedRelatedField) else sent
