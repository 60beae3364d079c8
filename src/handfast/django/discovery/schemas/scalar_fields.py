"""Serializer fields that hold one value or plain containers of them: what they take, and what they send."""

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from django.conf import settings
from rest_framework import ISO_8601, fields
from rest_framework.settings import api_settings
from rest_framework.utils import humanize_datetime

from handfast.django.discovery.drf_types import AnyField, Json
from handfast.django.discovery.schemas.json_schemas import described, options, plain_scalar, types_of
from handfast.django.discovery.schemas.model_values import datetime_schema

_MOST_LABELS: Final = 20  # labels are worth reading only for a handful of choices
_MOST_EXAMPLES: Final = 20
_EXAMPLE: Final = datetime.datetime(2026, 3, 1, 14, 30)
_DATE: Final[Json] = {"type": "string", "format": "date"}
# Not the format "time": that one asks for an offset, which a time of day does not have.
_TIME_OF_DAY: Final = described({"type": "string", "examples": ["14:30:00"]}, "A time of day as HH:MM or HH:MM:SS")
_DURATION: Final = "days, hours, minutes and seconds, such as 1 02:30:00, or ISO 8601, such as P1DT2H30M"
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


def choice_input(field: fields.ChoiceField) -> Json:
    values = _values(field)
    blank = [""] if field.allow_blank and "" not in values else []
    return described(options([*values, *blank]), labels(field.choices.items()))


def choice_output(field: fields.ChoiceField) -> Json:
    """Any value of the choices' kind: a row may hold one from before the choices changed."""
    values = _values(field)
    # The empty text adds the type "string": a row may also hold a blank, or a text that is not among the choices.
    return {**types_of([*values, ""]), "examples": values[:_MOST_EXAMPLES]} if values else {}


def multiple_input(field: fields.MultipleChoiceField) -> Json:
    bounds = {} if field.allow_empty else {"minItems": 1}
    schema = {"type": "array", "items": options(_values(field)), **bounds}
    return described(schema, labels(field.choices.items()))


def _values(field: fields.ChoiceField) -> list[object]:
    return [plain_scalar(key) for key in field.choices]


def labels(choices: Iterable[tuple[object, object]]) -> str:
    """The meanings of the choices whose labels say more than their values."""
    pairs = [(str(plain_scalar(key)), " ".join(str(label).split())) for key, label in choices]
    telling = [f"{key} = {label}" for key, label in pairs if key and _plain(key) != _plain(label)]
    return ", ".join(telling) if 0 < len(telling) <= _MOST_LABELS else ""


def _plain(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def duration_input(field: fields.DurationField) -> Json:
    limits = [f"at least {field.min_value}" if field.min_value is not None else ""]
    limits += [f"at most {field.max_value}" if field.max_value is not None else ""]
    return described({"type": "string"}, f"A duration: {'; '.join([_DURATION, *filter(None, limits)])}")


def _in_input_formats(setting: str, words: Callable[[Any], str], iso: Json) -> Described:  # Any: formats, in the stubs
    """Describes a date or a time that a field takes: in ISO 8601, or in the formats of the field or the setting."""

    def describe(field: object) -> Json:
        formats: Sequence[str] = getattr(field, "input_formats", getattr(api_settings, setting))
        if any(form.lower() == ISO_8601 for form in formats):
            return dict(iso)
        examples = list(dict.fromkeys(_EXAMPLE.strftime(form) for form in formats))
        return described({"type": "string", "examples": examples}, f"Written as {words(formats)}")

    return describe


def _in_output_format(setting: str, iso: Described) -> Described:
    """Describes a date or a time that a field sends: in ISO 8601, or in the format of the field or the setting."""

    def describe(field: object) -> Json:
        form: str | None = getattr(field, "format", getattr(api_settings, setting))
        if form is None or form.lower() == ISO_8601:
            return iso(field)
        return {"type": "string", "examples": [_EXAMPLE.strftime(form)]}

    return describe


def _iso_datetime(field: fields.DateTimeField) -> Json:
    zone = field.timezone if hasattr(field, "timezone") else settings.USE_TZ or None
    return datetime_schema(is_aware=zone is not None)


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
    if whole is not None and whole <= 15:  # a float holds at most 15 digits exactly
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
    """Anything but null, which a field accepts only with `allow_null`."""
    if field.binary:
        return {"type": "string", "contentMediaType": "application/json"}
    return {"type": ["object", "array", "string", "number", "boolean"]}


def _always(schema: Json) -> Described:
    return lambda _: dict(schema)


# A class that is not listed is described as its nearest base. Containers are in field_schemas, with their children.
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
    fields.DateTimeField: _in_input_formats(
        "DATETIME_INPUT_FORMATS", humanize_datetime.datetime_formats, {"type": "string", "format": "date-time"}
    ),
    fields.DateField: _in_input_formats("DATE_INPUT_FORMATS", humanize_datetime.date_formats, _DATE),
    fields.TimeField: _in_input_formats("TIME_INPUT_FORMATS", humanize_datetime.time_formats, _TIME_OF_DAY),
    fields.DurationField: duration_input,
    fields.ChoiceField: choice_input,
    fields.MultipleChoiceField: multiple_input,
    fields.FileField: _always(_FILE_INPUT),
    fields.JSONField: _json_input,
    fields.ModelField: _always({}),
    fields._UnvalidatedField: _always({}),
}

# What was stored before a validator was written is still sent, so nothing is promised here that only a validator
# ensures: no lengths, no ranges, no patterns, no list of choices, and no format that an empty text would break.
OUTPUT: Final[Mapping[type, Described]] = {
    fields.BooleanField: _always({"type": "boolean"}),
    fields.CharField: _always({"type": "string"}),
    fields.UUIDField: _uuid_output,
    fields.IntegerField: _always({"type": "integer"}),
    fields.BigIntegerField: _big_integer_output,
    fields.FloatField: _always({"type": "number"}),
    fields.DecimalField: _decimal_output,
    fields.DateTimeField: _in_output_format("DATETIME_FORMAT", _iso_datetime),
    fields.DateField: _in_output_format("DATE_FORMAT", _always(_DATE)),
    fields.TimeField: _in_output_format("TIME_FORMAT", _always({"type": "string"})),
    fields.DurationField: _always({"type": "string"}),
    fields.ChoiceField: choice_output,
    fields.MultipleChoiceField: lambda field: {"type": "array", "items": types_of([*_values(field), ""])},
    fields.FileField: _always({"type": ["string", "null"]}),
    fields.JSONField: lambda field: {"type": "string"} if field.binary else {},
    fields._UnvalidatedField: _always({}),
}


def listed(table: Mapping[type, Described], field: AnyField) -> Json:
    """The schema that a table has for a field, by the nearest class of the field that is in the table."""
    found = next((table[cls] for cls in type(field).__mro__ if cls in table), None)
    return {} if found is None else found(field)
