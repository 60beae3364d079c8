"""Places at one server and the line for them: callers take turns, each with its calls in their order. Pure."""

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

Ticket = TypeVar("Ticket")


class FairQueue(Generic[Ticket]):
    """Knows who waits and how many places are held; how many there are it is told each time, as that may change."""

    def __init__(self) -> None:
        self._lines: OrderedDict[Hashable, deque[Ticket]] = OrderedDict()  # the caller whose turn it is comes first
        self.held = 0
        self.waiting = 0

    def __iter__(self) -> Iterator[Ticket]:
        """Everybody who waits."""
        return (ticket for line in self._lines.values() for ticket in line)

    def take(self, places: int) -> bool:
        """Take a place, if one is free and nobody waits for it."""
        if self.held >= places or self.waiting:
            return False
        self.held += 1
        return True

    def give_back(self) -> None:
        self.held -= 1

    def join(self, caller: Hashable, ticket: Ticket, *, most: int) -> Ticket | None:
        """Stand in line. Gives the ticket that has no room there: this one, or the last of whoever has most waiting."""
        line = self._lines.get(caller)
        turned_away = None
        if self.waiting >= most:
            longest = max(self._lines, key=lambda other: len(self._lines[other]))
            # Otherwise one caller could fill the line, which keeps the others out as surely as taking their turns.
            if len(self._lines[longest]) <= (len(line) if line else 0) + 1:
                return ticket
            turned_away = self._lines[longest][-1]
            self.leave(longest, turned_away)
        if line is None:
            line = self._lines[caller] = deque()
        line.append(ticket)
        self.waiting += 1
        return turned_away

    def leave(self, caller: Hashable, ticket: Ticket) -> None:
        """Give up waiting. Raises: ValueError, KeyError when the ticket does not wait."""
        line = self._lines[caller]
        line.remove(ticket)
        self._shrink(caller, line)

    def call_next(self, places: int) -> Ticket | None:
        """Whose turn it is, if a place is free; it holds the place from now on."""
        if self.held >= places or not self.waiting:
            return None
        caller, line = next(iter(self._lines.items()))
        ticket = line.popleft()
        self._lines.move_to_end(caller)
        self._shrink(caller, line)
        self.held += 1
        return ticket

    def _shrink(self, caller: Hashable, line: deque[Ticket]) -> None:
        self.waiting -= 1
        if not line:
            del self._lines[caller]
