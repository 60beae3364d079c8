"""What a column holds when nobody said anything."""

import uuid
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from handfast.django.empty_rows.default_values import AlwaysFilled, AtRest, Untold, at_rest

MADE_ANEW = Untold("has a default that is made for every row")


def count() -> int:
    raise AssertionError("a default that counts is never called")


@pytest.mark.parametrize(
    ("column", "rest"),
    [
        (models.CharField(), AtRest(("",))),
        (models.TextField(default="new"), AtRest(("new", ""))),
        (models.EmailField(null=True), AtRest(("",), nulls=True)),
        (models.FileField(), AtRest(("",))),
        (models.BinaryField(), AtRest((b"",))),
        (models.IntegerField(default=3), AtRest((3,))),
        (models.IntegerField(default="3"), AtRest((3,))),
        (models.IntegerField(null=True), AtRest(nulls=True)),
        (models.IntegerField(null=True, default=3), AtRest((3,), nulls=True)),
        (models.IntegerField(default=3, db_default=4), AtRest((3, 4))),
        (models.IntegerField(db_default=models.Value(4)), AtRest((4,))),
        (models.BooleanField(default=False), AtRest((False,))),
        (models.DecimalField(default=Decimal("0.00"), max_digits=4, decimal_places=2), AtRest((Decimal("0.00"),))),
        (models.DateField(null=True), AtRest(nulls=True)),
        (models.DateField(default=date(2026, 1, 1)), AtRest((date(2026, 1, 1),))),
        (models.JSONField(default=dict), AtRest(({},), json_null=True)),
        (models.JSONField(null=True), AtRest(nulls=True, json_null=True)),
        (models.GenericIPAddressField(null=True), AtRest(nulls=True)),
        (models.UUIDField(null=True), AtRest(nulls=True)),
    ],
)
def test_a_column_is_at_rest_at_its_default_blank_or_null(column: Any, rest: AtRest) -> None:
    assert at_rest(column) == rest


@pytest.mark.parametrize(
    "column",
    [
        models.UUIDField(default=uuid.uuid4),
        models.DateTimeField(default=timezone.now),
        models.DateField(default=date.today),
        models.IntegerField(default=count),
        models.DateTimeField(db_default=Now()),
        models.DateTimeField(null=True, default=timezone.now),
    ],
)
def test_a_default_that_is_made_anew_tells_nothing_and_is_never_called(column: Any) -> None:
    assert at_rest(column) == MADE_ANEW


def test_a_column_that_is_set_to_the_time_tells_nothing() -> None:
    assert at_rest(models.DateTimeField(auto_now_add=True)) == Untold("is set to the time")
    assert at_rest(models.DateField(auto_now=True)) == Untold("is set to the time")


@pytest.mark.parametrize(
    "column", [models.IntegerField(), models.DateField(), models.UUIDField(), models.BooleanField()]
)
def test_a_column_without_default_and_null_is_always_filled_in(column: Any) -> None:
    assert at_rest(column) == AlwaysFilled()


def test_what_a_serializer_fills_in_counts_as_if_nobody_had_said_it() -> None:
    assert at_rest(models.IntegerField(), 7) == AtRest((7,))
    assert at_rest(models.IntegerField(default=3), 7, 3) == AtRest((3, 7))
    assert at_rest(models.IntegerField(default=3), count) == MADE_ANEW


def test_a_default_that_the_column_does_not_take_tells_nothing() -> None:
    assert at_rest(models.IntegerField(default="many")) == Untold("has a default that it does not take itself")
