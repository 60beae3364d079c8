"""Serializer fields that hold one value or plain containers of them: what they take, and what they send."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from rest_framework import fields
from rest_framework.settings import api_settings

from handfast.django.discovery.drf_types import AnyField, Json
from handfast.django.discovery.schemas.choice_fields import choice_input, choice_output, multiple_input, multiple_output
from handfast.django.discovery.schemas.moment_fields import (
    date_input,
    date_output,
    datetime_input,
    datetime_output,
    duration_input,
    duration_output,
    time_input,
    time_output,
)

Described = Callable[[Any], Json]  # Any: the field class that stands beside it in the table

_FILE_INPUT: Final[Json] = {
    "type": "object",
    "properties": {
        "filename": {"type": "string", "minLength": 1},
        "content": {"type": "string", "contentEncoding": "base64", "description": "The file, encoded as base64."},
        "content_type": {
            "type": "string",
            "description": "Such as image/png; guessed from the name where it is left out.",
        },
    },
    "required": ["filename", "content"],
}


def _text(field: fields.CharField) -> Json:
    refuses_empty = not field.allow_blank and not field.min_length
    return {"type": "string", **({"minLength": 1} if refuses_empty else {})}


def _address(field: fields.IPAddressField) -> Json:
    formats = {"ipv4": {"format": "ipv4"}, "ipv6": {"format": "ipv6"}}
    known = formats.get(field.protocol, {"anyOf": list(formats.values())})
    return {**_text(field), **known}


def _decimal_input(field: fields.DecimalField) -> Json:
    """Text or number: text keeps every digit, and agents write either."""
    schema: Json = {"type": ["string", "number"]}
    places, whole = field.decimal_places, field.max_whole_digits
    if not field.localize:
        fraction = "" if places == 0 else rf"(?:\.{_digits(places)})?"
        schema["pattern"] = f"^-?{_digits(whole)}{fraction}$"
    if whole is not None and whole <= 15:  # beyond that a float has no digit left to be wrong about
        schema |= {"exclusiveMinimum": -(10**whole), "exclusiveMaximum": 10**whole}
    return schema


def _digits(most: int | None) -> str:
    if most is None:
        return r"\d+"
    return rf"\d{{1,{most}}}" if most else "0?"


def _decimal_output(field: fields.DecimalField) -> Json:
    is_text = getattr(field, "coerce_to_string", api_settings.COERCE_DECIMAL_TO_STRING)
    return {"type": "string" if is_text else "number"}


def _big_integer_output(field: fields.IntegerField) -> Json:
    is_text = getattr(field, "coerce_to_string", getattr(api_settings, "COERCE_BIGINT_TO_STRING", False))
    return {"type": "string" if is_text else "integer"}


def _uuid_output(field: fields.UUIDField) -> Json:
    forms: dict[str, Json] = {"hex_verbose": {"type": "string", "format": "uuid"}, "int": {"type": "integer"}}
    return forms.get(field.uuid_format, {"type": "string"})


def _json_input(field: fields.JSONField) -> Json:
    """Anything but null, which a field lets through only by saying so."""
    if field.binary:
        return {"type": "string", "contentMediaType": "application/json"}
    return {"type": ["object", "array", "string", "number", "boolean"]}


def _json_output(field: fields.JSONField) -> Json:
    return {"type": "string"} if field.binary else {}


def _always(schema: Json) -> Described:
    return lambda _: dict(schema)


# Where a class is not listed, the nearest of its bases is. Containers are in field_schemas, which knows their children.
INPUT: Final[Mapping[type, Described]] = {
    fields.BooleanField: _always({"type": "boolean"}),
    fields.CharField: _text,
    fields.EmailField: lambda field: {**_text(field), "format": "email"},
    fields.URLField: lambda field: {**_text(field), "format": "uri"},
    fields.IPAddressField: _address,
    fields.UUIDField: _always({"type": "string", "format": "uuid"}),
    fields.IntegerField: _always({"type": "integer"}),
    fields.FloatField: _always({"type": "number"}),
    fields.DecimalField: _decimal_input,
    fields.DateTimeField: datetime_input,
    fields.DateField: date_input,
    fields.TimeField: time_input,
    fields.DurationField: duration_input,
    fields.ChoiceField: choice_input,
    fields.MultipleChoiceField: multiple_input,
    fields.FileField: _always(_FILE_INPUT),
    fields.JSONField: _json_input,
    fields.ModelField: _always({}),
    fields._UnvalidatedField: _always({}),
}

# What was stored before a validator was written is sent all the same, so nothing is promised here that only a validator
# would hold: no lengths, no ranges, no patterns, no list of choices, and no format that an empty text would break.
OUTPUT: Final[Mapping[type, Described]] = {
    fields.BooleanField: _always({"type": "boolean"}),
    fields.CharField: _always({"type": "string"}),
    fields.UUIDField: _uuid_output,
    fields.IntegerField: _always({"type": "integer"}),
    fields.BigIntegerField: _big_integer_output,
    fields.FloatField: _always({"type": "number"}),
    fields.DecimalField: _decimal_output,
    fields.DateTimeField: datetime_output,
    fields.DateField: date_output,
    fields.TimeField: time_output,
    fields.DurationField: duration_output,
    fields.ChoiceField: choice_output,
    fields.MultipleChoiceField: multiple_output,
    fields.FileField: _always({"type": ["string", "null"]}),
    fields.JSONField: _json_output,
    fields._UnvalidatedField: _always({}),
}


def listed(table: Mapping[type, Described], field: AnyField) -> Json:
    """What a table says of a field, by the nearest class that is in it."""
    found = next((table[cls] for cls in type(field).__mro__ if cls in table), None)
    return {} if found is None else found(field)
