"""Gateways as processes that a test may signal, stop, kill and talk to in raw bytes; and what they recorded.

with running({"up": stdio(stub)}, tmp_path) as gateway:
    client = gateway.client()
    assert client.call("add").result == {...}
"""

import http.client
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from handfast.activity.query import RecordFilter
from handfast.activity.sqlite import SqliteStore
from handfast.core.call.exchange import Record, RecordType
from tests.contracts.rig import HANDFAST, HttpGateway, Json, WrapGateway, end
from tests.stubs.run import Stub

Found = TypeVar("Found")
Result = TypeVar("Result")
TEXT = '{"content":[{"type":"text","text":"fine"}]}'


def eventually(look: Callable[[], Found], what: str, *, seconds: float = 10) -> Found:
    """What `look` finds once it finds something: other processes write, so there is nothing to be woken by."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.005)
    return found


def at_once(*works: Callable[[], Result]) -> list[Result]:
    """Run them side by side and give what each returned."""
    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(60) for future in [pool.submit(work) for work in works]]


@contextmanager
def meanwhile(work: Callable[[], Result]) -> Iterator["Future[Result]"]:
    """Run something beside the block."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(work)


def read_records(state: Path, **wanted: str) -> list[Record]:
    """The records in the order they were written; `type`, `tool`, `rule` and `server` narrow."""
    kind = wanted.pop("type", None)
    store = SqliteStore.open_existing(state)
    try:
        types = (RecordType(kind),) if kind else ()
        found = store.query(
            RecordFilter(
                types=types,
                tool=wanted.pop("tool", ""),
                rule=wanted.pop("rule", ""),
                server=wanted.pop("server", ""),
            ),
            oldest_first=True,
        )
        assert not wanted
        return [stored.record for stored in found]
    finally:
        store.close()


def one_record(state: Path, **wanted: str) -> Record:
    """The only record of its kind, waited for: plain calls are written behind their replies."""
    (found,) = eventually(lambda: read_records(state, **wanted), f"a record with {wanted}")
    return found


def outcome(state: Path, tool: str) -> tuple[str, str]:
    """How the only call of a tool ended: status and rule."""
    record = one_record(state, type="tool_call", tool=tool)
    return record.status.value, record.rule


def verify(state: Path) -> str:
    """What the command says that users have."""
    command = [*HANDFAST, "activity", "verify", "--state", str(state)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return "intact" if done.returncode == 0 else done.stdout + done.stderr


def stdio(stub: Stub, **entry: Json) -> Json:
    return {"command": stub.command[0], "args": stub.command[1:], **entry}


@dataclass(slots=True)
class Serving:
    """A running `handfast serve`."""

    base: str
    process: "subprocess.Popen[bytes]"
    folder: Path
    errors: list[bytes] = field(default_factory=list)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def config(self) -> Path:
        return self.folder / "handfast.json"

    def client(
        self, server: str = "up", *, is_modern: bool = False, capabilities: Json = None, opens: bool = True
    ) -> HttpGateway:
        """A client with its handshake done."""
        client = HttpGateway(self.base, self.state, server=server, is_modern=is_modern)
        if opens:
            client.open(capabilities)
        return client

    def write_settings(self, settings: Json) -> None:
        """Change the file and have it read at once."""
        whole = settings if isinstance(settings, str) else json.dumps({"start": "lazy", **settings})
        self.config.write_text(whole)
        self.process.send_signal(1)  # SIGHUP

    def health(self) -> tuple[int, Json]:
        response = send(self.base, "GET", "/health")
        return response.status, json.loads(response.body)


@contextmanager
def running(
    servers: Mapping[str, Json],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    leaves_calls: bool = False,
    port: Json = 0,
    **settings: Json,
) -> Iterator[Serving]:
    """`handfast serve` on a free port, its stderr gathered. `leaves_calls`: it is killed, whatever is under way.

    Servers start with their first request where a test says nothing else: most count what theirs was asked.
    """
    config = folder / "handfast.json"
    config.write_text(json.dumps({"mcpServers": servers, "start": "lazy", **settings}))
    command = [*HANDFAST, "serve", "--config", str(config), "--listen", f"127.0.0.1:{port}"]
    command += ["--state", str(folder / "state")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr is not None
        serving = Serving("", process, folder)
        reader = threading.Thread(target=serving.errors.extend, args=(process.stderr,), daemon=True)
        try:
            line = process.stderr.readline()
            assert b"listening on" in line, line + process.stderr.read()
            serving.base = line.split()[-1].decode()
            reader.start()
            yield serving
        finally:
            if leaves_calls:
                process.kill()
            end(process)
        reader.join(10)


@contextmanager
def wrapping(
    command: list[str], folder: Path, *, stderr: int | None = None, opens: bool = True, **settings: Json
) -> Iterator[WrapGateway]:
    """`handfast wrap` around a command, its handshake done."""
    config = folder / "handfast.json"
    config.write_text(json.dumps({"mcpServers": {}, **settings}))
    state = folder / "state"
    flags = ["--name", "up", "--config", str(config), "--state", str(state)]
    with subprocess.Popen(
        [*HANDFAST, "wrap", *flags, "--", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
    ) as process:
        gateway = WrapGateway(process, state, is_modern=False)
        try:
            if opens:
                gateway.open()
            yield gateway
        finally:
            assert process.stdin is not None
            if not process.stdin.closed:
                with suppress(BrokenPipeError):
                    process.stdin.close()
            end(process)


@contextmanager
def started(
    command: list[str],
    *,
    stdin: Json = subprocess.PIPE,
    stdout: Json = None,
    stderr: Json = None,
    env: Mapping[str, str] | None = None,
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that is gone after the block, whatever happens in it."""
    process = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, env=env)
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None and not pipe.closed:
                with suppress(BrokenPipeError, BlockingIOError):
                    pipe.close()


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def error(self) -> Json:
        return json.loads(self.body)["error"]


def send(
    base: str, method: str, path: str, body: bytes | Iterator[bytes] | None = None, headers: Json = None
) -> Response:
    """One HTTP request, whatever it is."""
    address = urlsplit(base)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
    try:
        connection.request(method, path, body, headers or {}, encode_chunked=not isinstance(body, bytes | None))
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, names, response.read())
    finally:
        connection.close()


class OpenPost:
    """A request whose answer is read event by event, or left behind."""

    def __init__(self, client: HttpGateway, message: bytes, *, method: str = "POST") -> None:
        address = urlsplit(client.base)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        headers = {"Mcp-Session-Id": client.session or ""} if method == "GET" else client.headers(message)
        self._connection.request(method, client.path, message or None, headers)
        self._response: http.client.HTTPResponse | None = None

    def set_timeout(self, seconds: float) -> None:
        self._connection.sock.settimeout(seconds)

    @property
    def response(self) -> http.client.HTTPResponse:
        if self._response is None:
            self._response = self._connection.getresponse()
        return self._response

    def next_event(self) -> Json:
        """The data of the next event that has any; None at the end."""
        while line := self.response.readline():
            if line.startswith(b"data: "):
                return json.loads(line.removeprefix(b"data: "))
        return None

    def leave(self) -> None:
        if self._response is not None:
            self._response.close()
        self._connection.close()


def is_running(pid: int) -> bool:
    """Whether a process does anything: one that was ended but not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def pids(stub: Stub) -> list[int]:
    """The processes that this stub was started as, oldest first."""
    return [entry.pid for entry in stub.journal.events("started")]


def request(client_id: object, method: str, **params: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": client_id, "method": method, "params": params}).encode()


def call(client_id: object, tool: str, **more: Json) -> bytes:
    return request(client_id, "tools/call", name=tool, arguments=more.pop("arguments", {}), **more)


def notification(method: str, **params: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()
