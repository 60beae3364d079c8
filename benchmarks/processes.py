"""Starting what is measured, and what the kernel says of it: CPU, memory, time to the first answered call."""

import http.client
import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks import traffic

ROOT = Path(__file__).parents[1]
_TICK = os.sysconf("SC_CLK_TCK")
_POLL_SECONDS = 0.005
_START_SECONDS = 30.0


class BenchFailed(Exception):
    """The run cannot go on; one line that says why."""


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its threads, without its children."""
    # The name in parentheses may hold spaces; utime and stime are the 12th and 13th field after it.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(kilobytes) / 1024


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Running:
    """A server in a process of its own, ready once it answered a call."""

    def __init__(
        self,
        command: Sequence[str],
        url: str,
        log: Path,
        *,
        environ: Mapping[str, str] | None = None,
        seconds: float = _START_SECONDS,
        token: str = "",
    ) -> None:
        """`token` is that of its first caller, where it asks for one."""
        self.url = url
        self._token = token
        self._log = log
        self._seconds = seconds
        began = time.perf_counter()
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=ROOT, env=environ
            )
        self._wait_for_call()
        self.start_s = time.perf_counter() - began

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _wait_for_call(self) -> None:
        deadline = time.monotonic() + self._seconds
        while not first_call(self.url, self._token):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise BenchFailed(f"{self.url} never answered a call; it said: {self._log.read_text()[-800:]}")
            time.sleep(_POLL_SECONDS)


def first_call(url: str, token: str = "") -> bool:
    """One call, on a connection of its own; False while nobody listens."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=_START_SECONDS)
    headers = {name.decode(): value.decode() for name, value in traffic.headers(traffic.JUDGED)}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        connection.request("POST", parts.path, traffic.call(traffic.JUDGED, 0), headers)
        answer = connection.getresponse()
        return answer.status == 200 and len(answer.read()) >= traffic.least_bytes(traffic.JUDGED)
    except OSError:
        return False
    finally:
        connection.close()
