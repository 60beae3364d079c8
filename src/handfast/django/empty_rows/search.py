"""The search for empty rows, one query for each model, and the rows of other tables that point at them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from django.apps import apps
from django.db import models, router
from django.db.models import (
    Count,
    DateField,
    DateTimeField,
    Exists,
    IntegerField,
    JSONField,
    OuterRef,
    Q,
    Subquery,
    Value,
    Window,
)
from django.db.models.functions import Cast, Coalesce
from django.utils import timezone

from handfast.django.discovery.drf_types import AnyModelField, AnyQuerySet
from handfast.django.discovery.schemas.model_values import Model
from handfast.django.empty_rows.emptiness import Condition, Emptiness, NoRows

_FATES: Final = {
    "CASCADE": "deleted with it",
    "PROTECT": "keep it from being deleted",
    "RESTRICT": "keep it from being deleted",
    "DO_NOTHING": "left pointing at nothing",
}
_LET_GO: Final = "kept, without it"
_TOTAL: Final = "handfast_total"
_COUNT: Final = "handfast_count_{}"
# Defaults that, like `auto_now_add`, store the time at which a row was made.
_CLOCKS: Final = (timezone.now, datetime.now, date.today)
_NOTHING: Final[tuple[object, ...]] = (None, "", {}, [])


@dataclass(frozen=True, slots=True)
class PointingRows:
    """How many rows point at an empty row by one key, and what its deletion does to them."""

    label: str
    count: int
    fate: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A key by which rows point at a model."""

    label: str
    model: Model
    key: str
    target: str
    fate: str
    only: tuple[tuple[str, str], ...] = ()  # filters, for keys that point at more than one model

    def count(self) -> Coalesce:
        """The expression that counts the rows pointing at a row of the outer query."""
        outer: Any = OuterRef(self.target)  # Any: an expression like any other
        if self.only:
            # A generic key is often a text, whatever the type of this model's own key.
            outer = Cast(outer, self.model._meta.get_field(self.key))  # type: ignore[arg-type]  # a column
        rows = self.model._base_manager.filter(**{self.key: outer}, **dict(self.only)).order_by()
        counted = rows.values(self.key).annotate(number=Count("*")).values("number")
        return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def relations_to(model: Model) -> tuple[Relation, ...]:
    """The keys that Django follows when it deletes a row, with many-to-many links and generic relations.

    Also those that it does not follow: generic keys of rows that can be about any other row.
    """
    pointing = [
        one.field  # type: ignore[union-attr]  # the other side of a key
        for one in model._meta.get_fields(include_hidden=True)
        if one.auto_created and not one.concrete and (one.one_to_one or one.one_to_many)
    ]
    keys = [_by_key(key) for key in pointing if len(key.related_fields) == 1]
    generic = [_generic(model, one) for one in model._meta.private_fields if hasattr(one, "bulk_related_objects")]
    known = {one.label for one in generic}
    return (*keys, *generic, *(one for one in _about_anything(model) if one.label not in known))


def _by_key(key: Any) -> Relation:  # Any: a foreign key of any model
    (own, target), *_ = key.related_fields
    fate = _FATES.get(getattr(key.remote_field.on_delete, "__name__", ""), _LET_GO)
    return Relation(f"{key.model._meta.label}.{key.name}", key.model, own.attname, target.attname, fate)


def _generic(model: Model, relation: Any) -> Relation:  # Any: contenttypes need not be installed
    related = relation.remote_field.model
    only = _only(model, relation.content_type_field_name)
    key = relation.object_id_field_name
    return Relation(f"{related._meta.label}.{key}", related, key, "pk", _FATES["CASCADE"], only)


def _about_anything(model: Model) -> Iterator[Relation]:
    """Generic keys that can point at this model although it declares no relation to their rows."""
    beside = router.db_for_write(model)
    for other in apps.get_models():
        if not other._meta.managed or router.db_for_write(other) != beside:
            continue  # a table in another database cannot be part of the same query
        for generic in other._meta.private_fields:
            kind, key = getattr(generic, "ct_field", None), getattr(generic, "fk_field", None)
            if kind and key and _holds_key_of(other._meta.get_field(key), model):
                label = f"{other._meta.label}.{key}"
                yield Relation(label, other, key, "pk", _FATES["DO_NOTHING"], _only(model, kind))


def _holds_key_of(column: Any, model: Model) -> bool:  # Any: a column of any type
    """Whether a column can hold keys of the model. A text can hold any; databases may refuse to compare other types."""
    own: Any = model._meta.pk  # Any: as above
    while own.remote_field is not None:
        own = own.target_field
    kinds = (models.IntegerField, models.UUIDField)
    return all(isinstance(own, kind) for kind in kinds if isinstance(column, kind))


def _only(model: Model, kind: str) -> tuple[tuple[str, str], ...]:
    """The filters that select the rows about this model."""
    own = model._meta.concrete_model or model
    return ((f"{kind}__app_label", own._meta.app_label), (f"{kind}__model", str(own._meta.model_name)))


@dataclass(frozen=True, slots=True)
class EmptyRow:
    """An empty row with what a person needs to decide. `rest`: its values besides the fields that are empty."""

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
    """The query for empty rows, also those that the model's own manager hides. Any: keys of any type."""
    model = emptiness.model
    found = model._base_manager.using(database_of(model)).filter(*map(_as_query, emptiness.conditions))
    if pks is not None:
        found = found.filter(pk__in=pks)
    created = created_column(model)
    if since is not None and created is not None:
        found = found.filter(**{f"{created.attname}__gte": _beginning(since, created)})
    return found.order_by("pk")


def find_empty_rows(
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
    """`since` in the type of the column: a day begins at midnight in the project's own time zone."""
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


def _shown(value: object) -> object:
    """A value as a person sees it. A text may be a password's hash, so only `…` is shown for it."""
    return value if not isinstance(value, str | bytes | dict | list | memoryview) else "…"
