"""Time and ids as the records show them."""

import time
from datetime import UTC, datetime, timedelta

from handfast.clock import Clock


def test_now_is_utc_with_microseconds() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    text = Clock().now()
    assert before <= datetime.fromisoformat(text) <= datetime.now(UTC)
    assert len(text) == len("2026-01-01T00:00:00.000000Z")


def test_wall_time_is_the_time_of_records() -> None:
    clock = Clock()
    recorded = datetime.fromisoformat(clock.now()).timestamp()
    assert recorded <= clock.wall() + 1e-6
    assert clock.wall() - recorded < 60


def test_ids_sort_by_creation_and_never_repeat() -> None:
    clock = Clock()
    ids = [clock.new_id() for _ in range(200_000)]
    assert ids == sorted(set(ids))
    assert {len(one) for one in ids} == {28}


def test_an_id_begins_with_its_millisecond() -> None:
    before = time.time_ns() // 1_000_000
    milliseconds, counted = int(Clock().new_id()[:12], 16), int(Clock().new_id()[12:16], 16)
    assert before <= milliseconds <= time.time_ns() // 1_000_000
    assert counted == 0
