"""Looking for empty rows: one query for each model, which never loads a row that is not one."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from django.db import router
from django.db.models import Count, DateField, DateTimeField, Exists, JSONField, OuterRef, Q, Value, Window
from django.utils import timezone

from handfast.django.discovery.drf_types import AnyModelField, AnyQuerySet
from handfast.django.discovery.schemas.model_values import Model
from handfast.django.empty_rows.emptiness import Condition, Emptiness, NoRows
from handfast.django.empty_rows.pointing import PointingRows, Relation, relations_to

_TOTAL: Final = "handfast_total"
_COUNT: Final = "handfast_count_{}"
# Defaults that are the time at which a row was made, as much as `auto_now_add` is.
_CLOCKS: Final = (timezone.now, datetime.now, date.today)


@dataclass(frozen=True, slots=True)
class EmptyRow:
    """A row as a person needs it to decide. `rest`: what it holds besides the fields that are empty."""

    pk: Any  # Any: of whatever type the model's key is
    created: date | None
    pointing: tuple[PointingRows, ...]
    rest: dict[str, object]


@dataclass(frozen=True, slots=True)
class Found:
    """The first empty rows of a model by their keys, and how many there are altogether."""

    emptiness: Emptiness
    rows: tuple[EmptyRow, ...]
    total: int


def database_of(model: Model) -> str:
    return str(router.db_for_write(model))


def empty_rows(emptiness: Emptiness, *, since: date | None = None, pks: Collection[Any] | None = None) -> AnyQuerySet:
    """The rows themselves, unread; also those that the model's own manager hides. Any: keys of any type."""
    model = emptiness.model
    found = model._base_manager.using(database_of(model)).filter(*map(_as_query, emptiness.conditions))
    if pks is not None:
        found = found.filter(pk__in=pks)
    created = created_column(model)
    if since is not None and created is not None:
        found = found.filter(**{f"{created.attname}__gte": _beginning(since, created)})
    return found.order_by("pk")


def find(
    emptiness: Emptiness,
    *,
    since: date | None = None,
    pks: Collection[Any] | None = None,  # Any: keys of any type
    limit: int | None = None,
) -> Found:
    relations = relations_to(emptiness.model)
    counts = {_COUNT.format(place): relation.count() for place, relation in enumerate(relations)}
    columns = [column.attname for column in emptiness.model._meta.concrete_fields]
    rows = empty_rows(emptiness, since=since, pks=pks).annotate(**counts, **{_TOTAL: Window(Count("*"))})
    read = list(rows.values("pk", *columns, *counts, _TOTAL)[:limit])
    total = read[0][_TOTAL] if read else 0
    return Found(emptiness, tuple(_row(values, emptiness, relations) for values in read), total)


def created_column(model: Model) -> AnyModelField | None:
    """The column that says when a row was made."""
    dated = [column for column in model._meta.concrete_fields if isinstance(column, DateField)]
    by_django = (column for column in dated if column.auto_now_add)
    by_default = (column for column in dated if column.default in _CLOCKS)
    return next(by_django, next(by_default, None))


def _beginning(since: date, column: AnyModelField) -> date:
    """`since` as the column has it: a day begins at midnight in the project's own time zone."""
    if not isinstance(column, DateTimeField):
        return since.date() if isinstance(since, datetime) else since
    moment = since if isinstance(since, datetime) else datetime(since.year, since.month, since.day)
    is_naive = timezone.is_naive(moment)
    return timezone.make_aware(moment) if is_naive and timezone.is_aware(timezone.now()) else moment


def _as_query(condition: Condition) -> Q:
    if isinstance(condition, NoRows):
        return Q(~Exists(condition.related._base_manager.filter(**{condition.key: OuterRef(condition.target)})))
    name, rest = condition.name, condition.rest
    found = Q(**{f"{name}__isnull": True}) if rest.nulls else Q(pk__in=[])
    for value in rest.values:
        found |= Q(**{name: value})
    return found | Q(**{name: Value(None, JSONField())}) if rest.json_null else found


def _row(
    values: dict[str, Any],  # Any: of any column
    emptiness: Emptiness,
    relations: tuple[Relation, ...],
) -> EmptyRow:
    model = emptiness.model
    created = created_column(model)
    judged = {condition.name for condition in emptiness.conditions}
    besides = [column for column in model._meta.concrete_fields if column.attname not in judged]
    return EmptyRow(
        pk=values["pk"],
        created=None if created is None else values[created.attname],
        pointing=tuple(
            PointingRows(relation.label, values[_COUNT.format(place)], relation.fate)
            for place, relation in enumerate(relations)
            if values[_COUNT.format(place)]
        ),
        rest={
            column.name: _shown(values[column.attname])
            for column in besides
            if not column.primary_key and column is not created and values[column.attname] not in _NOTHING
        },
    )


_NOTHING: Final[tuple[object, ...]] = (None, "", {}, [])


def _shown(value: object) -> object:
    """Enough to decide by. A text may be a password's hash: only that there is one is anybody's business."""
    return value if not isinstance(value, str | bytes | dict | list | memoryview) else "…"
