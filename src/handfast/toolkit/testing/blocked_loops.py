"""Interrupting a tool that blocks the event loop, where no timeout of the loop's own could end it."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_GRACE_S: Final = 0.5  # a loop that turns takes what it is handed within this time
_SIGNAL: Final = getattr(signal, "SIGVTALRM", None)  # nearly nobody uses it; SIGALRM is that of test runners
_PATIENT: Final = getattr(signal, "pthread_kill", None)


class LoopBlocked(BaseException):
    """Raised inside the code that blocks the loop."""


@contextmanager
def interrupted_when_blocked(seconds: float) -> Iterator[None]:
    """Raises LoopBlocked in what runs here, if the loop has not turned for so long. Only where signals can do that."""
    if _SIGNAL is None or _PATIENT is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    has_turned = threading.Event()
    is_over = threading.Event()
    ident = threading.get_ident()

    def interrupt(*_: Any) -> None:  # Any: the signal and the frame
        if not has_turned.is_set() and not is_over.is_set():
            raise LoopBlocked

    def look() -> None:
        if is_over.wait(seconds):
            return
        loop.call_soon_threadsafe(has_turned.set)
        if not has_turned.wait(_GRACE_S) and not is_over.is_set():
            _PATIENT(ident, _SIGNAL)

    before = signal.signal(_SIGNAL, interrupt)
    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        is_over.set()
        looking.join()
        signal.signal(_SIGNAL, before)
