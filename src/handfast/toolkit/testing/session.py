"""in_memory: the official client on a toolbox of this process, in either era, and the loop that it runs in."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from copy import copy
from typing import Any, Literal, TypeVar

from mcp import Client

from handfast.toolkit.toolbox import Toolbox
from handfast.toolkit.writing.spec import Run, ToolSpec

T = TypeVar("T")
Mode = Literal["auto", "legacy", "2026-07-28"]
ERAS: tuple[Mode, ...] = ("legacy", "2026-07-28")


def run_to_end(start: Callable[[], Coroutine[Any, Any, T]], *, instead: str) -> T:  # Any: nothing is sent into it
    """Raises: RuntimeError, where a loop is running already; its message says what to do `instead`."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start())
    raise RuntimeError(f"This drives an event loop of its own, and one is running here. Use `{instead}`.")


@asynccontextmanager
async def in_memory(toolbox: Toolbox, *, mode: Mode = "auto", actor: Any = None) -> AsyncIterator[Client]:
    """A session of its own; `actor` stands in for the one that authentication would give. Raises: ContractError."""
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
