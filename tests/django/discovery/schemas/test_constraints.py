"""Validators in the words of a schema."""

from decimal import Decimal

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

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.schemas.constraints import with_constraints

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
