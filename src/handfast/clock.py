"""The clock and new ids, passed to the call path so that tests can replace them."""

import time
from datetime import UTC, datetime
from random import Random


class Clock:
    """The real clock, for any thread. Ids sort by creation within one Clock, and practically across processes."""

    def __init__(self) -> None:
        self._last = 0
        self._random = Random()  # noqa: S311 - ids need to be unique, not secret, and the system's source costs a call
        self._shown = (-1, "")  # a second and its text, in one value because threads share it

    def now(self) -> str:
        """The time in UTC as ISO 8601 with microseconds."""
        second, rest = divmod(time.time_ns(), 1_000_000_000)
        last, prefix = self._shown
        if second != last:
            # Formatting a date costs more than the rest, and usually only the fraction changes between calls.
            prefix = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._shown = (second, prefix)
        return f"{prefix}.{rest // 1000:06d}Z"

    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)  # seconds since 1970, for times that must be comparable after a restart

    def new_id(self) -> str:
        """A new id: 48 bits of milliseconds, a 16-bit counter within each, 48 random bits, as 28 hex digits."""
        self._last = max(self._last + 1, time.time_ns() // 1_000_000 << 16)
        # Two ids are made for every call. This takes half the time of formatting two numbers.
        return (self._last << 48 | self._random.getrandbits(48)).to_bytes(14, "big").hex()


def time_text(moment: datetime) -> str:
    """A time in UTC with microseconds and a trailing Z, always of the same length, so that times compare as text."""
    # Not strftime, which omits the leading zeros of years before 1000.
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
