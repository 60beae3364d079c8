"""in_memory: the official client on a toolbox of this process, in either era of the protocol."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import copy
from typing import Any, Literal

from mcp import Client

from handfast.toolkit.toolbox import Toolbox
from handfast.toolkit.writing.spec import Run, ToolSpec

Mode = Literal["auto", "legacy", "2026-07-28"]
ERAS: tuple[Mode, ...] = ("legacy", "2026-07-28")


@asynccontextmanager
async def in_memory(toolbox: Toolbox, *, mode: Mode = "auto", actor: Any = None) -> AsyncIterator[Client]:
    """A session of its own; `actor` stands in for whom authentication would name. Raises: ContractError."""
    own = for_session(toolbox, actor)
    failure: Exception | None = None
    try:
        async with Client(own.build_server(), mode=mode) as client:
            try:
                yield client
            except Exception as error:  # noqa: BLE001 - raised again below, as itself: here it would become a group
                failure = error
    finally:
        await own.registry.close()
    if failure is not None:
        raise failure


def for_session(toolbox: Toolbox, actor: Any = None, *, run_of: Callable[[ToolSpec], Run] | None = None) -> Toolbox:
    """The same tools and the same application; the author's object stays as it is. Raises: ContractError."""
    own = copy(toolbox)
    own.registry = toolbox.registry.apart(run_of)
    if actor is not None:
        own.actor = lambda _context: actor
    return own
