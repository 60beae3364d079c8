"""Threads for tools that are not coroutines: reused, bounded, and not waited for when the server ends."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final

MOST_THREADS: Final = 64  # a tool that never returns keeps its thread; with all taken, calls wait for one
_IDLE_SECONDS: Final = 10.0

_Job = tuple["Future[Any]", Callable[[], Any]]  # Any: whatever the tool returns


class BlockingCalls:
    """Like the event loop's own executor, with two differences: a tool that hangs stops neither other tools nor the
    end of the process, and a tool that raises StopIteration is reported.
    """

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._most = most
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._free = 0  # idle threads less jobs without a thread

    @property
    def threads(self) -> int:
        return self._threads

    async def run(self, function: Callable[..., Any], /, **given: Any) -> Any:  # Any: the tool's own types
        """Runs the function in a thread. Raises: what the function raises."""
        future: Future[Any] = Future()
        self._jobs.put((future, partial(copy_context().run, partial(function, **given))))
        with self._lock:
            self._free -= 1
            is_short = self._free < 0 and self._threads < self._most
            if is_short:
                self._threads += 1
                self._free += 1
        if is_short:
            threading.Thread(target=self._work, name="handfast-tool", daemon=True).start()
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        while (job := self._next_job()) is not None:
            _carry_out(*job)
            del job  # so that the tool's result is not kept until the next job
            with self._lock:
                self._free += 1

    def _next_job(self) -> _Job | None:
        while True:
            try:
                return self._jobs.get(timeout=_IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._free > 0:
                        self._threads -= 1
                        self._free -= 1
                        return None


def _carry_out(future: "Future[Any]", function: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return  # cancelled while it waited
    try:
        result = function()
    except StopIteration:
        # A future cannot carry StopIteration, and the waiting call would hang.
        future.set_exception(RuntimeError("a tool ended with StopIteration"))
    except BaseException as error:  # noqa: BLE001 - the thread's edge: the waiting call deals with it
        future.set_exception(error)
    else:
        future.set_result(result)


BLOCKING: Final = BlockingCalls()
