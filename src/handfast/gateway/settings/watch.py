"""Notices a changed settings file and hands over the new settings, or the reason why the old ones stay."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from handfast.gateway.settings import Settings, SettingsError

_Stamp = tuple[int, int, int, int] | None


class SettingsWatch:
    """Follows one file. A good change is handed to `on_change`, a bad one to `on_refused` with the old kept.

    `load` reads the file with the same environment and flags as at start. The callbacks run on the event loop, where
    `run` and `reload_now` are called. A settings file is a few kilobytes, so it is read there as well.
    """

    def __init__(
        self,
        path: Path,
        current: Settings,
        *,
        load: Callable[[], Settings],
        on_change: Callable[[Settings, Settings], None],
        on_refused: Callable[[SettingsError], None],
        every_s: float = 1.0,
    ) -> None:
        self.current = current
        self._path = path
        self._load = load
        self._on_change = on_change
        self._on_refused = on_refused
        self._every_s = every_s
        self._seen = _stamp(path)
        self._doubtful: SettingsError | None = None

    async def run(self) -> None:
        """Polls about once a second until cancelled."""
        while True:
            await asyncio.sleep(self._every_s)
            self.poll()

    def poll(self) -> None:
        """Takes a good change at once; refuses a bad one when the file has stayed the same for one poll.

        A file that is being written, or is missing between two renames, looks bad for a moment only.
        """
        stamp = _stamp(self._path)
        if stamp == self._seen:
            if self._doubtful is not None:
                refusal, self._doubtful = self._doubtful, None
                self._on_refused(refusal)
            return
        # Taken before reading: what is written after it has another stamp and is seen by the next poll.
        self._seen = stamp
        self._doubtful = self._take()

    def reload_now(self) -> None:
        """Reads the file even if it seems unchanged, and reports at once what is wrong; for SIGHUP."""
        self._seen = _stamp(self._path)
        self._doubtful = None
        refusal = self._take()
        if refusal is not None:
            self._on_refused(refusal)

    def _take(self) -> SettingsError | None:
        try:
            new = self._load()
        except SettingsError as refusal:
            return refusal
        old = self.current
        if new != old:
            self.current = new
            self._on_change(old, new)
        return None


def _stamp(path: Path) -> _Stamp:
    """Changes with the file's content, also when an editor writes a new file and renames it into place."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev)
