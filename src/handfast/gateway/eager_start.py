"""Servers that are started before a client asks for them: a few at a time, and one that fails costs only itself."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from handfast.crashes import describe_crash
from handfast.gateway.http.response import UpstreamFailed

# A start takes a core for about a second, so more at once make each of them later, and clients wait for all of them.
AT_ONCE: Final = 4
# What takes longer waits for something else, such as a package that is being installed: others may begin.
_TURN_SECONDS: Final = 3.0
_log: Final = logging.getLogger("handfast.gateway")


class EagerStart:
    def __init__(self, start: Callable[[str], Awaitable[None]]) -> None:
        """`start` returns once a server is up. It may raise UpstreamFailed, which is on record by then."""
        self._start = start
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._under_way: dict[str, asyncio.Task[None]] = {}

    def begin(self, names: Iterable[str]) -> None:
        for name in names:
            self.give_up(name)
            self._under_way[name] = asyncio.create_task(self._run(name))

    def give_up(self, name: str) -> None:
        """It is about to be closed."""
        task = self._under_way.pop(name, None)
        if task is not None:
            task.cancel()

    async def close(self) -> None:
        tasks = list(self._under_way.values())
        for name in list(self._under_way):
            self.give_up(name)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, name: str) -> None:
        start: asyncio.Future[None] | None = None
        try:
            async with self._turns:
                start = asyncio.ensure_future(self._start(name))
                await asyncio.wait((start,), timeout=_TURN_SECONDS)
            await start
        except UpstreamFailed:
            pass  # its health says why, and the next who asks tries again
        except Exception as problem:  # noqa: BLE001 - the outermost edge: the others must start all the same
            _log.error("A server could not be started ahead of its clients:\n%s", describe_crash(problem))
        finally:
            if start is not None and not start.done():
                start.cancel()
                await asyncio.wait((start,))
            if self._under_way.get(name) is asyncio.current_task():
                del self._under_way[name]
