"""What clients go on sending after their last answer: read a little at a time, so that they get to read that answer."""

import asyncio
from collections.abc import Callable, Hashable
from itertools import islice
from typing import Final

_SECONDS: Final = 0.005
_AT_ONCE: Final = 4  # pieces in so many seconds: a twentieth of the loop's time, and faster than most networks


class IgnoredBytes:
    def __init__(self) -> None:
        self._waiting: dict[Hashable, Callable[[], None]] = {}  # in order
        self._timer: asyncio.TimerHandle | None = None

    def wait(self, holder: Hashable, read_on: Callable[[], None]) -> None:
        """Call `read_on` when it is this one's turn, unless it is forgotten before."""
        self._waiting[holder] = read_on
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SECONDS, self._go_on)

    def forget(self, holder: Hashable) -> None:
        self._waiting.pop(holder, None)

    def _go_on(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_SECONDS, self._go_on) if self._waiting else None
        for holder in [*islice(self._waiting, _AT_ONCE)]:
            self._waiting.pop(holder)()
