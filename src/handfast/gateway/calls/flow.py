"""Back-pressure from a slow client to the source of its messages."""

import asyncio
from collections.abc import Callable

HoldBack = Callable[[bool], None]


class Flow:
    """The receiving end holds it while too much waits there; the source waits for room, or is paused and resumed."""

    def __init__(self) -> None:
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._hold_back: HoldBack | None = None
        self.has_source = False  # becomes True when the request is sent to its server

    @property
    def is_held(self) -> bool:
        return not self._has_room.is_set()

    @property
    def can_wait(self) -> bool:
        """Whether the source of the messages can be paused."""
        return self._hold_back is not None

    def attach(self, hold_back: HoldBack | None) -> None:
        """`hold_back` pauses the source of the messages; None where others would have to wait too."""
        self._hold_back, self.has_source = hold_back, True
        if hold_back is not None and self.is_held:
            hold_back(True)

    def hold(self, is_held: bool) -> None:
        if is_held == self.is_held:
            return
        if is_held:
            self._has_room.clear()
        else:
            self._has_room.set()
        if self._hold_back is not None:
            self._hold_back(is_held)

    def close(self) -> None:
        """Lets the source go on: nothing more is taken here."""
        self.hold(False)
        self._hold_back = None

    async def room(self) -> None:
        await self._has_room.wait()
