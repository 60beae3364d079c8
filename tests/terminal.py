"""A command on a real terminal: what it would be made to do."""

import os
import pty
import subprocess
from collections.abc import Mapping


def on_a_terminal(command: list[str], *, columns: int, more: Mapping[str, str] | None = None) -> str:
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", **(more or {})}
    if not more:
        environment.pop("NO_COLOR", None)
    with subprocess.Popen(command, stdout=follower, stderr=follower, stdin=follower, env=environment):
        os.close(follower)
        return read_all(leader)


def read_all(leader: int) -> str:
    """What is written to the other end, until its last writer has left."""
    shown = b""
    try:
        while chunk := os.read(leader, 65536):
            shown += chunk
    except OSError:  # how Linux says so of a terminal
        pass
    os.close(leader)
    return shown.decode()
