"""The stage: upstreams, contenders and the load generator, all running, and one measured run at a time."""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any  # Any: outcomes are JSON

from benchmarks.contenders import CONTENDERS, DIRECT, LEAN, Contender, Site, upstream_command
from benchmarks.processes import ROOT, BenchFailed, Running, cpu_seconds, free_port, resident_mb

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run of one contender."""

    calls: int
    calls_per_s: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float  # per call, of the contender's process


class Stage:
    """Use as a context: what was started is stopped, and the folder removed, however it ends."""

    def __init__(self, wanted: Sequence[str], *, starts: int, progress: Progress) -> None:
        self._wanted = [contender for contender in CONTENDERS if contender.key in wanted]
        self._starts = starts
        self._progress = progress
        self._folder = Path(tempfile.mkdtemp(prefix="bench-"))
        self._running: dict[str, Running] = {}
        self._upstreams: dict[str, Running] = {}
        self.start_s: dict[str, float] = {}

    def __enter__(self) -> "Stage":
        command = [sys.executable, "-m", "benchmarks.load"]
        self._load = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            names = {name for contender in self._wanted for name in contender.fronts}
            for name in sorted(names | {LEAN}):
                self._start_upstream(name)
            for contender in self._wanted:
                self._start(contender)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def run(self, contender: str, upstream: str, tool: str, *, clients: int, calls: int, seconds: float) -> Run:
        """Load one contender in front of one upstream, and take its CPU over the same window."""
        server, url = self._find(contender, upstream)
        before = cpu_seconds(server.pid)
        outcome = self.ask({"url": url, "tool": tool, "clients": clients, "calls": calls, "seconds": seconds})
        used = cpu_seconds(server.pid) - before
        return Run(
            calls=outcome["calls"],
            calls_per_s=outcome["calls"] / outcome["seconds"],
            p50_ms=outcome["p50_ms"],
            p99_ms=outcome["p99_ms"],
            cpu_ms=used / outcome["calls"] * 1000,
        )

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """Give the load generator a job. Raises: BenchFailed."""
        assert self._load.stdin is not None
        assert self._load.stdout is not None
        self._load.stdin.write(json.dumps(job) + "\n")
        self._load.stdin.flush()
        outcome: dict[str, Any] = json.loads(self._load.stdout.readline() or '{"problem": "the load generator ended"}')
        if "problem" in outcome:
            raise BenchFailed(f"{job.get('url', 'stdio')}: {outcome['problem']}")
        return outcome

    def resident_mb(self, contender: str) -> float:
        return resident_mb(self._running[contender].pid)

    def new_folder(self, name: str) -> Path:
        """A folder that nothing was kept in before; it is gone after the run."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._folder))

    def _find(self, contender: str, upstream: str) -> tuple[Running, str]:
        if contender == DIRECT:
            return self._upstreams[upstream], self._upstreams[upstream].url
        path = next(known.path for known in self._wanted if known.key == contender)
        running = self._running[contender]
        return running, running.url.rpartition("/mcp")[0] + path.format(name=upstream)

    def _start_upstream(self, name: str) -> None:
        self._progress(f"starting the {name} server")
        port = free_port()
        log = self._folder / f"{name}.log"
        self._upstreams[name] = Running(upstream_command(name, port), f"http://127.0.0.1:{port}/mcp", log)

    def _start(self, contender: Contender) -> None:
        """Several times, each in a fresh folder, for the median; the last one stays."""
        self._progress(f"starting {contender.label}")
        taken = []
        for turn in range(self._starts):
            folder = self.new_folder(contender.key)
            urls = {name: running.url for name, running in self._upstreams.items() if name in contender.fronts}
            site = Site(free_port(), folder, urls)
            url = f"http://127.0.0.1:{site.port}{contender.path.format(name=contender.fronts[0])}"
            running = Running(contender.command(site), url, folder / "log")
            taken.append(running.start_s)
            if turn < self._starts - 1:
                running.stop()
        self._running[contender.key] = running
        self.start_s[contender.key] = statistics.median(taken)

    def _close(self) -> None:
        for running in (*self._running.values(), *self._upstreams.values()):
            running.stop()
        self._load.kill()
        self._load.wait()
        for pipe in (self._load.stdin, self._load.stdout):
            if pipe is not None:
                pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)
