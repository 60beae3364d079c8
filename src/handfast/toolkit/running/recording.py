"""The recorder for calls of toolkit tools: the same chain as the gateway's, or none."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import anyio

from handfast.activity.recorder import ThreadRecorder
from handfast.activity.state_folder import state_folder
from handfast.activity.store import open_store
from handfast.clock import Clock
from handfast.core.call.exchange import Record, Recorder, Ticket
from handfast.judgement import Lane
from handfast.tool_call import CallPath


class RecordedTools(Protocol):
    """The part of the registry that recording needs."""

    @property
    def has_recorder(self) -> bool: ...

    def record_with(self, recorder: Recorder | None) -> None: ...

    async def close(self) -> None: ...


class Unrecorded:
    """A recorder that keeps nothing, for a registry without one."""

    def record(self, *_: Record) -> int:
        return 0

    def record_refusal(self, _caller: str, *_: Record) -> int:
        return 0

    async def committed(self, ticket: Ticket) -> None:
        """Returns at once."""

    async def room(self) -> None:
        """Returns at once."""

    def digest(self, value: bytes) -> str:  # noqa: ARG002 - nothing is kept, so nothing is comparable
        return ""


def open_recorder(folder: Path | str | None = None) -> ThreadRecorder | None:
    """Opens a server's recorder in the folder, else HANDFAST_STATE, else the platform's state folder.

    None if HANDFAST_ACTIVITY is off and no folder is given. Raises: StoreError.
    """
    if folder is None and os.environ.get("HANDFAST_ACTIVITY", "").lower() == "off":
        return None
    return ThreadRecorder(open_store(state_folder(None if folder is None else str(folder))))


class SharedRecorder:
    """The recorder that the servers of one registry share: the first one opens it, the last one closes it."""

    def __init__(self, registry: RecordedTools) -> None:
        self.folder: Path | str | None = None  # where to record; None: as `open_recorder` says
        self._registry = registry
        self._recorder: ThreadRecorder | None = None
        self._servers = 0

    def open(self) -> None:
        """Opens a recorder in `folder`, unless the author chose another one. Raises: StoreError."""
        if not self._registry.has_recorder:
            self._recorder = open_recorder(self.folder)
            self._registry.record_with(self._recorder)
        self._servers += 1

    async def close(self) -> None:
        self._servers -= 1
        if self._servers:
            return
        await self._registry.close()
        if self._recorder is not None:
            self._registry.record_with(None)  # the next server opens its own
            self._recorder.close()
            self._recorder = None

    def derive_key(self, purpose: str) -> bytes:
        """One that every process on the same store has; empty where there is none, or it is the author's own."""
        return b"" if self._recorder is None else self._recorder.derive_key(purpose)

    @asynccontextmanager
    async def during(self) -> AsyncIterator[None]:
        """Records while one server is served. Raises: StoreError."""
        self.open()
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):  # a server often ends by being cancelled
                await self.close()


def call_path(recorder: Recorder | None, lane: Lane) -> CallPath:
    return CallPath(recorder=recorder or Unrecorded(), lane=lane, clock=Clock())
