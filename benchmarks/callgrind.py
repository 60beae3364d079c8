"""Counting the machine instructions of a running process, all its threads and none of its children, with callgrind."""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import BenchFailed

# `events-2: 78123` is what thread 2 has executed; `events-2-7: …` is one of its frames, which that includes.
_THREAD = re.compile(r"^events-\d+: (\d+)$", re.MULTILINE)
_SECONDS = 120.0  # to answer: a process that is busy under callgrind on a busy machine takes its time


def require_valgrind() -> None:
    """Raises: BenchFailed."""
    if shutil.which("valgrind") is None or shutil.which("vgdb") is None:
        raise BenchFailed(
            "valgrind is not installed; install it (Debian and Ubuntu: apt-get install valgrind) and run again."
        )


def read_instructions(answer: str) -> int:
    """The sum over all threads, from what callgrind says of itself. Raises: BenchFailed."""
    counts = [int(count) for count in _THREAD.findall(answer)]
    if not counts:
        raise BenchFailed(f"callgrind did not say how much it has counted; it said: {answer[-200:]!r}")
    return sum(counts)


class Callgrind:
    """Starts `handfast` so that its instructions can be counted once it is warm."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pipes = f"--vgdb-prefix={folder / 'vgdb'}"  # not in the common temporary folder, where they may be left

    def command(self, arguments: Sequence[str]) -> list[str]:
        valgrind = ["valgrind", "--tool=callgrind", "--trace-children=no", self._pipes]
        # Nothing is counted before `begin`, which starts the gateway several times as fast.
        valgrind += ["--instr-atstart=no", f"--callgrind-out-file={self._folder / 'profile.%p'}"]
        return [*valgrind, sys.executable, "-m", "benchmarks.servers.slowed", *arguments]

    def begin(self, pid: int) -> None:
        self._ask(pid, "instrumentation", "on")

    def count(self, pid: int) -> int:
        """Instructions since `begin`. Raises: BenchFailed."""
        return read_instructions(self._ask(pid, "status", "internal"))

    def _ask(self, pid: int, *words: str) -> str:
        command = ["vgdb", self._pipes, f"--pid={pid}", *words]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise BenchFailed(f"process {pid} did not answer vgdb within {_SECONDS:.0f} s") from None
        if done.returncode != 0:
            raise BenchFailed(f"vgdb cannot reach process {pid}: {done.stderr.strip()[-200:]}")
        return done.stdout
