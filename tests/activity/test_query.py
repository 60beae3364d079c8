"""Times as people write them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.activity.query import parse_time
from handfast.clock import time_text

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("30s", "2026-03-01T11:59:30.000000Z"),
        ("15m", "2026-03-01T11:45:00.000000Z"),
        ("2h", "2026-03-01T10:00:00.000000Z"),
        ("7d", "2026-02-22T12:00:00.000000Z"),
        ("1w", "2026-02-22T12:00:00.000000Z"),
        ("2026-02-01", "2026-02-01T00:00:00.000000Z"),
        ("2026-02-01T10:00:00Z", "2026-02-01T10:00:00.000000Z"),
        ("2026-02-01T10:00:00+02:00", "2026-02-01T08:00:00.000000Z"),
        (" 2026-02-01 10:00 ", "2026-02-01T10:00:00.000000Z"),
    ],
)
def test_relative_and_iso_times_are_understood(text: str, meant: str) -> None:
    assert parse_time(text, now=NOW) == meant


@pytest.mark.parametrize("text", ["", "yesterday", "15", "m", "-2h", "2026-13-01", "999999w", "1.5h", "٣h"])
def test_anything_else_is_refused_with_the_forms_that_are_not(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time; write 15m, 2h, 7d, or ISO 8601"):
        parse_time(text, now=NOW)


@given(st.lists(st.datetimes(timezones=st.just(UTC)), min_size=2))
def test_times_as_text_sort_like_the_times(moments: list[datetime]) -> None:
    assert sorted(map(time_text, moments)) == [time_text(moment) for moment in sorted(moments)]
