"""What a column holds in a row to which nobody said anything."""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from django.core.exceptions import ValidationError
from django.db.models import BinaryField, CharField, FileField, FilePathField, JSONField, TextField, Value

from handfast.django.discovery.drf_types import AnyModelField

# Callables that make the same value every time. Any other may count, look at the clock, or ask somebody.
_STEADY: Final = (dict, list, tuple, set, str, bytes, int, float, bool)


@dataclass(frozen=True, slots=True)
class AtRest:
    """The values of a column that nobody filled in. `nulls`: as a database has it; `json_null`: as JSON has it."""

    values: tuple[object, ...] = ()
    nulls: bool = False
    json_null: bool = False


@dataclass(frozen=True, slots=True)
class Untold:
    """The column holds something else in every row, so its value does not tell whether somebody chose it."""

    why: str


@dataclass(frozen=True, slots=True)
class AlwaysFilled:
    """No row can be without it, so a row that exists was given one."""


Rest: TypeAlias = AtRest | Untold | AlwaysFilled


def at_rest(column: AnyModelField, *further: object) -> Rest:
    """`further` are defaults that a serializer has for the column."""
    if getattr(column, "auto_now", False) or getattr(column, "auto_now_add", False):
        return Untold("is set to the time")
    try:
        defaults = [_steady(default) for default in (*_defaults(column), *further)]
        values = [column.to_python(value) for value in (*defaults, *_blank(column)) if value is not None]
        prepared = [column.get_prep_value(value) for value in values]
    except _Changing:
        return Untold("has a default that is made for every row")
    except (ValidationError, TypeError, ValueError):
        return Untold("has a default that it does not take itself")
    distinct = [value for place, value in enumerate(values) if prepared[place] not in prepared[:place]]
    if not distinct and not column.null:
        return AlwaysFilled()
    return AtRest(tuple(distinct), nulls=bool(column.null), json_null=isinstance(column, JSONField))


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
    """An empty text, which is what Django stores where a text is missing."""
    if isinstance(column, BinaryField):
        return [b""]
    return [""] if isinstance(column, CharField | TextField | FileField | FilePathField) else []
