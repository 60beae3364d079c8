"""Time and fresh ids, handed to the call path so that tests can hand in others."""

import time
from datetime import UTC, datetime
from random import Random


class Clock:
    """The real clock, from any thread. Ids sort by creation within one, and practically across processes."""

    def __init__(self) -> None:
        self._last = 0
        self._random = Random()  # noqa: S311 - ids need to be unique, not secret, and the system's source costs a call
        self._shown = (-1, "")  # a second and how it is written: one value, because threads share it

    def now(self) -> str:
        """UTC as ISO 8601 with microseconds."""
        second, rest = divmod(time.time_ns(), 1_000_000_000)
        last, prefix = self._shown
        if second != last:
            # Formatting a date costs more than everything else here, and only the fraction changes from call to call.
            prefix = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._shown = (second, prefix)
        return f"{prefix}.{rest // 1000:06d}Z"

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970, for what must be comparable after a restart."""
        return time.time()

    def new_id(self) -> str:
        """48 bits of milliseconds, 16 that count within one, 48 random: 28 hex digits."""
        self._last = max(self._last + 1, time.time_ns() // 1_000_000 << 16)
        # Two are made for every call. In this way each takes half of what formatting two numbers would.
        return (self._last << 48 | self._random.getrandbits(48)).to_bytes(14, "big").hex()


def time_text(moment: datetime) -> str:
    """UTC with microseconds and a trailing Z: always the same length, so times compare as text."""
    # Not strftime: it leaves out the leading zeros of years before 1000.
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
