"""Counts the bytes held for clients: past a bound, the client that has been slow for longest gives way."""

from collections.abc import Callable, Hashable


class HeldBytes:
    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._sizes: dict[Hashable, int] = {}
        self._slow: dict[Hashable, Callable[[], None]] = {}  # in the order in which they became slow
        self._total = 0

    @property
    def total(self) -> int:
        return self._total

    @property
    def is_over(self) -> bool:
        """Whether holders that cannot give way exceed the bound."""
        return self._total > self._most()

    def hold(self, holder: Hashable, size: int, give_way: Callable[[], None] | None) -> None:
        """Sets how many bytes the holder keeps, from the first call until `release`.

        `give_way` must free them; a holder without it does not count as slow, and is bounded elsewhere.
        """
        self._total += size - self._sizes.get(holder, 0)
        self._sizes[holder] = size
        if give_way is None:
            self._slow.pop(holder, None)
        else:
            self._slow[holder] = give_way
        while self._slow and self._total > self._most():
            oldest = next(iter(self._slow))
            make_way = self._slow[oldest]
            self.release(oldest)
            make_way()

    def release(self, holder: Hashable) -> None:
        self._slow.pop(holder, None)
        self._total -= self._sizes.pop(holder, 0)
