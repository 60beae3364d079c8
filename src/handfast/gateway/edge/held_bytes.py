"""How many bytes are held for clients: past a bound the slow give way, and those who are quick wait to be read on."""

from collections.abc import Callable, Hashable
from itertools import islice
from typing import Final

_LOOKED_AT: Final = 64  # of the oldest: a crowd must not cost a long search
_PIECE: Final = 256 * 1024  # what is read from a connection at once
# Times the bound at most, where nobody is slow: everybody's first piece is there before anything can be said to them.
_CROWD: Final = 2
_SPARE: Final = 4  # the share of the bound that is made free at a time for those who wait


class HeldBytes:
    def __init__(self, most: Callable[[], int], *, is_slow: Callable[[Hashable], bool] = lambda _holder: True) -> None:
        """`is_slow` tells a client that is waited for from one that would send on if it were read."""
        self._most = most
        self._is_slow = is_slow
        self._held: dict[Hashable, tuple[int, Callable[[], None]]] = {}  # in the order in which they began
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self._total = 0

    @property
    def total(self) -> int:
        return self._total

    def hold(self, holder: Hashable, size: int, give_way: Callable[[], None]) -> None:
        """This much is held now, from its first time on until `release`. `give_way` must let go of it."""
        before, _ = self._held.get(holder, (0, give_way))
        self._held[holder] = (size, give_way)
        self._total += size - before
        most = self._most()
        if self._total > most:
            self._make_room(most)
            if self._total > _CROWD * most and holder in self._held:
                self._drop(holder)
            self._let_go_on()

    def release(self, holder: Hashable) -> None:
        self._forget(holder)
        if self._waiting:
            self._let_go_on()

    def must_wait(self, holder: Hashable, go_on: Callable[[], None]) -> bool:
        """Whether it is to send no more until `go_on` is called. The oldest never waits: so there is always an end."""
        most = self._most()
        if self._total >= most:
            self._make_room(most - most // _SPARE)
        if self._total < most or holder not in self._held or holder == next(iter(self._held)):
            return False
        self._waiting[holder] = go_on
        return True

    def look_again(self) -> None:
        """Called now and then: who was quick may have become slow."""
        if self._waiting:
            most = self._most()
            self._make_room(most - most // _SPARE)
            self._let_go_on()

    def _make_room(self, most: int) -> None:
        """The oldest of the slow give way until the rest fits."""
        for holder in [*islice(self._held, _LOOKED_AT)]:
            if self._total <= most:
                return
            if holder in self._held and self._is_slow(holder):
                self._drop(holder)

    def _drop(self, holder: Hashable) -> None:
        _, give_way = self._held[holder]
        self._forget(holder)
        give_way()

    def _forget(self, holder: Hashable) -> None:
        self._waiting.pop(holder, None)
        size, _ = self._held.pop(holder, (0, None))
        self._total -= size

    def _let_go_on(self) -> None:
        room = (self._most() - self._total) // _PIECE
        oldest = next(iter(self._held), None)
        if oldest in self._waiting:
            self._waiting.pop(oldest)()
            room -= 1
        for holder in [*islice(reversed(self._waiting), max(room, 0))]:
            self._waiting.pop(holder)()
