"""What is said about a call, without what was sent in it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.django.invocation.quoted_values import Unquoting


@pytest.mark.parametrize(
    ("arguments", "text", "shown"),
    [
        ({"status": "odd"}, '"odd" is not a valid choice.', '"…" is not a valid choice.'),
        ({"status": "odd"}, "That is odd.", "That is odd."),
        ({"id": 5}, 'Invalid pk "5".', 'Invalid pk "…".'),
        ({"id": 5}, "At most 5.", "At most 5."),
        ({"id": 70511}, "No row 70511 here.", "No row … here."),
        ({"email": "ada@example.com"}, "ada@example.com is taken.", "… is taken."),
        ({"a": ["b", {"c": "Value of mine"}]}, "Not “Value of mine”, «b»", "Not “…”, «…»"),
        ({"a": "long-value", "b": "long-value-2"}, "long-value-2 and long-value", "… and …"),
        ({"password": "pass"}, "pass is too short", "… is too short"),
        ({"word": "pass"}, "pass is too short", "pass is too short"),
        ({"a": True, "b": None, "c": "  "}, "True  None", "True None"),
        ({}, "password=hunter2 leaked\nhere", "password=[redacted] leaked here"),
        ({}, "x" * 400, "x" * 299 + "…"),
    ],
)
def test_a_message_is_shown_without_the_values(arguments: Any, text: str, shown: str) -> None:
    assert Unquoting(arguments).shown(text) == shown


@given(st.text(st.characters(codec="ascii"), min_size=12).map(str.strip).filter(lambda text: len(text) >= 12))
def test_a_long_value_never_shows(value: str) -> None:
    assert value not in Unquoting({"a": value}).shown(f"There is {value} already.")


def test_very_many_values_cost_no_more_than_many() -> None:
    unquoting = Unquoting([f"{n:06}-value" for n in range(100_000)])
    assert unquoting.shown("000003-value and 099999-value") == "… and 099999-value"
