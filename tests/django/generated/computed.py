"""Methods of generated models and serializers, which say what they return, or do not, and return it."""

import datetime
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Literal, TypedDict

from hypothesis import strategies as st

from tests.django.generated.columns import AWARE, FLOATS, JSON, MONEY, NAIVE, SPANS, TEXT, WORDS


class Pair(TypedDict, total=False):
    first: int
    second: str | None


ANNOTATED: tuple[tuple[Any, st.SearchStrategy[Any]], ...] = (
    (None, st.none()),
    (int, st.integers()),
    (str, TEXT),
    (bool, st.booleans()),
    (float, FLOATS | st.integers()),
    (str | None, st.none() | TEXT),
    (int | str, st.integers() | TEXT),
    (Decimal, MONEY),
    (uuid.UUID, st.uuids()),
    (datetime.date, st.dates()),
    (datetime.datetime | None, st.none() | AWARE | NAIVE),
    (datetime.time, st.times()),
    (datetime.timedelta, SPANS),
    (Literal["a", "b", 3], st.sampled_from(["a", "b", 3])),
    (list[int | None], st.lists(st.none() | st.integers())),
    (tuple[int, str], st.tuples(st.integers(), TEXT)),
    (tuple[int, ...], st.lists(st.integers()).map(tuple)),
    (set[str], st.sets(WORDS)),
    (dict[str, float], st.dictionaries(WORDS, st.floats(0, 1))),
    (Mapping[str, list[str]], st.dictionaries(WORDS, st.lists(TEXT))),
    (Pair, st.fixed_dictionaries({"first": st.integers()}, optional={"second": st.none() | TEXT})),
    (list[Pair] | None, st.none() | st.just([{"first": 1}])),
    (Any, JSON),
    ("a name that is nowhere", JSON),
)


@st.composite
def computed(draw: st.DrawFn) -> Callable[..., Any]:
    said, values = draw(st.sampled_from(ANNOTATED))
    value = draw(values)

    def method(*_: Any) -> Any:
        return value

    method.__annotations__ = {} if draw(st.integers(0, 3)) == 0 else {"return": said}
    return method
