"""The end of a gateway: requests under way may finish, and no new ones begin."""

import asyncio
import contextlib

STOPPING = "The gateway is stopping. Send the request again once it is back."


class Drain:
    """Counts requests under way, and waits for the last of them."""

    def __init__(self) -> None:
        self.is_draining = False
        self._under_way = 0
        self._is_over = asyncio.Event()
        self._is_idle = asyncio.Event()

    def entered(self) -> None:
        self._under_way += 1

    def left(self) -> None:
        self._under_way -= 1
        if self.is_draining and not self._under_way:
            self._is_over.set()
            self._is_idle.set()

    def begin(self) -> None:
        """Begins to drain: nothing new is accepted from here on."""
        self.is_draining = True
        if not self._under_way:
            self._is_over.set()
            self._is_idle.set()

    def hurry(self) -> None:
        """Ends the wait of `finished`, whatever is under way."""
        self._is_over.set()

    async def finished(self, seconds: float) -> None:
        """Returns when no request is under way, after `hurry`, or when the time is up."""
        await _wait(self._is_over, seconds)

    async def settled(self, seconds: float) -> None:
        """As `finished`, but regardless of `hurry`: what is under way is ending already."""
        await _wait(self._is_idle, seconds)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
