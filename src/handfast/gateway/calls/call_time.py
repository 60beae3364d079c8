"""How long a call may take, without progress and in total, and what an answer shows about its server."""

import asyncio
from collections.abc import Callable
from math import inf

from handfast.gateway.admission.server_health import Era, ServerHealth
from handfast.gateway.calls.pending import Pending
from handfast.gateway.http.event_stream import OPEN_AFTER_SECONDS
from handfast.gateway.settings.blocks import Limits


class CallTime:
    __slots__ = ("_end", "_idle", "_total", "due")

    def __init__(self, limits: Limits, now: float) -> None:
        self._idle = limits.call_timeout_s
        self._total = limits.call_total_s
        self._end = now + self._total
        self.due = min(now + self._idle, self._end)

    def extend(self, now: float) -> None:
        """Restarts the idle time after a sign of progress; the total stays."""
        self.due = min(now + self._idle, self._end)

    def describe(self) -> str:
        """Why the call was given up at `due`."""
        return too_long(self._total) if self.due >= self._end else too_silent(self._idle)


class CallTimer:
    """Fires when a call's time is up, and once before, when its silence grows long. Restarting it costs no task."""

    __slots__ = ("_handle", "_on_due", "_on_silence", "_time")

    def __init__(
        self, time: CallTime | None, on_due: Callable[[str], None], *, on_silence: Callable[[], None] | None = None
    ) -> None:
        """`on_due` is given the reason. Without a time it is never called."""
        self._time = time
        self._on_due: Callable[[str], None] | None = on_due
        self._on_silence = on_silence
        self._handle: asyncio.TimerHandle | None = None
        self._start()

    def extend(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if self._time is not None:
            self._time.extend(asyncio.get_running_loop().time())
        self._start()

    def _start(self) -> None:
        # One timer for both: most calls need neither.
        loop, time = asyncio.get_running_loop(), self._time
        if self._on_silence is not None:
            early = loop.time() + OPEN_AFTER_SECONDS
            if time is None or early < time.due:
                self._handle = loop.call_at(early, self._grow_long)
                return
        if time is not None:
            self._handle = loop.call_at(time.due, self._fire)

    def _grow_long(self) -> None:
        on_silence, self._on_silence = self._on_silence, None
        self._start()
        if on_silence is not None:
            on_silence()

    def _fire(self) -> None:
        if self._on_due is not None and self._time is not None:
            self._on_due(self._time.describe())

    def cancel(self) -> None:
        """Stops the timer for good, and releases its callbacks, which may refer to this timer."""
        if self._handle is not None:
            self._handle.cancel()
        self._on_due = self._on_silence = None


def find_overdue(pending: Pending, now: float, limits: Limits) -> str:
    """Why a request has taken too long by now; empty where it may go on, or waits in line."""
    if pending.touched == inf:
        return ""
    if now - pending.touched > limits.call_timeout_s:
        return too_silent(limits.call_timeout_s)
    return too_long(limits.call_total_s) if now - pending.began > limits.call_total_s else ""


def too_silent(seconds: float) -> str:
    return f"The server neither answered nor reported progress for {seconds:g} s. The call was given up."


def too_long(seconds: float) -> str:
    return (
        f"The call took {seconds:g} s and more, which is the most a call may. It was given up. Ask for less at a time."
    )


def note_answer(health: ServerHealth, pending: Pending, seconds: float, *, has_error: bool) -> None:
    """Notes an answer in the health of its server: its seconds for a call, and the era where it shows one."""
    era = Era.UNKNOWN
    if not has_error and (pending.is_modern or pending.method == "initialize"):
        era = Era.MODERN if pending.is_modern else Era.LEGACY
    health.note_answer(seconds if pending.call is not None else None, era)
