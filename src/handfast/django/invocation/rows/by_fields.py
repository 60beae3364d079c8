"""A row that is named by an object of its fields."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.db.models import ForeignKey, Model, Q

from handfast.core.words.redaction import scrub_name, scrub_names
from handfast.django.discovery.drf_types import AnyModelField, AnyQuerySet
from handfast.django.invocation.rows.lookup_fields import as_stored, lookup_columns

_DEEPEST: Final = 4  # rows that are named by rows


class NoRow(Exception):
    """Why a value names no row, in words for the agent: fields and numbers, never values."""


def row_by_fields(rows: AnyQuerySet, value: Mapping[str, Any]) -> Model:  # Any: JSON
    """The one row that has these values; one query where there is one. Raises: NoRow."""
    found = rows.filter(_condition(rows.model, value))
    first = list(found[:2])
    if len(first) == 1:
        return first[0]  # type: ignore[no-any-return]  # a row of a model
    if first:
        raise several_rows(rows, found.count(), value, "; send what only one of them has, such as its id")
    raise no_row(rows, value)


def no_row(rows: AnyQuerySet, names: Iterable[str], joined: str = "and") -> NoRow:
    return NoRow(f"no {rows.model._meta.verbose_name} was found by {_listed(names, joined)}")


def several_rows(rows: AnyQuerySet, count: int, names: Iterable[str], advice: str, joined: str = "and") -> NoRow:
    return NoRow(f"{count} {rows.model._meta.verbose_name_plural} were found by {_listed(names, joined)}{advice}")


def _listed(names: Iterable[str], joined: str) -> str:
    *most, last = [f"'{name}'" for name in scrub_names(names)]
    return f"{', '.join(most)} {joined} {last}" if most else last


def _condition(model: Any, value: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Q:  # Any: a model; JSON
    columns = lookup_columns(model)
    unknown = [key for key in value if key not in columns]
    if unknown or not value or depth > _DEEPEST:
        shown = _listed(unknown, "and") if unknown else "this object"
        allowed = _listed((name for name in columns if name != "pk"), "and")
        raise NoRow(f"{model._meta.verbose_name_plural} cannot be looked up by {shown}, only by {allowed}")
    condition = Q()
    for key, item in value.items():
        column = columns[key]
        if isinstance(item, dict) and isinstance(column, ForeignKey):
            condition &= _condition(column.related_model, item, f"{prefix}{key}__", depth + 1)
        else:
            condition &= Q((f"{prefix}{key}", _stored(column, item, key)))
    return condition


def _stored(column: AnyModelField, item: Any, key: str) -> Any:  # Any: JSON, and what a column holds
    try:
        return as_stored(column, item)
    except ValueError:
        raise NoRow(f"'{scrub_name(key)}' is no value that this field can have") from None
