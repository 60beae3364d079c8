"""Commands that wait: the event loop that they run in, and a line on a terminal while a server takes its time."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Coroutine
from time import monotonic
from typing import Any, TypeVar

from handfast.cli.shared.console import escape

Result = TypeVar("Result")
_AFTER_S = 1.0
_EVERY_S = 0.5


def run_async(work: Coroutine[Any, Any, Result]) -> Result:  # Any: a coroutine's send types
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)


@contextlib.asynccontextmanager
async def waiting_for(what: str) -> AsyncIterator[None]:
    """Shows on stderr what the command waits for, after a second and only on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    line = _Line(what)
    telling = asyncio.create_task(line.tell())
    try:
        yield
    finally:
        telling.cancel()
        line.wipe()


class _Line:
    def __init__(self, what: str) -> None:
        self._what = escape(what)
        self._begun = monotonic()
        self._is_shown = False

    async def tell(self) -> None:
        await asyncio.sleep(_AFTER_S)
        while True:
            self._is_shown = True
            self._write(f"waiting for {self._what} ... {monotonic() - self._begun:.0f} s")
            await asyncio.sleep(_EVERY_S)

    def wipe(self) -> None:
        if self._is_shown:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
