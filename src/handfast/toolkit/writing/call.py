"""What a tool receives: its typed arguments, and the call."""

from collections.abc import Awaitable, Callable
from math import isfinite
from typing import Any, Protocol, TypeVar

import msgspec
from pydantic import BaseModel, ConfigDict

from handfast.toolkit.writing.actor import Actor

M = TypeVar("M", bound=BaseModel)
Report = Callable[[float, float | None, str | None], Awaitable[None]]


class Args(BaseModel):
    """Derive a tool's arguments, and every model inside them, from this."""

    # JSON has no infinity, and a number too large for a float must not become infinity.
    # Built where a tool is registered, so that what is wrong with a field is told with the tool's name.
    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False, defer_build=True
    )


class NoArgs(Args):
    """The arguments of a tool that takes none."""


class Asker(Protocol):
    """Asks the user of a call's client."""

    def ask(self, message: str, model: type[M]) -> M | None: ...


async def report_nothing(_progress: float, _total: float | None, _message: str | None) -> None:
    """Discards progress, because the caller did not ask for it."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call in progress."""

    tool: str
    request_id: str  # the id in the call's records
    app: Any = None  # Any: whatever the server was given as its application state
    actor: Actor | Any = None  # Any: another object with an id or a name
    reason: str = ""  # the caller's reason, for an admin tool
    report: Report = report_nothing
    context: Any = None  # Any: the SDK's own request context, for what is not covered here; None in process
    asker: Asker | None = None

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Reports progress to a caller that asked for it. Drops numbers that are not finite."""
        if not _is_number(done):
            return
        text = (
            None if message is None else str(message).encode(errors="replace").decode()
        )  # a lone surrogate would break the connection
        await self.report(done, total if _is_number(total) else None, text)

    def ask(self, message: str, answer: type[M]) -> M | None:
        """Ask the user, by a form with the fields of a model; None: they declined.

        The function ends here and runs again from its beginning once there is an answer. So ask before anything is
        changed, in the function itself, and let no `except BaseException` stand around it. Raises: ToolError, where
        the client cannot be asked or its answer does not fit.
        """
        assert self.asker is not None  # every call of a tool has one
        return self.asker.ask(message, answer)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value)
