"""The rule for empty rows of a model: every field that a create tool writes is as if the caller had left it out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db.models import (
    BinaryField,
    CharField,
    FileField,
    FilePathField,
    JSONField,
    ManyToManyField,
    TextField,
    Value,
)
from django.db.models.fields.reverse_related import ForeignObjectRel, ManyToManyRel
from rest_framework.fields import empty

from handfast.django.discovery.drf_types import AnyField, AnyModelField, AnyObjectSerializer
from handfast.django.discovery.schemas.model_values import Model
from handfast.django.discovery.schemas.serializers import is_writable
from handfast.django.discovery.tool import ViewTool
from handfast.django.discovery.tool_view import ask_tool, input_serializer
from handfast.django.discovery.views.guarded_calls import without_database

# Callables that make the same value every time. Any other may count, read the clock, or make a query.
_STEADY: Final = (dict, list, tuple, set, str, bytes, int, float, bool)


@dataclass(frozen=True, slots=True)
class DefaultValues:
    """The values of a column that no caller filled in. `nulls`: also the null of SQL; `json_null`: that of JSON."""

    values: tuple[object, ...] = ()
    nulls: bool = False
    json_null: bool = False


@dataclass(frozen=True, slots=True)
class Undecidable:
    """A column whose value does not show whether a caller chose it, such as one that is set to the time."""

    why: str


@dataclass(frozen=True, slots=True)
class AlwaysFilled:
    """A column without a default, blank or null, so that every existing row was given a value."""


Rest: TypeAlias = DefaultValues | Undecidable | AlwaysFilled


def default_values_of(column: AnyModelField, *further: object) -> Rest:
    """What a column holds if no caller fills it in; `further` are defaults that serializers have for the column."""
    if getattr(column, "auto_now", False) or getattr(column, "auto_now_add", False):
        return Undecidable("is set to the time")
    try:
        defaults = [_steady(default) for default in (*_defaults(column), *further)]
        values = [column.to_python(value) for value in (*defaults, *_blank(column)) if value is not None]
        prepared = [column.get_prep_value(value) for value in values]
    except _Changing:
        return Undecidable("has a default that is made for every row")
    except (ValidationError, TypeError, ValueError):
        return Undecidable("has a default that it does not take itself")
    distinct = [value for place, value in enumerate(values) if prepared[place] not in prepared[:place]]
    if not distinct and not column.null:
        return AlwaysFilled()
    return DefaultValues(tuple(distinct), nulls=bool(column.null), json_null=isinstance(column, JSONField))


class _Changing(Exception):
    """A default that is not the same for every row."""


def _defaults(column: AnyModelField) -> list[Any]:  # Any: whatever an author wrote
    found: list[Any] = [column.default] if column.has_default() else []  # Any: as above
    return [*found, column.db_default] if column.has_db_default() else found


def _steady(default: Any) -> object:  # Any: as above
    if isinstance(default, Value):
        return default.value
    if hasattr(default, "resolve_expression"):
        raise _Changing
    if not callable(default):
        return default
    if default not in _STEADY:
        raise _Changing
    return default()


def _blank(column: AnyModelField) -> list[object]:
    """The empty text or bytes that Django stores where a value is missing."""
    if isinstance(column, BinaryField):
        return [b""]
    return [""] if isinstance(column, CharField | TextField | FileField | FilePathField) else []


@dataclass(frozen=True, slots=True)
class EmptyColumn:
    """A column that must hold a default value. `name` is its name in queries."""

    name: str
    rest: DefaultValues


@dataclass(frozen=True, slots=True)
class NoRows:
    """A relation that must be without rows, which are those of `related` whose `key` is this row's `target`."""

    name: str
    related: Model
    key: str
    target: str


Condition: TypeAlias = EmptyColumn | NoRows


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A field that does not show whether a row is empty. `column`: one whose value a person may judge by, if any."""

    name: str
    why: str
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Emptiness:
    """The rule for one model. `is_doubtful`: the API still takes a call without fields, so a row may be intended."""

    model: Model
    tools: tuple[str, ...]
    conditions: tuple[Condition, ...]
    not_judged: tuple[NotJudged, ...]
    is_doubtful: bool

    @property
    def label(self) -> str:
        return str(self.model._meta.label)


@dataclass(frozen=True, slots=True)
class Unsearchable:
    """A model whose rows cannot be judged to be empty."""

    model: Model
    tools: tuple[str, ...]
    why: str

    @property
    def label(self) -> str:
        return str(self.model._meta.label)


@dataclass(frozen=True, slots=True)
class Writer:
    """A create tool and the serializer that it uses."""

    tool: str
    serializer: AnyObjectSerializer

    def fields(self) -> Iterator[AnyField]:
        return (one for one in self.serializer.fields.values() if is_writable(one))


def emptiness_of(model: Model, writers: Iterable[Writer]) -> Emptiness | Unsearchable:
    """The rule for a model, from the fields of all the tools that write it: a field counts if one can fill it in."""
    writers = tuple(writers)
    tools = tuple(writer.tool for writer in writers)
    judged = dict[str, Condition | NotJudged | AlwaysFilled]()
    for source, fields in _by_source(writers).items():
        judged[source] = _judged(model, source, fields)
    filled = [name for name, one in judged.items() if isinstance(one, AlwaysFilled)]
    if filled:
        return Unsearchable(model, tools, f"no row can be without '{filled[0]}'")
    conditions = tuple(one for one in judged.values() if isinstance(one, EmptyColumn | NoRows))
    if not conditions:
        return Unsearchable(model, tools, "none of its fields shows whether it was filled in")
    not_judged = tuple(one for one in judged.values() if isinstance(one, NotJudged))
    is_doubtful = any(not any(field.required for field in writer.fields()) for writer in writers)
    return Emptiness(model, tools, conditions, not_judged, is_doubtful)


def _by_source(writers: tuple[Writer, ...]) -> dict[str, list[AnyField]]:
    """The fields of all writers by the attribute of the model that they lead to, in their order."""
    found: dict[str, list[AnyField]] = {}
    for writer in writers:
        for field in writer.fields():
            found.setdefault(str(field.source).split(".")[0], []).append(field)
    return found


def _judged(model: Model, source: str, fields: list[AnyField]) -> Condition | NotJudged | AlwaysFilled:
    target = _target(model, source)
    if isinstance(target, ManyToManyField | ForeignObjectRel):
        return _no_rows(source, target)
    if target is None:
        return NotJudged(str(fields[0].field_name), "is not a column")
    rest = default_values_of(target, *(field.default for field in fields if field.default is not empty))
    if isinstance(rest, Undecidable):
        return NotJudged(source, rest.why, target.attname)
    return rest if isinstance(rest, AlwaysFilled) else EmptyColumn(target.attname, rest)


def _target(model: Model, source: str) -> Any:  # Any: a column, a relation or its other side share no base class
    """The column or the relation behind a field; None for a property or a missing attribute."""
    if source == "pk":
        return model._meta.pk
    by_id = {column.attname: column for column in model._meta.concrete_fields}
    try:
        found = by_id.get(source) or model._meta.get_field(source)
    except FieldDoesNotExist:
        found = None
    if found is None or isinstance(found, ForeignObjectRel):
        return next((each for each in model._meta.related_objects if each.get_accessor_name() == source), None)
    return found if isinstance(found, ManyToManyField) or getattr(found, "concrete", False) else None


def _no_rows(name: str, relation: Any) -> NoRows:  # Any: as above
    if isinstance(relation, ManyToManyField):
        links: Any = relation.remote_field.through  # Any: a model that Django may have made
        return _pointing(name, links._meta.get_field(relation.m2m_field_name()))
    if isinstance(relation, ManyToManyRel):
        links = relation.through
        return _pointing(name, links._meta.get_field(relation.field.m2m_reverse_field_name()))
    return _pointing(name, relation.field)


def _pointing(name: str, key: Any) -> NoRows:  # Any: a foreign key of any model
    """The condition that no row points at this one by the foreign key."""
    (own, target), *_ = key.related_fields
    return NoRows(name, key.model, own.attname, target.attname)


def emptiness_by_model(tools: Iterable[ViewTool]) -> list[Emptiness | Unsearchable]:
    """The rule for every model that a create tool writes, in the order of their labels."""
    writers: dict[Model, list[Writer]] = {}
    with without_database(on_request=True):
        for tool in tools:
            if tool.action == "create" and (written := _written(tool)) is not None:
                model, writer = written
                writers.setdefault(model, []).append(writer)
        rules = [emptiness_of(model, found) for model, found in writers.items()]
    return sorted(rules, key=lambda rule: rule.label)


def _written(tool: ViewTool) -> tuple[Model, Writer] | None:
    asked = ask_tool(tool)
    serializer = None if asked is None else input_serializer(tool, asked)
    if asked is None or serializer is None:
        return None
    own: Model | None = getattr(getattr(serializer, "Meta", None), "model", None)
    model = own or asked.model
    # A proxy has no rows of its own.
    concrete = None if model is None else model._meta.concrete_model
    return None if concrete is None else (concrete, Writer(tool.name, serializer))
