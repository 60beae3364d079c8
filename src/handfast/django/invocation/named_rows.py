"""Finds rows that a call names by a text or by the values of fields that identify them, and by no other fields.

A lookup by any other field would let a caller find out, guess by guess, what it is not shown.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from django.core.exceptions import ValidationError as ModelValidationError
from django.db import models
from django.db.models import ForeignKey, Q
from rest_framework import relations
from rest_framework.exceptions import ValidationError

from handfast.core.words.redaction import scrub_name, scrub_names
from handfast.django.discovery.drf_types import AnyModelField, AnyQuerySet
from handfast.django.discovery.schemas.model_values import Model, identifying_names, is_secret_column

_NAMES: Final = ("name", "slug")  # columns with the name of a row, unique or not
_DEEPEST: Final = 4  # levels of rows that are named by other rows
_MOST_READ: Final = 10  # rows that are read for one text, by their key or by their names


@lru_cache(maxsize=4096)
def lookup_columns(model: Model) -> dict[str, AnyModelField]:
    """The columns by which a row of the model is looked up, by the names that a caller may use."""
    options = model._meta
    unique = [each.fields for each in options.constraints if isinstance(each, models.UniqueConstraint)]
    together = {name for names in (*unique, *options.unique_together) for name in names}
    found: dict[str, AnyModelField] = {options.pk.name: options.pk, "pk": options.pk}
    for column in options.concrete_fields:
        identifies = column.unique or column.name in together or column.name in _NAMES
        if identifies and not is_secret_column(column.name):
            found[column.name] = column
    return found


@lru_cache(maxsize=4096)
def naming_columns(model: Model) -> tuple[AnyModelField, ...]:
    """The columns that a plain text may refer to: unique ones, or else the name."""
    return tuple(model._meta.get_field(name) for name in identifying_names(model))  # type: ignore[misc]  # columns, by their own names


def as_stored(column: AnyModelField, value: Any) -> Any:  # Any: JSON, and what a column makes of it
    """The value as the column compares it. Raises: ValueError, where the column cannot hold it."""
    target: Any = column.target_field if isinstance(column, models.ForeignKey) else column  # Any: of any type
    if isinstance(value, list | dict) or (isinstance(value, bool) and not isinstance(target, models.BooleanField)):
        raise ValueError("no column that identifies a row holds such a value")
    if isinstance(value, str) and "\0" in value:
        raise ValueError("no database takes such a text")
    try:
        return target.to_python(value)
    except (ModelValidationError, TypeError, OverflowError):
        raise ValueError("not a value of this column") from None


class NoRow(Exception):
    """A value does not name a single row; the text is for the agent, with fields and numbers, never values."""


def row_by_fields(rows: AnyQuerySet, value: Mapping[str, Any]) -> models.Model:  # Any: JSON
    """The only row with these values, in one query where it exists. Raises: NoRow."""
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
        raise NoRow(f"'{scrub_name(key)}' is not a value that this field can have") from None


def row_by_text(field: Any, rows: AnyQuerySet, text: str) -> models.Model | None:  # Any: a relation
    """The row that a text names; None, without a query, where only the field itself can read it. Raises: NoRow."""
    own = _own_lookup(field, rows)
    if own is None and text.startswith(("http:", "https:", "/")):
        return None
    columns = naming_columns(rows.model)  # type: ignore[arg-type]  # a class, which has a hash
    names = {column.name: _stored_text(column, text) for column in columns if column.name != own}
    meant = {name: stored for name, stored in names.items() if stored is not None}
    if not meant:
        return None
    key = None if own is None else _own_value(field, rows, own, text)
    if key is None:
        return _best(rows, meant)
    # A UUID is not a name.
    return _best(rows, {str(own): key, **meant}) if isinstance(key, str | int) else None


def _own_lookup(field: Any, rows: AnyQuerySet) -> str | None:  # Any: a relation
    """The lookup of the field itself; None for a link, which is not stored in a column."""
    if isinstance(field, relations.SlugRelatedField):
        return str(field.slug_field)
    return None if isinstance(field, relations.HyperlinkedRelatedField) else str(rows.model._meta.pk.name)


def _own_value(field: Any, rows: AnyQuerySet, own: str, text: str) -> Any:  # Any: a relation; what a column holds
    pk_field = getattr(field, "pk_field", None)
    if pk_field is not None:
        try:
            return pk_field.to_internal_value(text)
        except ValidationError:
            return None
    stored = text if "__" in own else _stored_text(rows.model._meta.get_field(own), text)
    # Python reads "1_0" and " 10 " as ten; such a text is more likely a name.
    return None if isinstance(stored, int) and str(stored) != text else stored


def _stored_text(column: Any, text: str) -> Any:  # Any: a column, and what it holds
    try:
        return as_stored(column, text)
    except ValueError:
        return None


def _best(rows: AnyQuerySet, meant: dict[str, Any]) -> models.Model:  # Any: what columns hold
    """The best row for a text, in one query; one that has it as its key comes before one that has it as its name."""
    condition = Q()
    for name, stored in meant.items():
        condition |= Q((name, stored))
    found = rows.filter(condition)
    read: list[models.Model] = list(found[:_MOST_READ])
    for name, stored in meant.items():
        same = [row for row in read if getattr(row, name, None) == stored]
        if len(same) == 1:
            return same[0]
    if len(read) == 1:
        return read[0]  # equal for the database, though not letter by letter
    if not read:
        raise no_row(rows, meant, "or")
    count = len(read) if len(read) < _MOST_READ else found.count()
    raise several_rows(rows, count, meant, "; send the id of one of them", "or")
