"""Call: what a tool is told about the call it answers, beside its arguments."""

from collections.abc import Awaitable, Callable
from math import isfinite
from typing import Any

import msgspec

from handfast.toolkit.writing.actor import Actor

Report = Callable[[float, float | None, str | None], Awaitable[None]]


async def unheard(_progress: float, _total: float | None, _message: str | None) -> None:
    """Nobody asked to be told of progress."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call in progress."""

    tool: str
    request_id: str  # the id under which the call is on record
    app: Any = None  # Any: whatever the server was given as its application state
    actor: Actor | Any = None  # Any: another object with an id or a name
    reason: str = ""  # why, of an admin tool
    report: Report = unheard
    context: Any = None  # Any: the SDK's own request context, for what is not covered here; None in process

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell a caller that wants to know how far this is. What is no finite number is not told."""
        if not _is_number(done):
            return
        text = (
            None if message is None else str(message).encode(errors="replace").decode()
        )  # half a character ends a pipe
        await self.report(done, total if _is_number(total) else None, text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value)
