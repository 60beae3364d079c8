"""Places at one server and the line for them: callers take turns, each with its calls in their order. Pure."""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

Ticket = TypeVar("Ticket", bound=Hashable)


def share_of_caller(places: int) -> int:
    """Returns how many places one caller may hold: if it held all for long calls, others would wait for ever."""
    return places - places // 4


class FairQueue(Generic[Ticket]):
    """Knows what waits and how many places are held. The number of places is an argument, because it may change."""

    def __init__(self, has_enough_elsewhere: Callable[[Hashable], bool] = lambda _caller: False) -> None:
        """`has_enough_elsewhere`: whether a caller may take no place here, however many are free."""
        self._has_enough_elsewhere = has_enough_elsewhere
        self._lines: OrderedDict[Hashable, deque[Ticket]] = OrderedDict()  # the caller whose turn it is comes first
        self._weights: dict[Ticket, int] = {}  # of those that weigh more than one
        self._line_weights: dict[Hashable, int] = {}
        self._weight = 0  # of all waiting tickets
        self._held_by: dict[Hashable, int] = {}
        self.held = 0
        self.waiting = 0

    def __iter__(self) -> Iterator[Ticket]:
        """Yields every waiting ticket."""
        return (ticket for line in self._lines.values() for ticket in line)

    def take(self, caller: Hashable, places: int) -> bool:
        """Takes a place, if one is free for this caller and no waiting caller could have it."""
        if self._has_share(caller, places) or self._find_next(places) is not None or self.held >= places:
            return False
        self._hold(caller)
        return True

    def _has_share(self, caller: Hashable, places: int) -> bool:
        """Whether the caller holds as many places as one caller may."""
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
        """Returns the caller whose turn it is, if a place is free."""
        if not self.waiting or self.held >= places:
            return None
        return next((caller for caller in self._lines if not self._has_share(caller, places)), None)

    def join(self, caller: Hashable, ticket: Ticket, *, most: int, weight: int = 1) -> list[Ticket]:
        """Joins the line. Returns the tickets without room: this one, or the last of the caller with most waiting."""
        turned_away: list[Ticket] = []
        # A line that is too long, because its bound was lowered, does not grow; it shrinks as places come free.
        needed = min(self._weight + weight - most, weight)
        if needed > 0 and self._lines:
            weights = self._line_weights
            heaviest = max(weights, key=weights.__getitem__)
            # Otherwise one caller could fill the line, which would keep the others out as if it took their turns.
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
        """Gives up waiting. Raises: ValueError, KeyError when the ticket does not wait."""
        line = self._lines[caller]
        line.remove(ticket)
        self._shrink(caller, line, ticket)

    def call_next(self, places: int) -> Ticket | None:
        """Returns the ticket whose turn it is, if a place is free, and holds the place for it."""
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
