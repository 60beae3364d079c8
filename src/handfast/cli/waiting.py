"""A line on a terminal while a server takes its time: npx may have to install it first."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from time import monotonic

from handfast.cli.console import escape

_AFTER_S = 1.0
_EVERY_S = 0.5


@contextlib.asynccontextmanager
async def waiting_for(what: str) -> AsyncIterator[None]:
    """Say on stderr what is waited for once that takes longer than a second; nothing where nobody looks."""
    if not sys.stderr.isatty():
        yield
        return
    telling = asyncio.create_task(_tell(what))
    try:
        yield
    finally:
        telling.cancel()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


async def _tell(what: str) -> None:
    begun = monotonic()
    await asyncio.sleep(_AFTER_S)
    while True:
        sys.stderr.write(f"\r\x1b[Kwaiting for {escape(what)} ... {monotonic() - begun:.0f} s")
        sys.stderr.flush()
        await asyncio.sleep(_EVERY_S)
