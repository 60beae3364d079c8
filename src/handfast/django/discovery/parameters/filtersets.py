"""Filter sets of django-filter as parameters of a query; without django-filter nothing here is used."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from django import forms
from django.db import models
from django.utils.translation import gettext

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.schemas.json_schemas import described, options, plain_scalar
from handfast.django.discovery.schemas.model_values import column_schema, follow, key_schema
from handfast.django.discovery.schemas.scalar_fields import labels
from handfast.django.discovery.tool import ListStyle, QueryParameter
from handfast.django.discovery.views.bare_view import AskedView
from handfast.django.discovery.views.guarded_calls import Raised, call_guarded

_FORM_FIELDS: Final[tuple[tuple[type, Json], ...]] = (
    (forms.NullBooleanField, {"type": "boolean"}),
    (forms.BooleanField, {"type": "boolean"}),
    (forms.FloatField, {"type": "number"}),
    (forms.DecimalField, {"type": "number"}),
    (forms.IntegerField, {"type": "integer"}),
    (forms.DateTimeField, {"type": "string", "format": "date-time"}),
    (forms.DateField, {"type": "string", "format": "date"}),
    (forms.TimeField, {"type": "string", "examples": ["14:30:00"]}),
    (forms.DurationField, {"type": "string", "examples": ["1 02:30:00"]}),
    (forms.UUIDField, {"type": "string", "format": "uuid"}),
    (forms.CharField, {"type": "string"}),
)
_NUMBERS: Final = (forms.FloatField, forms.DecimalField, forms.IntegerField)
# Django makes dates of these to compare with, and crashes over years that dates cannot have. In another time zone that
# is true of some days of the first and the last year, too.
_YEARS: Final = ("year", "iso_year")
_YEAR: Final[Json] = {"type": "integer", "minimum": 2, "maximum": 9998}
_COMMAS: Final = "Multiple values may be separated by commas."  # what django-filter says of every list
# A comma inside a value would split it in two.
_NO_COMMA: Final = "^[^,]*$"
_LOOKUPS: Final = {
    "gt": "More than this",
    "gte": "This or more",
    "lt": "Less than this",
    "lte": "This or less",
    "contains": "Contains this",
    "icontains": "Contains this, in any case",
    "iexact": "Is this, in any case",
    "startswith": "Begins with this",
    "istartswith": "Begins with this, in any case",
    "endswith": "Ends with this",
    "iendswith": "Ends with this, in any case",
    "in": "Is one of these",
    "range": "Lies between these two",
    "isnull": "Whether there is none",
    "regex": "Matches this regular expression",
    "iregex": "Matches this regular expression, in any case",
}
_SUFFIXES: Final = {
    "min": "This or more",
    "max": "This or less",
    "after": "From this on",
    "before": "Up to this",
    "lookup": "How the value beside it is compared",
}


def filterset_parameters(backend: Any, asked: AskedView) -> Iterator[QueryParameter]:  # Any: django-filter has no types
    filterset = backend.get_filterset(asked.view.request, asked.queryset, asked.view)
    for name, one in filterset.filters.items() if filterset is not None else ():
        yield from _parameters(name, one)


def _parameters(name: str, one: Any) -> Iterator[QueryParameter]:  # Any: a filter
    said = _said(one)
    one.label = one._label or ""  # else django-filter would make one up, slowly and without use
    made = call_guarded(lambda: one.field)
    if isinstance(made, Raised):  # its choices are values of the table, which is not queried now
        yield QueryParameter(name, described(_column(one) or {"type": "string"}, said, _how(one)))
        return
    field = made.value
    suffixes = getattr(field.widget, "suffixes", None)
    if isinstance(field, forms.MultiValueField) and suffixes is not None:
        for suffix, inner in zip(suffixes, field.fields, strict=True):
            key = f"{name}_{suffix}" if suffix else name
            yield QueryParameter(key, described(_schema(inner, one), said, _how(one, suffix)))
        return
    is_list = hasattr(field, "base_widget_class")  # a list that is written with commas
    schema = _comma_list(field, one) if is_list else _schema(field, one)
    style: ListStyle = "comma" if is_list else "repeat"
    yield QueryParameter(name, described(schema, said, _how(one)), style, bool(field.required))


def _comma_list(field: forms.Field, one: Any) -> Json:  # Any: a filter
    item = _schema(field, one)
    if item.get("type") == "array":
        item = item["items"]
    if item == {"type": "string"}:
        item = {**item, "pattern": _NO_COMMA}
    is_range = str(one.lookup_expr).endswith("range")
    return {"type": "array", "items": item, **({"minItems": 2, "maxItems": 2} if is_range else {"minItems": 1})}


def _schema(field: forms.Field, one: Any) -> Json:  # Any: a filter
    if isinstance(field, forms.ModelMultipleChoiceField):
        return {"type": "array", "items": _related(field)}
    if isinstance(field, forms.ModelChoiceField):
        return _related(field)
    if isinstance(field, forms.MultipleChoiceField):
        return {"type": "array", "items": _choices(field)}
    if isinstance(field, forms.ChoiceField):
        return _choices(field)
    if isinstance(field, _NUMBERS) and str(one.lookup_expr).split("__")[0] in _YEARS:
        return dict(_YEAR)
    schema = next((schema for kind, schema in _FORM_FIELDS if isinstance(field, kind)), {"type": "string"})
    if isinstance(field, _NUMBERS) and _column(one).get("type") == "integer":
        return {"type": "integer"}
    return dict(schema)


def _column(one: Any) -> Json:  # Any: a filter
    """The schema of the column that a filter compares with; {} where it does not compare with the column itself."""
    name = str(one.field_name or "")
    reached = follow(getattr(one, "model", None), name.split("__"))
    is_whole = isinstance(reached.column, models.IntegerField)
    return reached.schema if is_whole or str(one.lookup_expr) in ("exact", "in") else {}


def _related(field: Any) -> Json:  # Any: a form field whose rows may be any
    model = field.queryset.model
    by = field.to_field_name
    schema = column_schema(model._meta.get_field(by)) if by else key_schema(model)
    if getattr(field, "null_label", None) is None:
        return schema
    return {"anyOf": [schema, {"const": str(field.null_value)}]}


def _choices(field: Any) -> Json:  # Any: choices may be grouped, and of any kind
    pairs = [(key, label) for key, label in _flat(field.choices) if key not in ("", None)]
    return described(options(plain_scalar(key) for key, _ in pairs), labels(_telling(pairs)))


def _telling(pairs: Iterable[tuple[object, object]]) -> list[tuple[object, object]]:
    """The choices without the reversed orderings, whose labels only say that they are reversed."""
    return [(key, label) for key, label in pairs if not str(key).startswith("-")]


def _flat(choices: Iterable[Any]) -> Iterator[tuple[object, object]]:  # Any: pairs, or groups of pairs
    for key, label in choices:
        if isinstance(label, list | tuple):
            yield from label
        else:
            yield key, label


def _said(one: Any) -> str:  # Any: a filter
    """The description that a filter's author has given."""
    given = str(one.extra.get("help_text") or "")
    is_made_up = hasattr(one, "base_field_class") and given == gettext(_COMMAS)
    return "" if is_made_up else given or str(one._label or "")


def _how(one: Any, suffix: str | None = None) -> str:  # Any: a filter
    """How the value is compared, where that is not by equality."""
    how = _SUFFIXES.get(suffix or "", "") or _LOOKUPS.get(str(one.lookup_expr).rpartition("__")[2], "")
    if one.exclude:
        return f"Leaves out what matches: {how.lower()}" if how else "Leaves out what matches"
    return "" if hasattr(one, "param_map") else how
