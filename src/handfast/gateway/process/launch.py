"""How a stdio server is started: its command, its folder, and an environment without the secrets of others."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from handfast.gateway.process.child import Child
from handfast.gateway.process.pipe import PipeEnds
from handfast.wire.lines import LineAssembler

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

    def make_pipe(self, ends: PipeEnds) -> "LaunchedChild":
        return LaunchedChild(self, ends)

    async def close(self) -> None:
        """Each process is ended by itself."""


class LaunchedChild(Child):
    is_process = True
    over = "the server has exited"
    lost = "The server exited before it answered. Repeat the call if that is safe."

    def __init__(self, launch: Launch, ends: PipeEnds) -> None:
        limits = ends.limits
        super().__init__(
            lines=LineAssembler(limits.message_bytes, lower=limits.list_bytes, limit_of=ends.limit_of),
            on_line=ends.on_line,
            on_exit=ends.on_exit,
            on_stderr=ends.on_stderr,
            on_congestion=ends.on_congestion,
        )
        self._launch = launch

    async def open(self) -> None:
        """Raises: ChildStartFailed."""
        await self.start(self._launch.command, env=self._launch.environment, cwd=self._launch.cwd)

    def end(self) -> None:
        """Nothing says of a process that it has forgotten us."""

    @property
    def started(self) -> str:
        return f"Started as process {self.pid}."

    def ended(self, code: int) -> str:
        return f"Process {self.pid} exited with code {code}."


def child_environment(own: Mapping[str, str], inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the inherited variables of our environment, overridden by the server's own `env`."""
    ours = os.environ if inherited is None else inherited
    # A value that starts with () is a shell function (Shellshock), never a plain setting.
    kept = {name: ours[name] for name in _INHERITED if name in ours and not ours[name].startswith("()")}
    return kept | dict(own)
