"""Real MCP servers and clients out of .parts: command lines for the servers, drivers for the clients.

Tests ask for the fixture `parts`, which installs them first. Each server command line is complete as it stands:
it needs no environment and no working directory.
"""

import fcntl
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal  # Any: results as the clients print them

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".parts"
NODE = FOLDER / "node" / "node"
PYTHON = FOLDER / "py" / "bin" / "python"
OLD = FOLDER / "old"
_OFFICIAL = FOLDER / "node" / "node_modules" / "@modelcontextprotocol"
# package.json puts a small package in the place of rolldown, which only the inspector's browser page is built with.
INSPECTOR = _OFFICIAL / "inspector" / "clients" / "launcher" / "build" / "index.js"

Mode = Literal["auto", "legacy", "2026-07-28"]
Sdk = Literal["py", "fastmcp", "ts", "ts1"]
Target = str | Sequence[str]  # a URL, or a command line to talk to over stdio
Json = dict[str, Any]  # Any: as the name says
Outcome = dict[str, Any]  # Any: {"result": JSON} or {"error": {"code": …, "message": …}}
Session = dict[str, Any]  # Any: {"target": Target, "mode": Mode, "answers": bool, "steps": [JSON]}


class PartMissing(Exception):
    """A real part that cannot be had on this machine."""


def install(script: str = "parts") -> None:
    """Run the script that installs some of them, one process at a time. Raises: PartMissing."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([ROOT / "scripts" / script], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PartMissing(f"scripts/{script} failed: {' '.join(done.stderr.split())[-300:]}")


def is_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def without_part(reason: str) -> None:
    """Skip this test because a part is missing; in CI every part must be there, so it fails."""
    if is_ci():
        pytest.fail(f"missing part: {reason}", pytrace=False)
    pytest.skip(f"missing part: {reason}")


def npm_server(name: str, *arguments: str) -> list[str]:
    script = _OFFICIAL / f"server-{name}" / "dist" / "index.js"
    return [str(NODE), str(script), *arguments]


class Parts:
    """What is installed."""

    @property
    def everything(self) -> list[str]:
        return npm_server("everything")

    @property
    def time(self) -> list[str]:
        """The one server here that speaks both eras; what comes first on its connection decides."""
        return [str(PYTHON), "-m", "mcp_server_time", "--local-timezone", "UTC"]

    def old(self, folder: Path) -> Mapping[str, list[str]]:
        """Servers on SDKs of 2024 and 2025 (mcp 1.0.0, 1.2.0, 1.4.1 and 1.6.0), by name."""
        return {
            "sqlite": [str(OLD / "sqlite/bin/mcp-server-sqlite"), "--db-path", str(folder / "old.db")],
            "fetch": [str(OLD / "fetch/bin/mcp-server-fetch")],
            "shell": ["env", "ALLOW_COMMANDS=ls", str(OLD / "shell/bin/mcp-shell-server")],
            "time": [str(OLD / "time/bin/mcp-server-time"), "--local-timezone", "UTC"],
        }

    def memory(self, file: Path) -> list[str]:
        """The knowledge graph, kept in a file of the test's own."""
        return ["env", f"MEMORY_FILE_PATH={file}", *npm_server("memory")]

    def filesystem(self, *folders: Path) -> list[str]:
        return npm_server("filesystem", *map(str, folders))

    @contextmanager
    def everything_over_http(self, transport: Literal["streamableHttp", "sse"] = "streamableHttp") -> Iterator[str]:
        """server-everything over Streamable HTTP with SSE answers, or the transport before it; gives its URL."""
        port = free_port()
        command = ["env", f"PORT={port}", *npm_server("everything", transport)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                wait_for_port(port, process)
                yield f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"
            finally:
                process.kill()

    @contextmanager
    def express(self, journal: Path) -> Iterator[str]:
        """A server with Express 4 and its own reader of bodies, which writes down what it read; gives its URL."""
        port = free_port()
        command = [str(NODE), str(ROOT / "tests" / "parts" / "express_server.mjs"), str(port), str(journal)]
        with subprocess.Popen(command) as process:
            try:
                wait_for_port(port, process)
                yield f"http://127.0.0.1:{port}/mcp"
            finally:
                process.kill()

    @contextmanager
    def authorization_server(self, scopes: str) -> Iterator[str]:
        """oidc-provider, which gives tokens for any resource; gives its URL, which is also the issuer's name."""
        port = free_port()
        command = [str(NODE), str(ROOT / "tests" / "parts" / "provider.mjs"), str(port), scopes]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                wait_for_port(port, process)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.kill()

    def oauth_client(
        self,
        client: str,
        url: str,
        who: str,
        tools: Sequence[str],
        *,
        mode: str = "auto",
        known_as: str = "",
        bearer: str = "",
    ) -> list[Json]:
        """Drive a client that signs in by OAuth, or has a token; what each call gave, and what was asked for."""
        here = ROOT / "tests" / "parts"
        driver = (
            [str(PYTHON), str(here / "oauth_client.py")]
            if client == "py"
            else [str(NODE), str(here / "oauth_client.mjs")]
        )
        flags = ["--mode", mode, *(["--client", known_as] if known_as else [])]
        done = subprocess.run(
            [*driver, *flags, url, who, *tools],
            capture_output=True,
            timeout=90,
            check=False,
            env={**os.environ, "BEARER": bearer},
        )
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        return [json.loads(line) for line in done.stdout.splitlines()]

    def sessions(self, sdk: Sdk, wanted: Sequence[Session]) -> list[list[Outcome]]:
        """Run whole sessions one after the other in one process of a client; the outcomes of each."""
        done = subprocess.run(
            client_command(sdk), input=json.dumps(wanted).encode(), capture_output=True, timeout=300, check=False
        )
        reports = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(reports) == len(wanted), f"the client ended early: {done.stderr.decode()[-2000:]}"
        return reports

    def ts_client(
        self, target: Target, steps: Sequence[object], *, sdk: Literal[1, 2] = 2, mode: Mode = "auto"
    ) -> list[Outcome]:
        """Drive the TypeScript client: 2.x of `client`, or 1.x of `sdk`, which knows only the 2025 revisions."""
        return drive([*client_command("ts" if sdk == 2 else "ts1"), "--mode", mode], target, steps)

    def py_client(self, target: Target, steps: Sequence[object], *, mode: Mode = "auto") -> list[Outcome]:
        """Drive the Python client."""
        return drive([*client_command("py"), "--mode", mode], target, steps)

    def httpx_sse(self, requests: Sequence[Outcome]) -> list[list[str]]:
        """What httpx-sse reads in the answer to each request: the data of its events."""
        command = [str(PYTHON), str(ROOT / "tests" / "parts" / "httpx_sse_client.py")]
        done = subprocess.run(
            command, input=json.dumps(requests).encode(), capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return [json.loads(line) for line in done.stdout.splitlines()]


def client_command(sdk: Sdk) -> list[str]:
    """The process that drives a client; what it reads and prints is said in its file."""
    python = [str(PYTHON), str(ROOT / "tests" / "parts" / "py_client.py")]
    node = [str(NODE), str(ROOT / "tests" / "parts" / "ts_client.mjs")]
    commands: dict[Sdk, list[str]] = {
        "py": [*python, "--sdk", "mcp"],
        "fastmcp": [*python, "--sdk", "fastmcp"],
        "ts": [*node, "--sdk", "2"],
        "ts1": [*node, "--sdk", "1"],
    }
    return commands[sdk]


def drive(driver: list[str], target: Target, steps: Sequence[object]) -> list[Outcome]:
    """One outcome per step; a single error if it could not even connect."""
    words = [target] if isinstance(target, str) else ["--stdio", *target]
    done = subprocess.run(
        [*driver, *words], input=json.dumps(steps).encode(), capture_output=True, timeout=60, check=False
    )
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert outcomes or not steps, f"the client printed nothing: {done.stderr.decode()[-2000:]}"
    return outcomes


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[bytes], *, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, "the server ended before it listened"
            assert time.monotonic() < deadline, "the server never listened"
            time.sleep(0.02)  # the server has no way to say that it listens
        else:
            return
