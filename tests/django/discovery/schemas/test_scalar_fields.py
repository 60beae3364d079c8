"""Choices: what their labels add."""

import datetime

import pytest
from django.test import override_settings
from rest_framework import serializers
from rest_framework.settings import api_settings

from handfast.django.discovery.schemas.scalar_fields import INPUT, OUTPUT, choice_output, labels, listed, multiple_input


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ([("new", "Not called yet"), ("known", "Known")], "new = Not called yet"),
        ([("not_started", "Not started"), ("IN-PROGRESS", "in progress")], ""),
        ([(1, "One"), (2, "  Two\n times ")], "1 = One, 2 = Two times"),
        ([("", "nothing")], ""),
        ([(number, f"No. {number}!") for number in range(21)], "0 = No. 0!"),
    ],
)
def test_a_label_is_told_where_it_says_more_than_the_value(choices: list[tuple[object, str]], said: str) -> None:
    assert labels(choices) == said if len(choices) <= 20 else labels(choices) == ""


def test_without_choices_nothing_is_promised() -> None:
    assert choice_output(serializers.ChoiceField([])) == {}


def test_labels_of_several_choices_stand_beside_the_list() -> None:
    field = serializers.MultipleChoiceField(choices=[("a", "Alpha")])
    assert multiple_input(field) == {
        "type": "array",
        "items": {"type": "string", "enum": ["a"]},
        "description": "a = Alpha.",
    }


def test_formats_of_the_project_hold_for_fields_without_one() -> None:
    formats = {
        "DATE_FORMAT": "%d.%m.%Y",
        "DATE_INPUT_FORMATS": ["%d.%m.%Y"],
        "DATETIME_FORMAT": None,
        "TIME_FORMAT": "%H.%M",
    }
    with override_settings(REST_FRAMEWORK=formats):
        assert api_settings.DATE_FORMAT == "%d.%m.%Y"
        assert listed(OUTPUT, serializers.DateField()) == {"type": "string", "examples": ["01.03.2026"]}
        assert listed(INPUT, serializers.DateField())["examples"] == ["01.03.2026"]
        assert listed(OUTPUT, serializers.DateTimeField()) == {"type": "string", "format": "date-time"}
        assert listed(OUTPUT, serializers.TimeField()) == {"type": "string", "examples": ["14.30"]}


def test_a_moment_is_a_date_time_only_with_an_offset() -> None:
    with override_settings(USE_TZ=False):
        assert listed(OUTPUT, serializers.DateTimeField()) == {"type": "string"}
        aware = serializers.DateTimeField(default_timezone=datetime.UTC)
        assert listed(OUTPUT, aware) == {"type": "string", "format": "date-time"}
        assert listed(INPUT, serializers.DateTimeField()) == {"type": "string", "format": "date-time"}
