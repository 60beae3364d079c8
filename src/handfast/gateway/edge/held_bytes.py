"""How many bytes are held for clients that are slow: past a bound the one that is slow for longest gives way."""

from collections.abc import Callable, Hashable


class HeldBytes:
    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._held: dict[Hashable, tuple[int, Callable[[], None]]] = {}  # in the order in which they began
        self._total = 0

    @property
    def total(self) -> int:
        return self._total

    def hold(self, holder: Hashable, size: int, give_way: Callable[[], None]) -> None:
        """This much is held now, from its first time on until `release`. `give_way` must let go of it."""
        before, _ = self._held.get(holder, (0, give_way))
        self._held[holder] = (size, give_way)
        self._total += size - before
        while self._total > self._most():
            oldest = next(iter(self._held))
            _, make_way = self._held[oldest]
            self.release(oldest)
            make_way()

    def release(self, holder: Hashable) -> None:
        size, _ = self._held.pop(holder, (0, None))
        self._total -= size
