"""When a server that keeps failing is tried again: waits that double, one try at a time, and no waiting line. Pure."""

from collections.abc import Callable
from typing import NamedTuple

SETTLED_SECONDS = 60.0  # without a failure, after which an earlier crash says nothing about the next
_LONGEST_SECONDS = 30.0
_RARE_SECONDS = 60.0  # between the starts of a server that has shown that it does not start
_FIRST_RESTART_SECONDS = 0.5
_FIRST_RECONNECT_SECONDS = 1.0
_TRY_SECONDS = 10.0  # how long one try keeps others away: as long as connecting may take
_DOUBLINGS = 10  # more would only overflow: the waits are bounded long before


class Rest(NamedTuple):
    """The wait that follows from a number of failures in a row."""

    seconds: float
    is_open: bool


NO_REST = Rest(0.0, is_open=False)


def restart_rest(failures: int, most: int) -> Rest:
    """The wait before a restart: none, then 0.5 s, 1, 2 … 30; from `most` failures in a row on, a minute."""
    if failures >= most:
        return Rest(_RARE_SECONDS, is_open=True)
    if failures == 1:
        return NO_REST  # a server that crashed once usually runs again
    return Rest(min(_LONGEST_SECONDS, _FIRST_RESTART_SECONDS * 2 ** min(failures - 2, _DOUBLINGS)), is_open=False)


def reconnect_rest(failures: int, most: int) -> Rest:
    """The wait before an address is tried again: none before `most` failures in a row, then 1 s, 2, 4 … 30."""
    if failures < most:
        return NO_REST
    return Rest(min(_LONGEST_SECONDS, _FIRST_RECONNECT_SECONDS * 2 ** min(failures - most, _DOUBLINGS)), is_open=True)


class Breaker:
    """Counts failures, and says when the next try may be.

    `settles_after`: seconds without failure before the count starts again; with 0 one success is proof enough.
    """

    def __init__(
        self, now: Callable[[], float], *, rest_after: Callable[[int], Rest], settles_after: float = 0.0
    ) -> None:
        self._now = now
        self._rest_after = rest_after
        self._settles_after = settles_after
        self._not_before = 0.0
        self._is_trying = False
        self._well_since: float | None = None
        self.failures = 0
        self.is_open = False

    def admit(self) -> float:
        """Returns 0 if a try may be made now, which then is the only one for a while; else the seconds until then."""
        if not self._not_before:
            return 0.0
        now = self._now()
        if now < self._not_before:
            return self._not_before - now
        self._not_before = now + _TRY_SECONDS
        self._is_trying = True
        return 0.0

    def release(self) -> None:
        """Ends a try that showed nothing, so that another may be made."""
        if self._is_trying:
            self._is_trying = False
            self._not_before = self._now()

    def succeeded(self) -> None:
        """Notes a success. It ends a wait only after a try, or if one success is proof: another child may have died."""
        self.is_open = False
        if not self._settles_after:
            self.failures = 0
        if self._is_trying or not self._settles_after:
            self._not_before = 0.0
        self._is_trying = False
        if self._well_since is None:
            self._well_since = self._now()

    def failed(self) -> bool:
        """Notes a failure, and returns whether it counts: one during a wait began before it, so many are one."""
        now = self._now()
        was_well_since, self._well_since = self._well_since, None
        if now < self._not_before and not self._is_trying:
            return False
        if was_well_since is not None and now - was_well_since >= self._settles_after:
            self.failures = 0
        self._is_trying = False
        self.failures += 1
        seconds, self.is_open = self._rest_after(self.failures)
        self._not_before = now + seconds if seconds else 0.0
        return True
