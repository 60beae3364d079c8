"""Ending a tool that no timeout of the loop could end: it blocks the loop, or does not let itself be cancelled."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Final

_GRACE_S: Final = 0.5  # a loop that turns takes what it is handed within this time
_SIGNAL: Final = getattr(signal, "SIGVTALRM", None)  # nearly nobody uses it; SIGALRM is that of test runners
_PATIENT: Final = getattr(signal, "pthread_kill", None)


_ENDING_S: Final = 1.0  # a cancelled tool may clean up for so long
_left: "list[asyncio.Task[Any]]" = []  # Any: their results; kept, because collecting one would run its code once more


class LoopBlocked(BaseException):
    """Raised inside the code that blocks the loop."""


@contextmanager
def interrupted_when_blocked(seconds: float) -> Iterator[None]:
    """Raises LoopBlocked in what runs here, if the loop has not turned for so long. Only where signals can do that.

    A thread looks for code that waits. Code in C that lets no thread run, such as a regular expression, is found by a
    timer of the process, which counts its time at work; it has to look for signals.
    """
    if _SIGNAL is None or _PATIENT is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    has_turned = threading.Event()
    is_over = threading.Event()
    ident = threading.get_ident()
    began = monotonic()
    asked: list[float] = []

    def ask() -> None:
        asked.append(monotonic())
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(has_turned.set)

    def interrupt(*_: Any) -> None:  # Any: the signal and the frame
        now = monotonic()
        if has_turned.is_set() or is_over.is_set() or now - began < seconds:
            return
        if not asked:
            ask()
        elif now - asked[0] >= _GRACE_S * 0.9:
            raise LoopBlocked

    def look() -> None:
        if is_over.wait(seconds):
            return
        ask()
        if not has_turned.wait(_GRACE_S) and not is_over.is_set():
            _PATIENT(ident, _SIGNAL)

    looking = threading.Thread(target=look, daemon=True)
    with _signalled(interrupt, seconds):
        looking.start()
        try:
            yield
        finally:
            is_over.set()
            looking.join()


@contextmanager
def _signalled(handler: Callable[..., None], seconds: float) -> Iterator[None]:
    """Calls the handler for the signal, and once this process has worked for so long."""
    assert _SIGNAL is not None
    before = signal.signal(_SIGNAL, handler)
    timer = signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _GRACE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *timer)
        signal.signal(_SIGNAL, before)


async def ended_or_left(task: "asyncio.Task[Any]") -> Any:  # Any: the task's result
    """The task's result. If this is cancelled and the task does not end then, the task is left behind."""
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        try:
            await asyncio.wait({task}, timeout=_ENDING_S)
        finally:
            if not task.done():
                _leave(task)
        if not task.done():
            raise
    return task.result()


def _leave(task: "asyncio.Task[Any]") -> None:  # Any: as above
    """Nobody waits for the task any more, not even who ends the loop."""
    _left.append(task)
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # asyncio sets it; the task is told as a problem
    asyncio.tasks._unregister_task(task)
