"""How a stdio server is started: its command, its folder, and an environment without the secrets of others."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# What the official SDKs let a server inherit: enough to run, nothing that is likely to be a secret.
_INHERITED = (
    (
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
    )
    if sys.platform == "win32"
    else ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
)


@dataclass(frozen=True, slots=True)
class Launch:
    command: Sequence[str]
    environment: Mapping[str, str]
    cwd: str | None = None


def child_environment(own: Mapping[str, str], inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the inherited variables of our environment, overridden by the server's own `env`."""
    ours = os.environ if inherited is None else inherited
    # A value that starts with () is a shell function (Shellshock), never a plain setting.
    kept = {name: ours[name] for name in _INHERITED if name in ours and not ours[name].startswith("()")}
    return kept | dict(own)
