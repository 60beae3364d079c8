"""Choices: what their labels add."""

import pytest
from rest_framework import serializers

from handfast.django.discovery.schemas.choice_fields import choice_output, labels, multiple_input


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
