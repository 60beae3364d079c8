"""By which fields of a model a row may be looked up: those that identify it, and no others.

A lookup by any other field would let a caller find out, guess by guess, what it is not shown.
"""

from functools import lru_cache
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import models

from handfast.django.discovery.drf_types import AnyModelField
from handfast.django.discovery.schemas.model_values import Model, identifying_names, is_secret_column

_NAMES: Final = ("name", "slug")  # what a row is called by, unique or not


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
    """The columns that a plain text may be meant for: unique ones, or the name."""
    return tuple(model._meta.get_field(name) for name in identifying_names(model))  # type: ignore[misc]  # columns, by their own names


def as_stored(column: AnyModelField, value: Any) -> Any:  # Any: JSON, and what a column makes of it
    """The value as the column would compare it. Raises: ValueError, where it can be none of the column's."""
    target: Any = column.target_field if isinstance(column, models.ForeignKey) else column  # Any: of any type
    if isinstance(value, list | dict) or (isinstance(value, bool) and not isinstance(target, models.BooleanField)):
        raise ValueError("no column that identifies a row holds such a value")
    if isinstance(value, str) and "\0" in value:
        raise ValueError("no database takes such a text")
    try:
        return target.to_python(value)
    except (ValidationError, TypeError, OverflowError):
        raise ValueError("not a value of this column") from None
