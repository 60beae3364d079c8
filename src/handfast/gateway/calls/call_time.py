"""How long a call may take: a while without a sign of life, and a longer while in all."""

from handfast.gateway.settings.blocks import Limits


class CallTime:
    __slots__ = ("_end", "_idle", "_total", "due")

    def __init__(self, limits: Limits, now: float) -> None:
        self._idle = limits.call_timeout_s
        self._total = limits.call_total_s
        self._end = now + self._total
        self.due = min(now + self._idle, self._end)

    def extend(self, now: float) -> None:
        """The server showed that it is getting on with the call."""
        self.due = min(now + self._idle, self._end)

    def describe(self) -> str:
        """Why the call was given up at `due`."""
        return too_long(self._total) if self.due >= self._end else too_silent(self._idle)


def too_silent(seconds: float) -> str:
    return f"The server neither answered nor reported progress for {seconds:g} s. The call was given up."


def too_long(seconds: float) -> str:
    return (
        f"The call took {seconds:g} s and more, which is the most a call may. It was given up. Ask for less at a time."
    )
