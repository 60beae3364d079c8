"""A line of connections that are resumed a few at a time, so that many of them cost others no time."""

import asyncio
from collections.abc import Callable, Hashable


class PacedLine:
    def __init__(self, *, at_once: int, seconds: float) -> None:
        """Resumes `at_once` connections every `seconds`: addresses take turns, and each keeps the order of its own."""
        self._at_once = at_once
        self._seconds = seconds
        # By address, the next one first; a thousand connections of one address must not delay those of another.
        self._waiting: dict[str, dict[Hashable, Callable[[], None]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def wait(self, holder: Hashable, go_on: Callable[[], None], *, address: str) -> None:
        """Calls `go_on` when the holder's turn comes, unless it is forgotten before."""
        self._waiting.setdefault(address, {})[holder] = go_on
        if self._timer is None:
            self._start_timer()

    def forget(self, holder: Hashable, *, address: str) -> None:
        line = self._waiting.get(address, {})
        if line.pop(holder, None) is not None and not line:
            del self._waiting[address]

    def _start_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._let_go)

    def _let_go(self) -> None:
        self._timer = None
        if self._waiting:
            self._start_timer()
        for go_on in [self._take_next() for _ in range(self._at_once) if self._waiting]:
            go_on()

    def _take_next(self) -> Callable[[], None]:
        address = next(iter(self._waiting))
        line = self._waiting.pop(address)
        go_on = line.pop(next(iter(line)))
        if line:
            self._waiting[address] = line  # behind the other addresses
        return go_on
