"""The gateway as a client's command: `handfast wrap` in front of a server's own command line."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from tests.contracts.rig import HANDFAST


def wrap_command(folder: Path, command: Sequence[str], *flags: str) -> list[str]:
    """A file to run in place of the command, as a client's config would name it. Its records are in `state`."""
    file = folder / "server.sh"
    words = [*HANDFAST, "wrap", "--state", str(folder / "state"), *flags, "--", *command]
    file.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
    file.chmod(0o755)
    return [str(file)]
