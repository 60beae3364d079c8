"""Slow lanes for tools: one per event loop, and one for calls in threads without a loop."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Final, TypeVar, Unpack

from handfast.core.schema.compiled import CompiledSchema
from handfast.slow_lane.client import LaneVerdict, LaneWishes, SlowLane

# The gateway gives a foreign schema a quarter of a second. A toolkit schema is not hostile: 5 MiB of valid data must
# pass on a busy machine too, and the heaviest schema that may be declared takes some 25 s for that much.
JUDGE_SECONDS: Final = 30.0
T = TypeVar("T")


class LaneOfLoop:
    """One slow lane per event loop, because a worker belongs to a loop, and each `asyncio.run` makes a new one."""

    def __init__(self) -> None:
        self._lanes: dict[asyncio.AbstractEventLoop, tuple[SlowLane, AsyncGenerator[None]]] = {}

    async def verdict(self, schema: CompiledSchema, value_text: bytes, **wishes: Unpack[LaneWishes]) -> LaneVerdict:
        loop = asyncio.get_running_loop()
        if loop not in self._lanes:
            lane = SlowLane()
            ending = self._end_with(loop, lane)
            self._lanes[loop] = lane, ending
            await anext(ending)  # from now on the loop knows the generator
        return await self._lanes[loop][0].verdict(schema, value_text, deadline=JUDGE_SECONDS, **wishes)

    async def _end_with(self, loop: asyncio.AbstractEventLoop, lane: SlowLane) -> AsyncGenerator[None]:
        """Ends the worker with the loop: a loop that ends closes its generators, and offers no other hook."""
        try:
            yield
        finally:
            self._lanes.pop(loop, None)
            await lane.close()

    async def close(self) -> None:
        """Ends the worker of this loop; a later verdict starts another."""
        lane = self._lanes.get(asyncio.get_running_loop())
        if lane is not None:
            await lane[1].aclose()


def run_here(call: Coroutine[Any, Any, T]) -> T:  # Any: nothing is sent or yielded
    """Runs a coroutine that only blocks this thread and never awaits an event loop.

    Raises: what the coroutine raises; RuntimeError, if it awaits an event loop after all.
    """
    try:
        call.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    call.close()
    raise RuntimeError("A call in a thread waited for an event loop, and there is none. Run it with asyncio instead.")


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


class LaneInThread:
    """A slow lane whose worker runs under an event loop in a thread of its own, started on first use.

    The calling thread blocks until the verdict; other threads go on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lane: SlowLane | None = None

    async def verdict(self, schema: CompiledSchema, value_text: bytes, **wishes: Unpack[LaneWishes]) -> LaneVerdict:
        loop, lane = self._started()
        asked = lane.verdict(schema, value_text, deadline=JUDGE_SECONDS, **wishes)
        return asyncio.run_coroutine_threadsafe(asked, loop).result()

    def _started(self) -> tuple[asyncio.AbstractEventLoop, SlowLane]:
        with self._lock:
            if self._loop is None or self._lane is None:
                self._loop, self._lane = asyncio.new_event_loop(), SlowLane()
                # A daemon, so that it does not keep a server from ending. The worker ends once its parent is gone.
                threading.Thread(target=_run, args=(self._loop,), name="handfast-slow-lane", daemon=True).start()
            return self._loop, self._lane

    async def close(self) -> None:
        """Ends the worker; a later verdict starts another."""
        with self._lock:
            loop, lane, self._loop, self._lane = self._loop, self._lane, None, None
        if loop is not None and lane is not None:
            asyncio.run_coroutine_threadsafe(lane.close(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
