"""The values of a model's attributes as JSON: by their columns, and along the dotted source of a serializer's field."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property as std_cached_property
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.db.models.fields.related import ForeignObject
from django.db.models.fields.reverse_related import ForeignObjectRel, OneToOneRel
from django.utils.functional import cached_property

from handfast.core.words.redaction import is_secret_name
from handfast.django.discovery.drf_types import AnyModelField, Json
from handfast.django.discovery.schemas.json_schemas import nullable
from handfast.django.discovery.schemas.return_types import returned_schema
from handfast.django.discovery.views.overridden import is_framework, is_own_way

Model = type[models.Model]

# Matched only as whole words in the names of columns: a `key` may be a secret, a `keyboard` is not.
_SECRET_COLUMN: Final = re.compile(
    r"(?:^|_)(?:key|pin|otp|salt|nonce|signature|\w*hash|\w*digest)(?:_|$)", re.IGNORECASE
)

# What REST framework's encoder makes of a column's own Python value.
_COLUMNS: Final[tuple[tuple[type, Json], ...]] = (
    (models.BooleanField, {"type": "boolean"}),
    (models.IntegerField, {"type": "integer"}),  # the automatic ones too
    (models.FloatField, {"type": "number"}),
    (models.DecimalField, {"type": "number"}),
    (models.UUIDField, {"type": "string", "format": "uuid"}),
    (models.TimeField, {"type": "string"}),
    (models.DurationField, {"type": "string"}),
    (models.CharField, {"type": "string"}),
    (models.TextField, {"type": "string"}),
    (models.GenericIPAddressField, {"type": "string"}),
    (models.FilePathField, {"type": "string"}),
)
# Members by which a column's class may replace what the table holds by another kind of object.
_CONVERSIONS: Final = ("from_db_value", "descriptor_class", "contribute_to_class")


def column_schema(column: AnyModelField) -> Json:
    """The schema of a column's value that is sent as it is; {} where it is not known."""
    if isinstance(column, ForeignObject):
        return column_schema(column.target_field)
    if not (is_framework(type(column)) or all(is_own_way(type(column), name) for name in _CONVERSIONS)):
        return {}
    if isinstance(column, models.DateTimeField):
        return datetime_schema()
    if isinstance(column, models.DateField):
        return {"type": "string", "format": "date"}
    base = getattr(column, "base_field", None)
    if isinstance(base, models.Field):  # PostgreSQL's arrays
        return {"type": "array", "items": nullable(column_schema(base))}
    return next((schema for kind, schema in _COLUMNS if isinstance(column, kind)), {})


def datetime_schema(*, is_aware: bool | None = None) -> Json:
    """The schema of a moment as ISO 8601; only one with an offset is a `date-time` of JSON Schema."""
    aware = settings.USE_TZ if is_aware is None else is_aware
    return {"type": "string", "format": "date-time"} if aware else {"type": "string"}


def key_schema(model: Model | None) -> Json:
    """The primary key of a model."""
    if model is None:
        return {"type": ["integer", "string"]}
    return column_schema(model._meta.pk) or {"type": ["integer", "string"]}


@dataclass(frozen=True, slots=True)
class Reached:
    """What is at the end of a source. `schema` is that of the raw value, {} where it is not known."""

    schema: Json
    column: AnyModelField | None = None
    related: Model | None = None  # the model of the object or objects that stand there
    may_be_null: bool = True
    may_be_missing: bool = True


UNKNOWN: Final = Reached({})


def follow(model: Model | None, source: Sequence[str]) -> Reached:
    """Follows a source from an instance of a model, and promises only what the models promise."""
    if model is None or not source:
        return UNKNOWN
    reached = _attribute(model, source[0])
    for name in source[1:]:
        if reached.related is None:
            return UNKNOWN
        inner = _attribute(reached.related, name)
        # Where an object on the way may be missing, REST framework leaves the key out or sends null.
        gone = reached.may_be_null or reached.may_be_missing
        reached = Reached(
            inner.schema, inner.column, inner.related, gone or inner.may_be_null, gone or inner.may_be_missing
        )
    return reached


def _attribute(model: Model, name: str) -> Reached:
    found = _field(model, name)
    if found is None:
        return _computed(model, name)
    if isinstance(found, ForeignObjectRel):
        is_one = isinstance(found, OneToOneRel)
        return Reached({}, None, found.related_model, may_be_null=is_one, may_be_missing=False)
    is_many = bool(found.many_to_many or found.one_to_many)
    if found.is_relation and (is_many or name != getattr(found, "attname", None)):
        related = found.related_model if isinstance(found.related_model, type) else None
        # A generic relation is not a column, and without a constraint the object may be gone.
        is_held = found.concrete and getattr(found, "db_constraint", False)
        may_be_null = not is_many and (found.null or not is_held)
        return Reached({}, found, related, may_be_null=may_be_null, may_be_missing=False)
    return Reached(column_schema(found), found, None, may_be_null=found.null, may_be_missing=False)


def _field(model: Model, name: str) -> Any:  # Any: a column, a relation or its other side, which share no base class
    if name == "pk":
        return model._meta.pk
    try:
        found = model._meta.get_field(name)
    except FieldDoesNotExist:
        found = None
    if found is None or isinstance(found, ForeignObjectRel):
        # The other side of a relation is looked up by one name and accessed by another.
        return next((each for each in model._meta.related_objects if each.get_accessor_name() == name), None)
    return found


def _computed(model: Model, name: str) -> Reached:
    """A property or a method of the model, by its return annotation."""
    attribute = next((vars(cls)[name] for cls in model.__mro__ if name in vars(cls)), None)
    if attribute is None:
        return UNKNOWN
    shown = _field(model, name[4:-8]) if name.startswith("get_") and name.endswith("_display") else None
    if shown is not None:
        return _display(shown)
    function = _function_of(attribute)
    said = None if function is None else returned_schema(function)
    if said is None:
        return Reached({}, may_be_null=True, may_be_missing=False)
    return Reached(said, may_be_null=False, may_be_missing=False)


def _display(column: AnyModelField) -> Reached:
    """The value of `get_status_display`: a choice's label, or the value itself where it is not among the choices."""
    raw = column_schema(column)
    own = raw.get("type")
    schema: Json = {"type": "string"} if own == "string" else {"type": ["string", own]} if isinstance(own, str) else {}
    return Reached(schema, may_be_null=column.null, may_be_missing=False)


def _function_of(attribute: Any) -> Any:  # Any: whatever stands in a class body
    if isinstance(attribute, property):
        return attribute.fget
    if isinstance(attribute, cached_property | std_cached_property):
        return attribute.func
    return attribute if callable(attribute) else None


def lookup_schema(model: Model | None, lookup: str) -> Json:
    """The schema of the value by which a row is looked up, also through relations (`site__slug`); {} if not known."""
    reached = follow(model, lookup.split("__"))
    if reached.related is not None:
        return key_schema(reached.related)
    return reached.schema if reached.column is not None else {}


def is_secret_column(name: str) -> bool:
    """Whether a column is likely to hold a secret, so that rows are neither named nor looked up by it."""
    return is_secret_name(name) or _SECRET_COLUMN.search(name) is not None


def identifying_names(model: Model) -> list[str]:
    """Fields by which a person would name a row of the model: the unique ones, or a plain `name`."""
    columns = [each for each in model._meta.concrete_fields if not each.primary_key and not each.is_relation]
    own = [each for each in columns if not is_secret_column(each.name)]
    unique = [each.name for each in own if each.unique]
    return unique or [each.name for each in own if each.name == "name"]
