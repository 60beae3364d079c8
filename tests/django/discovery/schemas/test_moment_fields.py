"""Dates and times follow the settings of the project."""

import datetime

from django.test import override_settings
from rest_framework import serializers
from rest_framework.settings import api_settings

from handfast.django.discovery.schemas.moment_fields import (
    date_input,
    date_output,
    datetime_input,
    datetime_output,
    time_output,
)


def test_formats_of_the_project_hold_for_fields_without_one() -> None:
    formats = {
        "DATE_FORMAT": "%d.%m.%Y",
        "DATE_INPUT_FORMATS": ["%d.%m.%Y"],
        "DATETIME_FORMAT": None,
        "TIME_FORMAT": "%H.%M",
    }
    with override_settings(REST_FRAMEWORK=formats):
        assert api_settings.DATE_FORMAT == "%d.%m.%Y"
        assert date_output(serializers.DateField()) == {"type": "string", "examples": ["01.03.2026"]}
        assert date_input(serializers.DateField())["examples"] == ["01.03.2026"]
        assert datetime_output(serializers.DateTimeField()) == {"type": "string", "format": "date-time"}
        assert time_output(serializers.TimeField()) == {"type": "string", "examples": ["14.30"]}


def test_a_moment_is_a_date_time_only_with_an_offset() -> None:
    with override_settings(USE_TZ=False):
        assert datetime_output(serializers.DateTimeField()) == {"type": "string"}
        aware = serializers.DateTimeField(default_timezone=datetime.UTC)
        assert datetime_output(aware) == {"type": "string", "format": "date-time"}
        assert datetime_input(serializers.DateTimeField()) == {"type": "string", "format": "date-time"}
