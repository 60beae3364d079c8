"""A server's messages before its answer, on their way to the client: in order, bounded, with back-pressure."""

import asyncio
import contextlib
from collections.abc import Callable

from handfast.gateway.calls.backlog import Backlog
from handfast.gateway.calls.flow import Flow
from handfast.wire.message import BadMessage, Message, read_message


class Inbox:
    def __init__(self, on_drop: Callable[[], None]) -> None:
        """`on_drop` is called when messages were dropped, as other callers would have to wait with their source."""
        self.flow = Flow()
        self._on_drop = on_drop
        self._waiting = Backlog()
        self._bell = asyncio.Event()
        self._is_over = False

    def put(self, raw: bytes) -> None:
        if self._is_over:
            return
        with contextlib.suppress(BadMessage):
            self._waiting.append(read_message(raw))
        if self._waiting.is_full:
            self._relieve()
        self._bell.set()

    def _relieve(self) -> None:
        if self.flow.can_wait:
            self.flow.hold(True)
        elif self._waiting.drop_oldest():
            self._on_drop()

    def end(self) -> None:
        """Called when nothing more comes: `next` gives what waits, then None."""
        self._is_over = True
        self._bell.set()

    def close(self) -> None:
        """Called when nothing more is taken: the source is not held any longer."""
        self._is_over = True
        self.flow.close()

    async def next(self) -> Message | None:
        """The next message; None after the last one."""
        while not self._waiting:
            if self._is_over:
                return None
            self._bell.clear()
            await self._bell.wait()
        message = self._waiting.popleft()
        if self.flow.is_held and self._waiting.is_low:
            self.flow.hold(False)
        return message
