"""Where calls of our own tools are recorded: the same chain as the gateway's, or nowhere."""

import os
from pathlib import Path

from handfast.activity.recorder import ThreadRecorder
from handfast.activity.sqlite import SqliteStore
from handfast.activity.state_folder import state_folder
from handfast.clock import Clock
from handfast.core.exchange import Record, Recorder
from handfast.slow_lane.client import SlowLane
from handfast.tool_call import CallPath


class Unrecorded:
    """Keeps nothing: for a registry that nobody gave a recorder to."""

    def record(self, *_: Record) -> int:
        return 0

    async def committed(self, ticket: int) -> None:
        """Nothing is ever waited for."""

    async def room(self) -> None:
        """There is always room."""

    def digest(self, value: bytes) -> str:  # noqa: ARG002 - nothing is kept, so nothing is comparable
        return ""


def open_recorder(folder: Path | str | None = None) -> ThreadRecorder | None:
    """The recorder of a server: in the folder, else HANDFAST_STATE, else the platform's state folder.

    HANDFAST_ACTIVITY=off records nothing. Raises: StoreError.
    """
    if folder is None and os.environ.get("HANDFAST_ACTIVITY", "").lower() == "off":
        return None
    return ThreadRecorder(SqliteStore.open(state_folder(None if folder is None else str(folder))))


def call_path(recorder: Recorder | None, lane: SlowLane) -> CallPath:
    return CallPath(recorder=recorder or Unrecorded(), lane=lane, clock=Clock())
