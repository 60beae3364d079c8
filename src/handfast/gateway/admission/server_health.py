"""The health of one server: its state, its last error, how long calls take; every change of state is on record."""

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from handfast.clock import Clock
from handfast.core.call.exchange import Status
from handfast.core.words.redaction import scrub_text
from handfast.gateway.admission.breaker import Breaker
from handfast.gateway.http.response import UpstreamFailed

_RING = 200  # calls that the latency is taken from: enough for a p95, and sorted in microseconds
_ERROR_CHARACTERS = 200


class State(StrEnum):
    IDLE = "idle"  # nothing was asked of it yet
    UP = "up"
    FAILING = "failing"
    OPEN = "open"  # the circuit is: it failed so often that it is only tried now and then
    DISABLED = "disabled"


class Era(StrEnum):
    """The era in which the server last answered."""

    UNKNOWN = "unknown"
    LEGACY = "legacy"
    MODERN = "modern"


class UpstreamResting(UpstreamFailed):
    """The server failed too recently to be tried again; nothing was sent. The message says when it will be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """What an operator may see: nothing of what was sent, no command line, no query of a url."""

    state: State = State.IDLE
    era: Era = Era.UNKNOWN
    calls: int = 0  # tool calls it answered
    in_progress: int = 0
    waiting: int = 0  # tool calls in line for it
    p50_ms: float | None = None
    p95_ms: float | None = None
    starts: int = 0  # of its process, where it has one
    exits: int = 0
    failures: int = 0  # in a row: without an answered call in between
    last_error: str = ""
    last_error_at: str = ""


class ServerHealth:
    """Relays and backends write the attributes; a call costs one float in a ring."""

    def __init__(self, breaker: Breaker, clock: Clock, *, on_change: Callable[[State, str, Status], None]) -> None:
        self._breaker = breaker
        self._clock = clock
        self._on_change = on_change
        self._ring = array("d", bytes(8 * _RING))
        self._last_error = ""
        self._last_error_at = ""
        self._in_a_row = 0  # failures since a call was answered, as far as the breaker counts them
        self._calls_before = 0  # answered by the time of the last failure
        self.state = State.IDLE
        self.era = Era.UNKNOWN
        self.calls = 0
        self.in_progress = 0
        self.starts = 0
        self.exits = 0

    # --- what happens to it ----------------------------------------------------------------------------------------

    def check_admission(self) -> None:
        """Raises: UpstreamResting."""
        seconds = self._breaker.admit()
        if seconds:
            shown = f"{math.ceil(seconds * 10) / 10:g}"
            text = f"The server failed {self._times()} and is tried again in {shown} s. Repeat the request then. "
            raise UpstreamResting(text + f"What it failed with: {self._last_error}")

    def release(self) -> None:
        """Ends what `check_admission` let through, if it did not show how the server is."""
        self._breaker.release()

    def note_answer(self, seconds: float | None, era: Era) -> None:
        """A request was answered, well or not; `seconds` where it was a tool call, and the era where it is known."""
        if self.state is not State.UP:
            self.succeeded()
        if seconds is not None:
            self._ring[self.calls % _RING] = seconds
            self.calls += 1
        if era is not Era.UNKNOWN:
            self.era = era

    def succeeded(self) -> None:
        """Notes a sign of life. Not needed while `state` is UP."""
        is_return = self.state is not State.IDLE
        self._breaker.succeeded()
        self._become(State.UP, "It answers again." if is_return else "It answers.", Status.SUCCESS)

    def failed(self, error: str) -> None:
        """Notes a failed start, an exit or a failed connection, which says that the next try would fail too."""
        self.note_error(error)
        if self.calls != self._calls_before:
            self._calls_before, self._in_a_row = self.calls, 0
        self._in_a_row = min(self._in_a_row + self._breaker.failed(), self._breaker.failures)
        if self._breaker.is_open:
            reason = f"It failed {self._times()} and is tried only now and then: "
            self._become(State.OPEN, reason + self._last_error, Status.ERROR)
        else:
            self._become(State.FAILING, f"It failed: {self._last_error}", Status.WARNING)

    def _times(self) -> str:
        """The waits grow with every failure of late, also where calls were answered in between."""
        failures = self._breaker.failures
        if failures < 2:
            return "a moment ago"
        return f"{failures} times in a row" if self._in_a_row == failures else f"{failures} times of late"

    def note_error(self, error: str) -> None:
        """Notes what the operator may want to see but says nothing about the next request: a slow call, a status."""
        self._last_error = scrub_text(error, most=_ERROR_CHARACTERS)
        self._last_error_at = self._clock.now()

    def _become(self, state: State, reason: str, status: Status) -> None:
        if state is not self.state:
            self.state = state
            self._on_change(state, reason, status)

    # --- what is shown of it ---------------------------------------------------------------------------------------

    def report(self) -> HealthReport:
        taken = sorted(self._ring[: min(self.calls, _RING)])
        return HealthReport(
            state=self.state,
            era=self.era,
            calls=self.calls,
            in_progress=self.in_progress,
            p50_ms=_percentile_ms(taken, 0.50),
            p95_ms=_percentile_ms(taken, 0.95),
            starts=self.starts,
            exits=self.exits,
            failures=self._in_a_row if self.state is not State.UP else 0,
            last_error=self._last_error,
            last_error_at=self._last_error_at,
        )


def _percentile_ms(ordered: list[float], share: float) -> float | None:
    """Returns the smallest value that this share of all values does not exceed."""
    if not ordered:
        return None
    return round(ordered[math.ceil(share * len(ordered)) - 1] * 1000, 3)
