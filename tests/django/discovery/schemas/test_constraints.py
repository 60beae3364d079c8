"""Validators in the words of a schema."""

import re
from decimal import Decimal

import jsonschema_rs
import pytest
from django.core.validators import (
    EmailValidator,
    MaxLengthValidator,
    MaxValueValidator,
    MinLengthValidator,
    MinValueValidator,
    RegexValidator,
    StepValueValidator,
    URLValidator,
)
from hypothesis import given
from hypothesis import strategies as st

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.schemas.constraints import portable_pattern, whole, with_constraints

SAME = {
    r"^[a-z]+$": "^[a-z]+$",
    r"\A[a-z]+\Z": "^[a-z]+$",
    r"^(?P<year>[0-9]{4})-(?:a|b)\Z": "^(?<year>[0-9]{4})-(?:a|b)$",
    r"^a\\Z$": r"^a\\Z$",
    r"[.]\d\.": r"[.]\d\.",
}


@pytest.mark.parametrize(("pattern", "written"), SAME.items())
def test_a_plain_pattern_is_kept(pattern: str, written: str) -> None:
    assert portable_pattern(pattern) == written


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        (r"^(?!x)a$", 0),
        (r"(?<=x)a", 0),
        (r"(a)\1", 0),
        (r"(?P<n>a)(?P=n)", 0),
        (r"(?i)a", 0),
        (r"a++", 0),
        (r"^\w+$", 0),
        (r"\ba", 0),
        ("a", re.IGNORECASE),
        ("a b", re.VERBOSE),
        ("^a$", re.MULTILINE),
        ("a" * 301, 0),
        ("a{1,1000}{1,1000}", 0),
    ],
)
def test_what_others_read_differently_or_not_at_all_is_left_to_the_serializer(pattern: str, flags: int) -> None:
    assert portable_pattern(pattern, flags) is None


def test_letters_are_the_same_everywhere_once_they_are_ascii() -> None:
    assert portable_pattern(r"^[-\w]+\Z", re.ASCII) == r"^[-\w]+$"


@given(st.sampled_from(sorted(SAME)), st.text("az019-.Z\\b\n", max_size=6))
def test_both_let_the_same_texts_through(pattern: str, text: str) -> None:
    # Python's `$` also stands before a last newline; nobody else's does.
    if re.search(pattern, text) is not None and not text.endswith("\n"):
        assert jsonschema_rs.is_valid({"pattern": portable_pattern(pattern)}, text)
    if re.search(pattern, text) is None:
        assert not jsonschema_rs.is_valid({"pattern": portable_pattern(pattern)}, text)


def test_a_part_of_a_path_is_matched_as_a_whole() -> None:
    assert (whole("a|b"), whole(r"(?=x)")) == ("^(?:a|b)$", None)


CASES: list[tuple[str, list[object], Json]] = [
    ("string", [MinLengthValidator(2), MaxLengthValidator(3)], {"minLength": 2, "maxLength": 3}),
    ("string", [MinLengthValidator(2), MinLengthValidator(4)], {"minLength": 4}),
    ("string", [MaxLengthValidator(9), MaxLengthValidator(4)], {"maxLength": 4}),
    ("string", [MaxValueValidator(9)], {}),
    ("array", [MinLengthValidator(2)], {"minItems": 2}),
    ("object", [MaxLengthValidator(2)], {"maxProperties": 2}),
    ("integer", [MinValueValidator(lambda: 3)], {"minimum": 3}),
    ("number", [MinValueValidator(Decimal("0.5")), MaxValueValidator(Decimal("7.00"))], {"minimum": 0.5, "maximum": 7}),
    ("integer", [MaxValueValidator(10**18), MinValueValidator("2026-03-01")], {}),
    ("string", [RegexValidator(r"^a\Z")], {"pattern": "^a$"}),
    ("string", [RegexValidator("a", inverse_match=True), URLValidator(), EmailValidator(), print], {}),
    ("integer", [RegexValidator("a"), StepValueValidator(2)], {}),
]


@pytest.mark.parametrize(("kind", "validators", "found"), CASES)
def test_validators_say_what_a_schema_can_say(kind: str, validators: list[object], found: Json) -> None:
    assert with_constraints({"type": kind}, validators) == {"type": kind, **found}  # type: ignore[arg-type]  # validators


def test_text_or_number_is_held_by_the_limits_of_both() -> None:
    limits = [MaxLengthValidator(5), MaxValueValidator(7)]
    assert with_constraints({"type": ["string", "number"]}, limits) == {
        "type": ["string", "number"],
        "maxLength": 5,
        "maximum": 7,
    }
