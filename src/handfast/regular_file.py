"""Reading regular files only: reading a pipe could block forever, and a device may never end."""

import os
import stat
from pathlib import Path

_MOST_BYTES = 64 * 1024 * 1024  # as for a server's message; sources and lists of tools are far smaller


def read_regular(path: Path, most_bytes: int = _MOST_BYTES) -> bytes:
    """Reads a regular file up to a bound. Raises: OSError, with a text for the user."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(None, "it is not a regular file")
        if found.st_size > most_bytes:
            raise OSError(None, f"it is larger than {most_bytes // 1024**2} MiB")
        return file.read(most_bytes)
