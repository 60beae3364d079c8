"""in_memory: the official client connected to a toolbox in this process, in either era, with its event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from copy import copy
from typing import Any, Literal, TypeVar

from mcp import Client
from mcp.client.session import ElicitationFnT

from handfast.toolkit.running.recording import SharedRecorder, Unrecorded
from handfast.toolkit.toolbox import Toolbox
from handfast.toolkit.writing.spec import Run, ToolSpec

T = TypeVar("T")
Mode = Literal["auto", "legacy", "2026-07-28"]
ERAS: tuple[Mode, ...] = ("legacy", "2026-07-28")


def run_to_end(start: Callable[[], Coroutine[Any, Any, T]], *, instead: str) -> T:  # Any: nothing is sent into it
    """Runs a coroutine in a new loop. Raises: RuntimeError if a loop is running; the message names `instead`."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start())
    raise RuntimeError(f"This drives an event loop of its own, and one is running here. Use `{instead}`.")


@asynccontextmanager
async def in_memory(
    toolbox: Toolbox, *, mode: Mode = "auto", actor: Any = None, answers: ElicitationFnT | None = None
) -> AsyncIterator[Client]:
    """A new session; `actor` replaces the one that authentication would give, and `answers` the user whom tools ask.

    Raises: ContractError.
    """
    own = for_session(toolbox, actor)
    failure: Exception | None = None
    try:
        async with Client(own.build_server(), mode=mode, elicitation_callback=answers) as client:
            try:
                yield client
            except Exception as error:  # noqa: BLE001 - raised again below, as itself: here it would become a group
                failure = error
    finally:
        await own.registry.close()
    if failure is not None:
        raise failure


def for_session(toolbox: Toolbox, actor: Any = None, *, run_of: Callable[[ToolSpec], Run] | None = None) -> Toolbox:
    """A copy of the toolbox with the same tools and application, for one session. Raises: ContractError."""
    own = copy(toolbox)
    own.registry = toolbox.registry.apart(run_of)
    own._server = None
    if not own.registry.has_recorder:
        own.registry.record_with(Unrecorded())  # else it would be on record with what really happened
    own.recording = SharedRecorder(own.registry)
    if actor is not None:
        own.actor = lambda _context: actor
    return own
