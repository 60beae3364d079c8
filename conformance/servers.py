"""The servers of a run, each in a process of its own: the suite's server, and handfast in front of it."""

import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from conformance.checks import SuiteFailed
from conformance.exclusions import Upstream

Entry = dict[str, object]  # one server in the settings, as handfast reads it

ROOT = Path(__file__).parents[1]
PARTS = ROOT / ".parts"
PYTHON = PARTS / "py" / "bin" / "python"
ENVIRONMENT = {"PYTHONPATH": f"{PARTS / 'everything'}:{ROOT}"}  # of the programs that run in .parts
OVER_HTTP = ("-m", "mcp_everything_server")
OVER_STDIO = ("-m", "conformance.stdio_server")
_NAME = "everything"
_START_SECONDS = 30.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.02


class Server:
    """A process that listens. Nothing it prints is kept but its log, which is shown when it fails."""

    def __init__(self, command: Sequence[str], log: Path, *, port: int | None = None) -> None:
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            self.port = self._await_port() if port is None else port
            self._await_connection()
        except BaseException:
            self.stop()
            raise

    def require_alive(self) -> None:
        """Raises: SuiteFailed."""
        if self._process.poll() is not None:
            tail = " ".join(self._log.read_text("utf-8", "replace").split())[-400:]
            raise SuiteFailed(f"a server ended with code {self._process.returncode}; it said: {tail}")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _await_port(self) -> int:
        """The port that handfast chose, from the line that announces it."""
        for _ in self._until_deadline():
            announced = re.search(rb"listening on http://[\d.]+:(\d+)\s", self._log.read_bytes())
            if announced:
                return int(announced[1])
        raise SuiteFailed("handfast did not say where it listens")

    def _await_connection(self) -> None:
        for _ in self._until_deadline():
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                continue
            return
        raise SuiteFailed("a server did not listen in time")

    def _until_deadline(self) -> Iterator[None]:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            self.require_alive()
            yield
            time.sleep(_POLL_SECONDS)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def running_direct(folder: Path, program: Sequence[str] = OVER_HTTP) -> Iterator[Server]:
    """The suite's server over HTTP, as it is, or another program that stands for it."""
    port = free_port()
    environment = [f"{name}={value}" for name, value in ENVIRONMENT.items()]
    command = ["env", *environment, str(PYTHON), *program, "--port", str(port), "--log-level", "ERROR"]
    with _stopped(Server(command, folder / f"direct-{port}.log", port=port)) as server:
        yield server


@contextmanager
def running_gateway(entry: Entry, folder: Path) -> Iterator[Server]:
    """`handfast serve` in front of one server, with everything it writes in a folder of its own."""
    own = Path(tempfile.mkdtemp(dir=folder))
    settings = own / "settings.json"
    settings.write_text(json.dumps({"mcpServers": {_NAME: entry}}), "utf-8")
    handfast = str(Path(sys.executable).with_name("handfast"))
    command = [handfast, "serve", "--config", str(settings), "--listen", "127.0.0.1:0", "--state", str(own / "state")]
    with _stopped(Server(command, own / "log")) as server:
        yield server


@contextmanager
def _stopped(server: Server) -> Iterator[Server]:
    try:
        yield server
    finally:
        server.stop()


def entry_of(upstream: Upstream, direct: Server, program: Sequence[str] = OVER_STDIO) -> Entry:
    """The running server, or a program that handfast starts for itself and talks to over stdio."""
    if upstream == "http":
        return {"url": f"http://127.0.0.1:{direct.port}/mcp"}
    return {"command": str(PYTHON), "args": list(program), "env": ENVIRONMENT}


def direct_url(server: Server) -> str:
    # By name, as the suite's check of the Host header wants it.
    return f"http://localhost:{server.port}/mcp"


def gateway_url(server: Server) -> str:
    return f"http://localhost:{server.port}/mcp/{_NAME}"
