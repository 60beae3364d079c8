"""Large pieces of work on an event loop take turns, so that small ones wait for at most one of them."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from weakref import WeakKeyDictionary

# A message from here on is large: what it takes is no longer small beside the turn of the loop that it comes in.
LARGE_BYTES = 64 * 1024
_SHORTEST_REST = 0.001  # of a timer; less is owed until it is as much, and the rest is one turn of the loop
_LONGEST_REST = 0.1  # what looks longer was a machine that stood still
# How many times as long a rest is at most: once, and once more for each piece that waits. A small call passes the loop
# twice, with its request and with its answer: at half of the time it would meet a large piece both times.
_CROWD = 5


class Turns:
    """One piece of work at a time, and after it at least as long for everything else. Not safe from several threads."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_taken = False
        self._began = 0.0
        self._owed = 0.0  # seconds of rest

    async def take(self) -> None:
        """Wait for a turn. It lasts until the caller waits for something else."""
        if not self._is_taken:
            self._is_taken = True
            self._began = time.perf_counter()
            self._rest_soon()
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(partial(_wake, turn))
        await turn

    def ask(self, work: Callable[[], None]) -> None:
        """Do this when its turn comes, at the earliest in the next turn of the loop."""
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
        # The work is done before this is called: a task that was waiting is woken in the order of asking.
        asyncio.get_running_loop().call_soon(self._rest)


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


def turns_of_loop() -> Turns:
    """Those of the running event loop, which is what they share out."""
    loop = asyncio.get_running_loop()
    found = _of_loops.get(loop)
    if found is None:
        found = _of_loops[loop] = Turns()
    return found


async def take_turn() -> None:
    """Before a large piece of work, which lasts until the caller waits for something else.

    On a thread without an event loop there is nobody to take turns with.
    """
    try:
        turns = turns_of_loop()
    except RuntimeError:
        return
    await turns.take()


def _wake(turn: "asyncio.Future[None]") -> None:
    if not turn.done():  # its task may have been cancelled
        turn.set_result(None)
