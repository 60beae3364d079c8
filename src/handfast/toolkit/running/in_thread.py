"""Calls in a thread that has no event loop, such as a worker of a WSGI server: the same path, driven to its end."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from handfast.core.schema.compiled import CompiledSchema
from handfast.slow_lane.client import LaneVerdict, SlowLane
from handfast.toolkit.running.slow_lanes import JUDGE_SECONDS

T = TypeVar("T")


def run_here(call: Coroutine[Any, Any, T]) -> T:  # Any: nothing is sent or yielded
    """Run a coroutine that waits for nothing but what this thread may wait for itself.

    Raises: whatever it raises; RuntimeError, where it waits for an event loop after all.
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
    """A slow lane whose worker is looked after by a loop in a thread of its own, made when something heavy comes.

    Whoever asks waits for the verdict, and so does its thread; the others go on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lane: SlowLane | None = None

    async def verdict(
        self,
        schema: CompiledSchema,
        value_text: bytes,
        *,
        wording: bool,
        lenient: bool = False,
        max_depth: int | None = None,
    ) -> LaneVerdict:
        loop, lane = self._started()
        asked = lane.verdict(
            schema, value_text, deadline=JUDGE_SECONDS, wording=wording, lenient=lenient, max_depth=max_depth
        )
        return asyncio.run_coroutine_threadsafe(asked, loop).result()

    def _started(self) -> tuple[asyncio.AbstractEventLoop, SlowLane]:
        with self._lock:
            if self._loop is None or self._lane is None:
                self._loop, self._lane = asyncio.new_event_loop(), SlowLane()
                # A daemon: it must not keep a server from ending. The worker ends by itself once nobody is left.
                threading.Thread(target=_run, args=(self._loop,), name="handfast-slow-lane", daemon=True).start()
            return self._loop, self._lane

    async def close(self) -> None:
        """End the worker; a later verdict starts another."""
        with self._lock:
            loop, lane, self._loop, self._lane = self._loop, self._lane, None, None
        if loop is not None and lane is not None:
            asyncio.run_coroutine_threadsafe(lane.close(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
