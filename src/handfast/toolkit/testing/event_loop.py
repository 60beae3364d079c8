"""What is called without await here drives an event loop of its own."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_end(start: Callable[[], Coroutine[Any, Any, T]], *, instead: str) -> T:  # Any: nobody sends into it
    """Raises: RuntimeError, where a loop is running already; its message says what to do `instead`."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start())
    raise RuntimeError(f"This drives an event loop of its own, and one is running here. Use `{instead}`.")
