"""What carries messages to one server and back, and how it tells of them: a process, or a stream of events."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from handfast.gateway.http.response import Headers
from handfast.gateway.settings.blocks import Limits
from handfast.wire.lines import OverlongLine


class PipeFailed(Exception):
    """The server could not be started or reached; the message goes on after "The server", and says what to check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipeEnds:
    """What a pipe is made with. `on_exit` is called once, after the last line."""

    limits: Limits
    limit_of: Callable[[bytes], int]  # of a long message that begins so
    on_line: Callable[[bytes | OverlongLine], None]
    on_exit: Callable[[int], None]
    on_congestion: Callable[[bool], None]
    on_stderr: Callable[[bytes], None]
    on_refused: Callable[[int, str, bool], None]
    """The request of this number was not taken, and why; at last, whether the server knows nothing of the pipe."""
    headers: Headers | None
    """Of the client that it is opened for, where it is for one."""


class Pipe(Protocol):
    is_process: bool
    over: str
    """That the pipe has ended, in the words of its kind."""
    lost: str
    """What a request is told that was under way then."""
    gone: asyncio.Event

    async def open(self) -> None:
        """Raises: PipeFailed."""

    def send(self, message: bytes, number: int | None = None, headers: Headers | None = None, /) -> None:
        """Send one message: a request under its number, or what has no answer. `headers` came with it."""

    def pause_reading(self, is_paused: bool) -> None: ...

    async def stop(self) -> None: ...

    def end(self) -> None:
        """The server knows nothing of the pipe any more."""

    @property
    def started(self) -> str: ...

    def ended(self, code: int) -> str: ...


class Reach(Protocol):
    """How a server is started or reached."""

    def make_pipe(self, ends: PipeEnds) -> Pipe: ...

    async def close(self) -> None:
        """There will be no more pipes."""
