"""What the kernel says of a process: its memory, its sockets, its children."""

import os
from contextlib import suppress
from pathlib import Path


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))) / 1024


def open_sockets(pid: int) -> int:
    """Sockets and pipes: what connections and children are made of."""
    folder = Path(f"/proc/{pid}/fd")
    return sum(_target(folder / name).startswith(("socket:", "pipe:")) for name in os.listdir(folder))


def _target(path: Path) -> str:
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return ""  # closed since it was listed


def children(pid: int) -> set[int]:
    """The processes it started, those that ended but were not collected included."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that ended since
            found |= {int(child) for child in (task / "children").read_text().split()}
    return found
