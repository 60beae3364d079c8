"""The event loop of the commands: uvloop where there is one."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_async(work: Coroutine[Any, Any, Result]) -> Result:  # Any: a coroutine's send types
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)
