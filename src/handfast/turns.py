"""Turns for large pieces of work on an event loop, so that small ones wait for at most one of them."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from weakref import WeakKeyDictionary

# Messages from this size on are large: their work is no longer short compared with one turn of the loop.
LARGE_BYTES = 64 * 1024
_SHORTEST_REST = 0.001  # for a timer; shorter rests add up until then, and are one turn of the loop meanwhile
_LONGEST_REST = 0.1  # a longer time means that the machine was suspended
# A rest is as long as the work, once more for each waiting piece, and at most this many times as long. A small call
# passes the loop twice, with request and answer: with work half of the time it would meet a large piece both times.
_CROWD = 5


class Turns:
    """Lets one piece of work run at a time, then rests at least as long for all else. Not safe for several threads."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_taken = False
        self._began = 0.0
        self._owed = 0.0  # seconds of rest

    async def take(self) -> None:
        """Waits for a turn, which lasts until the caller awaits something else."""
        if not self._is_taken:
            self._is_taken = True
            self._began = time.perf_counter()
            self._rest_soon()
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(partial(_wake, turn))
        await turn

    def ask(self, work: Callable[[], None]) -> None:
        """Runs the work when its turn comes, at the earliest in the next iteration of the loop."""
        self._waiting.append(work)
        if not self._is_taken:
            self._is_taken = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _rest(self) -> None:
        self._owed += (time.perf_counter() - self._began) * min(1 + len(self._waiting), _CROWD)
        loop = asyncio.get_running_loop()
        if self._owed < _SHORTEST_REST:
            loop.call_soon(self._go_on)
        else:
            loop.call_later(min(self._owed, _LONGEST_REST), self._go_on)
            self._owed = 0.0

    def _go_on(self) -> None:
        if not self._waiting:
            self._is_taken = False
            return
        self._began = time.perf_counter()
        try:
            self._waiting.popleft()()
        finally:
            self._rest_soon()

    def _rest_soon(self) -> None:
        # The loop runs `_rest` after the work, because it resumes a woken task first: callbacks run in order.
        asyncio.get_running_loop().call_soon(self._rest)


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


def turns_of_loop() -> Turns:
    """The turns of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _of_loops.get(loop)
    if found is None:
        found = _of_loops[loop] = Turns()
    return found


async def take_turn() -> None:
    """Waits for a turn before a large piece of work, which lasts until the caller awaits something else.

    Returns at once on a thread without an event loop.
    """
    try:
        turns = turns_of_loop()
    except RuntimeError:
        return
    await turns.take()


def _wake(turn: "asyncio.Future[None]") -> None:
    if not turn.done():  # its task may have been cancelled
        turn.set_result(None)
