"""What the clients meet: a server over HTTP and the demo, one gateway before both, and command lines with `wrap`."""

import json
import os
import shlex
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clients.install import FOLDER, NODE
from benchmarks.clients.roster import SERVERS, Client
from benchmarks.clients.tap import Tap
from benchmarks.processes import ROOT, BenchFailed, free_port

_EVERYTHING = ROOT / ".parts/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
_HANDFAST = (sys.executable, "-m", "handfast.cli.main")
_STRICT = {"input_validation": {"mode": "strict"}, "output_validation": {"mode": "strict"}}
_START_SECONDS = 30.0
_BOOK = "contacts.db"
# No client may speak with anybody but the servers here.
QUIET = {
    "AGNO_TELEMETRY": "false",
    "ANONYMIZED_TELEMETRY": "false",
    "DO_NOT_TRACK": "1",
    "FASTMCP_CHECK_FOR_UPDATES": "off",
    "LANGCHAIN_TRACING_V2": "false",
    "MCP_USE_ANONYMIZED_TELEMETRY": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that runs, and where it is."""

    folder: Path
    direct_url: str
    own: Tap  # for /mcp/<server>
    all: Tap  # for /mcp

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | QUIET | {"MCP_REMOTE_CONFIG_DIR": str(self.folder / "mcp-remote")}

    def server_command(self, server: str) -> list[str]:
        return [str(NODE), str(_EVERYTHING)] if server == "everything" else contacts_command(self.folder)

    def wrap_command(self, server: str) -> list[str]:
        flags = ["--state", str(self.folder / "wrap"), "--name", server, "--input", "strict", "--output", "strict"]
        return [*_HANDFAST, "wrap", *flags, "--", *self.server_command(server)]

    def take_empty_contacts(self) -> int:
        """How many wrapped contacts got through, which the demo stores as empty rows; and forgets them."""
        with closing(sqlite3.connect(self.folder / _BOOK)) as book, book, suppress(sqlite3.OperationalError):
            return book.execute("DELETE FROM contacts WHERE email = ''").rowcount
        return 0  # the demo has not made its table: nobody called it

    def to_stdio(self, client: Client, url: str) -> list[str]:
        """The bridge as a command that is a server over stdio."""
        return fill_in(client, client.to_stdio, url=url)

    @contextmanager
    def to_http(self, client: Client, command: Sequence[str]) -> Iterator[str]:
        """The bridge in front of a command, as a server over HTTP; gives its URL. Raises: BenchFailed."""
        port = free_port()
        line = fill_in(client, client.to_http, port=str(port), command=command)
        with running(line, self.folder / f"{client.name}.log", self.environment) as process:
            url = f"http://127.0.0.1:{port}/mcp"
            wait_for(url, process, f"{client.title} in front of a command")
            yield url


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """Raises: BenchFailed."""
    with ExitStack() as stack:
        port = free_port()
        environment = os.environ | QUIET | {"PORT": str(port)}
        command = [str(NODE), str(_EVERYTHING), "streamableHttp"]
        everything = stack.enter_context(running(command, folder / "everything.log", environment))
        direct_url = f"http://127.0.0.1:{port}/mcp"
        wait_for(direct_url, everything, "server-everything")
        base = stack.enter_context(gateway(folder, direct_url))
        taps = Tap(base), Tap(base)
        for tap in taps:
            stack.callback(tap.close)
        yield Stage(folder, direct_url, *taps)


@contextmanager
def gateway(folder: Path, everything_url: str) -> Iterator[str]:
    """`handfast serve` before both servers; gives its address. Raises: BenchFailed."""
    python, *arguments = contacts_command(folder)
    entries = dict(zip(SERVERS, ({"url": everything_url}, {"command": python, "args": arguments}), strict=True))
    config = folder / "handfast.json"
    config.write_text(json.dumps({"mcpServers": entries, **_STRICT}), "utf-8")
    options = ["--config", str(config), "--listen", "127.0.0.1:0", "--state", str(folder / "state")]
    log = folder / "gateway.log"
    with running([*_HANDFAST, "serve", *options], log, os.environ | QUIET) as process:
        deadline = time.monotonic() + _START_SECONDS
        while "listening on" not in (said := first_line(log)):
            if process.poll() is not None or time.monotonic() > deadline:
                raise BenchFailed(f"the gateway did not start: {said or 'it said nothing'}")
            time.sleep(0.02)
        yield said.split()[-1]


def first_line(log: Path) -> str:
    """Nothing while it is not whole."""
    line, end, _ = log.read_text("utf-8").partition("\n")
    return line if end else ""


def contacts_command(folder: Path) -> list[str]:
    return [sys.executable, str(ROOT / "examples" / "demo" / "contacts.py"), str(folder / _BOOK)]


def fill_in(client: Client, line: Sequence[str], *, command: Sequence[str] = (), **values: str) -> list[str]:
    """A bridge's command line; `{command}` stands for words of a command, `{line}` for the command as one word."""
    values |= {"folder": str(FOLDER / client.name), "node": str(NODE), "line": shlex.join(command)}
    filled: list[str] = []
    for word in line:
        filled += command if word == "{command}" else [word.format(**values)]
    return filled


@contextmanager
def running(command: Sequence[str], log: Path, environ: dict[str, str]) -> "Iterator[subprocess.Popen[str]]":
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environ, cwd=log.parent, text=True
        )
    try:
        yield process
    finally:
        stop(process)


def stop(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for(url: str, process: "subprocess.Popen[str]", what: str) -> None:
    """Until something answers there. Raises: BenchFailed."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=5)
        except urllib.error.HTTPError:
            return  # it is up, and has no such session to end
        except OSError:
            time.sleep(0.05)
        else:
            return
    ended = f"it ended with code {process.returncode}" if process.returncode is not None else "nothing answers"
    raise BenchFailed(f"{what} did not start: {ended} after {_START_SECONDS - deadline + time.monotonic():.0f} s.")
