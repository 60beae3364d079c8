"""Time and fresh ids, handed to the call path so that tests can hand in others."""

import os
import time
from datetime import UTC, datetime


class Clock:
    """The real clock. Ids sort by creation within one process, and practically across processes."""

    def __init__(self) -> None:
        self._last = 0

    def now(self) -> str:
        """UTC as ISO 8601 with microseconds."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def monotonic(self) -> float:
        return time.monotonic()

    def new_id(self) -> str:
        """48 bits of milliseconds, 16 that count within one, 48 random: 28 hex digits."""
        stamp = time.time_ns() // 1_000_000 << 16
        self._last = max(self._last + 1, stamp)
        return f"{self._last:016x}{os.urandom(6).hex()}"
