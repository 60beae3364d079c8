"""Columns of generated models: what their tables may hold, and what a good call sends for them."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.conf import settings
from django.db import models
from hypothesis import strategies as st

LONGEST = 12
# Text that a database and a serializer take: no NUL, no lone surrogates.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=LONGEST)
WORDS = st.text("abcdefgh", min_size=1, max_size=6)
# From a time on when every zone has an offset of whole minutes: there is no other in RFC 3339.
NAIVE = st.datetimes(min_value=datetime.datetime(1980, 1, 1), max_value=datetime.datetime(2100, 1, 1))
AWARE = NAIVE.map(lambda moment: moment.replace(tzinfo=datetime.UTC))
SPANS = st.timedeltas(min_value=datetime.timedelta(-999), max_value=datetime.timedelta(999))
MONEY = st.decimals(min_value=-99999, max_value=99999, places=2)
FLOATS = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)
JSON = st.recursive(
    st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=4,
)


class Listed(models.TextField):  # type: ignore[type-arg]  # only the stubs have parameters
    """A column whose value in Python is another kind of thing than what the table holds."""

    def from_db_value(self, value: Any, *_: Any) -> Any:
        return None if value is None else value.split(",")

    def get_prep_value(self, value: Any) -> Any:
        return ",".join(value) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Kind:
    """`stored` is what a table may hold whatever the validators say, `sent` what a call may send; None: nothing."""

    make: Callable[..., Any]
    stored: st.SearchStrategy[Any]
    sent: st.SearchStrategy[Any] | None
    choices: tuple[Any, ...] = ()
    is_json: bool = True  # REST framework can render its value as it is


@st.composite
def _moments(draw: st.DrawFn) -> datetime.datetime:
    return draw(AWARE if settings.USE_TZ else NAIVE)


KINDS: Mapping[str, Kind] = {
    "boolean": Kind(models.BooleanField, st.booleans(), st.booleans()),
    "text": Kind(partial(models.CharField, max_length=LONGEST), TEXT, WORDS, ("new", "old")),
    "long": Kind(models.TextField, TEXT, WORDS),
    "slug": Kind(models.SlugField, TEXT, WORDS),
    "email": Kind(models.EmailField, TEXT, WORDS.map(lambda name: f"{name}@example.com")),
    "link": Kind(models.URLField, TEXT, WORDS.map(lambda name: f"https://example.com/{name}")),
    "address": Kind(models.GenericIPAddressField, st.ip_addresses().map(str), st.ip_addresses(v=4).map(str)),
    "uuid": Kind(models.UUIDField, st.uuids(), st.uuids().map(str)),
    "integer": Kind(models.IntegerField, st.integers(-(2**31), 2**31 - 1), st.integers(-99, 99), (1, 2, 3)),
    "positive": Kind(models.PositiveSmallIntegerField, st.integers(0, 2**15 - 1), st.integers(0, 99)),
    "big": Kind(models.BigIntegerField, st.integers(-(2**63), 2**63 - 1), st.integers(-(2**53), 2**53)),
    "float": Kind(models.FloatField, FLOATS, st.floats(-9, 9)),
    "decimal": Kind(
        partial(models.DecimalField, max_digits=8, decimal_places=2), MONEY, MONEY.map(str) | st.integers(0, 99)
    ),
    "date": Kind(models.DateField, st.dates(), st.dates().map(str)),
    "moment": Kind(models.DateTimeField, _moments(), AWARE.map(lambda moment: moment.isoformat())),
    "time": Kind(models.TimeField, st.times(), st.times().map(str)),
    "span": Kind(models.DurationField, SPANS, st.sampled_from(["1 02:30:00", "P1DT2H30M", "00:00:01"])),
    "json": Kind(models.JSONField, JSON, JSON),
    "file": Kind(models.FileField, st.sampled_from(["", "some file.png"]), None, is_json=False),
    "image": Kind(models.ImageField, st.sampled_from(["", "a.png"]), None, is_json=False),
    "binary": Kind(models.BinaryField, st.binary(max_size=5), None, is_json=False),
    "listed": Kind(Listed, st.lists(WORDS, min_size=1, max_size=2), None),
}


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind = field(repr=False)
    options: dict[str, Any]

    @property
    def has_choices(self) -> bool:
        return "choices" in self.options

    @property
    def stored(self) -> st.SearchStrategy[Any]:
        return st.none() | self.kind.stored if self.options["null"] else self.kind.stored

    @property
    def sent(self) -> st.SearchStrategy[Any] | None:
        if self.kind.sent is None:
            return None
        one = st.sampled_from(self.kind.choices) if self.has_choices else self.kind.sent
        return st.none() | one if self.options["null"] else one

    def make(self) -> Any:
        return self.kind.make(**self.options)


@st.composite
def columns(draw: st.DrawFn, prefix: str, count: int) -> list[Column]:
    kinds = draw(st.permutations(sorted(KINDS)))[:count]
    return [Column(f"{prefix}_{name}", KINDS[name], _options(draw, KINDS[name])) for name in kinds]


def _options(draw: st.DrawFn, kind: Kind) -> dict[str, Any]:
    options: dict[str, Any] = {"null": draw(st.booleans()), "blank": draw(st.booleans())}
    has_choices = draw(st.booleans())
    if kind.choices and has_choices:
        options["choices"] = [(choice, f"The {choice}") for choice in kind.choices]
    if draw(st.integers(0, 3)) == 0:
        options["default"] = partial(_the, draw(kind.stored))
    if draw(st.integers(0, 3)) == 0:
        options["help_text"] = "What it is for"
    return options


def _the(value: Any) -> Any:
    return value
