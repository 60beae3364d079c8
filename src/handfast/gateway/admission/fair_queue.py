"""Places at one server and the line for them: callers take turns, each with its calls in their order. Pure."""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

Ticket = TypeVar("Ticket", bound=Hashable)


def share_of_caller(places: int) -> int:
    """How many of them one caller may hold: with its calls under way for long, others would wait for ever."""
    return places - places // 4


class FairQueue(Generic[Ticket]):
    """Knows who waits and how many places are held; how many there are it is told each time, as that may change."""

    def __init__(self, has_enough_elsewhere: Callable[[Hashable], bool] = lambda _caller: False) -> None:
        """`has_enough_elsewhere` says of a caller that it may take no place here, however many are free."""
        self._has_enough_elsewhere = has_enough_elsewhere
        self._lines: OrderedDict[Hashable, deque[Ticket]] = OrderedDict()  # the caller whose turn it is comes first
        self._weights: dict[Ticket, int] = {}  # of those that weigh more than one
        self._line_weights: dict[Hashable, int] = {}
        self._weight = 0  # of all who wait
        self._held_by: dict[Hashable, int] = {}
        self.held = 0
        self.waiting = 0

    def __iter__(self) -> Iterator[Ticket]:
        """Everybody who waits."""
        return (ticket for line in self._lines.values() for ticket in line)

    def take(self, caller: Hashable, places: int) -> bool:
        """Take a place, if one is free for this caller and nobody waits who could have it."""
        if self._has_share(caller, places) or self._find_next(places) is not None or self.held >= places:
            return False
        self._hold(caller)
        return True

    def _has_share(self, caller: Hashable, places: int) -> bool:
        """Whether it holds all that one caller may."""
        return self.held_by(caller) >= share_of_caller(places) or self._has_enough_elsewhere(caller)

    def held_by(self, caller: Hashable) -> int:
        return self._held_by.get(caller, 0)

    def give_back(self, caller: Hashable) -> None:
        self.held -= 1
        self._held_by[caller] -= 1
        if not self._held_by[caller]:
            del self._held_by[caller]

    def _hold(self, caller: Hashable) -> None:
        self.held += 1
        self._held_by[caller] = self.held_by(caller) + 1

    def _find_next(self, places: int) -> Hashable | None:
        """The caller whose turn it is, if a place is free."""
        if not self.waiting or self.held >= places:
            return None
        return next((caller for caller in self._lines if not self._has_share(caller, places)), None)

    def join(self, caller: Hashable, ticket: Ticket, *, most: int, weight: int = 1) -> list[Ticket]:
        """Stand in line. Gives the tickets without room: this one, or the last of who has most waiting."""
        turned_away: list[Ticket] = []
        # A line that is too long, because its bound was lowered, does not grow; that it shrinks is left to time.
        needed = min(self._weight + weight - most, weight)
        if needed > 0 and self._lines:
            weights = self._line_weights
            heaviest = max(weights, key=weights.__getitem__)
            # Otherwise one caller could fill the line, which keeps the others out as surely as taking their turns.
            if weights[heaviest] <= weights.get(caller, 0) + weight:
                return [ticket]
            while needed > 0:
                last = self._lines[heaviest][-1]
                needed -= self._weights.get(last, 1)
                turned_away.append(last)
                self.leave(heaviest, last)
        self._lines.setdefault(caller, deque()).append(ticket)
        self._line_weights[caller] = self._line_weights.get(caller, 0) + weight
        if weight > 1:
            self._weights[ticket] = weight
        self._weight += weight
        self.waiting += 1
        return turned_away

    def leave(self, caller: Hashable, ticket: Ticket) -> None:
        """Give up waiting. Raises: ValueError, KeyError when the ticket does not wait."""
        line = self._lines[caller]
        line.remove(ticket)
        self._shrink(caller, line, ticket)

    def call_next(self, places: int) -> Ticket | None:
        """Whose turn it is, if a place is free; it holds the place from now on."""
        caller = self._find_next(places)
        if caller is None:
            return None
        line = self._lines[caller]
        ticket = line.popleft()
        self._lines.move_to_end(caller)
        self._shrink(caller, line, ticket)
        self._hold(caller)
        return ticket

    def _shrink(self, caller: Hashable, line: deque[Ticket], ticket: Ticket) -> None:
        weight = self._weights.pop(ticket, 1)
        self.waiting -= 1
        self._weight -= weight
        self._line_weights[caller] -= weight
        if not line:
            del self._lines[caller], self._line_weights[caller]
