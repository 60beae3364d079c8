"""The end of a gateway: what is under way may finish, and nothing new begins."""

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
        """From here on nothing new is to be taken."""
        self.is_draining = True
        if not self._under_way:
            self._is_over.set()
            self._is_idle.set()

    def hurry(self) -> None:
        """Wait no longer, whatever is under way."""
        self._is_over.set()

    async def finished(self, seconds: float) -> None:
        """Return when nothing is under way any more, when that is to be waited for no longer, or the time is up."""
        await _wait(self._is_over, seconds)

    async def settled(self, seconds: float) -> None:
        """As `finished`, but there is no hurry: whatever is under way was told to end."""
        await _wait(self._is_idle, seconds)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
