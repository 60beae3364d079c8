"""Ids that sort by the moment they were made, and the one way records write a time."""

import os
import threading
import time
from datetime import UTC, datetime


class IdSource:
    """28 hex digits: 48 bits of milliseconds, 16 that count within one, 48 random. Later ids are greater."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> str:
        with self._lock:
            # A clock that stands still or is set back must not make ids repeat or go backwards.
            self._last = max(time.time_ns() // 1_000_000 << 16, self._last + 1)
            return f"{self._last:016x}{os.urandom(6).hex()}"


new_id = IdSource().next


def time_text(moment: datetime) -> str:
    """UTC with microseconds and a trailing Z: always the same length, so times compare as text."""
    # Not strftime: it leaves out the leading zeros of years before 1000.
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def now_text() -> str:
    return time_text(datetime.now(UTC))
