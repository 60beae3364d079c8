"""How many requests a caller may send: a bucket for each, which fills again at the rate of the settings. Pure."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from math import ceil

# Callers that are remembered, the longest silent first to go: by then its bucket is full again, or nearly so.
_MOST_CALLERS = 10_000


class RequestRate:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # what is left, and when that was

    def take(self, caller: Hashable, most: int) -> int:
        """Takes one request from the caller's bucket, which holds as many as may come in a minute.

        Returns 0, or the seconds until there is one again.
        """
        now = self._now()
        left, since = self._buckets.pop(caller, (float(most), now))
        left = min(float(most), left + (now - since) * most / 60)
        wait = 0 if left >= 1 else ceil((1 - left) * 60 / most)
        self._buckets[caller] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)
        return wait
