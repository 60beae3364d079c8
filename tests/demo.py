"""The demo as a user starts it: scripts/serve on a free port with a state folder of its own."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
HANDFAST = ROOT / ".venv" / "bin" / "handfast"
_LAST_LINE = "Ctrl-C stops the gateway."


@dataclass(frozen=True, slots=True)
class Demo:
    process: "subprocess.Popen[str]"
    printed: list[str]
    state: Path

    @property
    def commands(self) -> list[str]:
        """What there is to paste, exactly as printed."""
        return [line.strip() for line in self.printed if line.startswith("  ")]

    @property
    def url(self) -> str:
        (url,) = {match[1] for line in self.printed if (match := re.search(r"--url (\S+)$", line))}
        return url


@contextmanager
def running_demo(state: Path, *flags: str, root: Path = ROOT) -> Iterator[Demo]:
    command = [str(root / "scripts" / "serve"), "--listen", "127.0.0.1:0", "--state", str(state), *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Demo(process, list(_until_ready(process)), state)
        finally:
            process.terminate()
            process.communicate(timeout=20)


def _until_ready(process: "subprocess.Popen[str]") -> Iterator[str]:
    assert process.stdout is not None
    for line in process.stdout:
        yield line.rstrip("\n")
        if line.startswith(_LAST_LINE):
            return
    raise AssertionError(f"scripts/serve ended: {process.stderr.read() if process.stderr else ''}")


def default_commands(demo: Demo) -> list[str]:
    """The commands as they are printed where nothing was chosen."""
    replaced = {demo.url: "http://127.0.0.1:8480", shlex.quote(str(demo.state)): ".state"}
    commands = demo.commands
    for chosen, default in replaced.items():
        commands = [command.replace(chosen, default) for command in commands]
    return commands
