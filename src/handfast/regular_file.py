"""Reading a file that is one: a pipe would be waited for without end, and a device has none."""

import os
import stat
from pathlib import Path

_MOST_BYTES = 64 * 1024 * 1024  # as a message of a server; no source and no list of tools comes near it


def read_regular(path: Path, most_bytes: int = _MOST_BYTES) -> bytes:
    """Raises: OSError, with words for the user."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(None, "it is not a regular file")
        if found.st_size > most_bytes:
            raise OSError(None, f"it is larger than {most_bytes // 1024**2} MiB")
        return file.read(most_bytes)
