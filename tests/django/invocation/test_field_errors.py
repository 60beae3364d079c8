"""Errors of serializers, and of handlers that put them into a form of their own."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ErrorDetail

from handfast.django.invocation.field_errors import FieldErrors, Unquoting, read_errors


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


ARGUMENTS = ("email", "address", "items", "detail", "code")


def places(body: Any, arguments: Any = ARGUMENTS) -> Any:
    return read_errors(body, arguments, Unquoting({})).places


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"email": ["Wrong.", "Very."]}, {"email": ["Wrong.", "Very."]}),
        ({"address": {"city": ["No."], "non_field_errors": ["Far."]}}, {"address.city": ["No."], "address": ["Far."]}),
        ({"items": [{}, {}, {"sku": ["Gone."]}]}, {"items[2].sku": ["Gone."]}),
        ({"items": {"1": ["Bad."], 3: ["Worse."]}}, {"items[1]": ["Bad."], "items[3]": ["Worse."]}),
        ({"items": ["Empty."]}, {"items": ["Empty."]}),
        (["Not so."], {"": ["Not so."]}),
        ("Not so.", {"": ["Not so."]}),
        ({"non_field_errors": ["Not so."]}, {"": ["Not so."]}),
        ({"__all__": ["Not so."]}, {"": ["Not so."]}),
        ({"detail": "Mine."}, {"detail": ["Mine."]}),
        ({"message": "Not so.", "status": 400, "type": "x"}, {"": ["Not so."]}),
        ({"errors": {"email": ["Wrong."]}, "code": "invalid"}, {"email": ["Wrong."], "code": ["invalid"]}),
        ({"error": {"message": "Not so.", "details": {"email": "Wrong."}}}, {"": ["Not so."], "email": ["Wrong."]}),
        ({"errors": [{"field": "items[1].sku", "message": "Gone."}]}, {"items[1].sku": ["Gone."]}),
        ({"errors": [{"attr": "non_field_errors", "detail": "Not so."}]}, {"": ["Not so."]}),
        ({"errors": [{"attr": None, "detail": "Not so."}]}, {"": ["Not so."]}),
        ({"email": []}, {}),
        ({}, {}),
        (None, {}),
        (17, {}),
    ],
)
def test_an_error_is_under_its_argument(body: Any, expected: dict[str, list[str]]) -> None:
    assert places(body) == expected


def test_what_quotes_a_value_without_quotes_is_said_in_our_words() -> None:
    told = places({"email": [ErrorDetail("Object with code=a1 does not exist.", "does_not_exist")]})
    assert told == {"email": ["nothing that this caller may use is known by this value"]}


def test_only_so_many_are_told() -> None:
    errors = read_errors({f"f{n}": ["Wrong."] for n in range(80)}, (), Unquoting({}))
    assert len(errors.places) == 50
    assert str(errors).endswith("f9: Wrong; and 40 more")
    assert str(FieldErrors({"a": ["One.", "Two."], "": ["Three."]})) == "a: One; a: Two; Three"
    assert FieldErrors({"a": ["One."], "": ["Two."]}).details == {"fields": {"a": ["One."]}, "general": ["Two."]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.integers(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_whatever_a_handler_makes_of_an_error_it_is_told_in_one_line(body: Any) -> None:
    told = str(read_errors(body, ARGUMENTS, Unquoting(body)))
    assert told.isprintable()
