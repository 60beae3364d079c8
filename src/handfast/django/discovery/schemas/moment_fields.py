"""Dates, times and durations of serializers, in the formats that the project chose."""

import datetime
from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from rest_framework import ISO_8601, fields
from rest_framework.settings import api_settings
from rest_framework.utils import humanize_datetime

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.schemas.json_schemas import described
from handfast.django.discovery.schemas.model_values import datetime_schema

_EXAMPLE: Final = datetime.datetime(2026, 3, 1, 14, 30)
_DURATION: Final = "days, hours, minutes and seconds, such as 1 02:30:00, or ISO 8601, such as P1DT2H30M"


def datetime_input(field: fields.DateTimeField) -> Json:
    formats = _formats(field, "DATETIME_INPUT_FORMATS")
    if _has_iso(formats):
        return {"type": "string", "format": "date-time"}
    return _in_format(formats, humanize_datetime.datetime_formats(formats))


def date_input(field: fields.DateField) -> Json:
    formats = _formats(field, "DATE_INPUT_FORMATS")
    if _has_iso(formats):
        return {"type": "string", "format": "date"}
    return _in_format(formats, humanize_datetime.date_formats(formats))


def time_input(field: fields.TimeField) -> Json:
    formats = _formats(field, "TIME_INPUT_FORMATS")
    if _has_iso(formats):
        # Not the format "time": that one asks for an offset, which a time of day has not.
        return described({"type": "string", "examples": ["14:30:00"]}, "A time of day as HH:MM or HH:MM:SS")
    return _in_format(formats, humanize_datetime.time_formats(formats))


def duration_input(field: fields.DurationField) -> Json:
    limits = [f"at least {field.min_value}" if field.min_value is not None else ""]
    limits += [f"at most {field.max_value}" if field.max_value is not None else ""]
    return described({"type": "string"}, f"A duration: {'; '.join([_DURATION, *filter(None, limits)])}")


def _formats(field: object, setting: str) -> Sequence[str]:
    formats: Sequence[str] = getattr(field, "input_formats", getattr(api_settings, setting))
    return formats


def _has_iso(formats: Sequence[str]) -> bool:
    return any(form.lower() == ISO_8601 for form in formats)


def _in_format(formats: Sequence[str], words: str) -> Json:
    examples = list(dict.fromkeys(_EXAMPLE.strftime(form) for form in formats))
    return described({"type": "string", "examples": examples}, f"Written as {words}")


def datetime_output(field: fields.DateTimeField) -> Json:
    form = _output_format(field, "DATETIME_FORMAT")
    if form is None or form.lower() == ISO_8601:
        zone = field.timezone if hasattr(field, "timezone") else settings.USE_TZ or None
        return datetime_schema(is_aware=zone is not None)
    return {"type": "string", "examples": [_EXAMPLE.strftime(form)]}


def date_output(field: fields.DateField) -> Json:
    form = _output_format(field, "DATE_FORMAT")
    if form is None or form.lower() == ISO_8601:
        return {"type": "string", "format": "date"}
    return {"type": "string", "examples": [_EXAMPLE.strftime(form)]}


def time_output(field: fields.TimeField) -> Json:
    form = _output_format(field, "TIME_FORMAT")
    if form is None or form.lower() == ISO_8601:
        return {"type": "string"}
    return {"type": "string", "examples": [_EXAMPLE.strftime(form)]}


def duration_output(_: fields.DurationField) -> Json:
    return {"type": "string"}


def _output_format(field: Any, setting: str) -> str | None:  # Any: three classes without a common base
    form: str | None = getattr(field, "format", getattr(api_settings, setting))
    return form
