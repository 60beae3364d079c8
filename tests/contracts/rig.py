"""A gateway of each kind in front of the scripted upstream, driven in raw bytes: the same cases run through all.

with rig("http-sse", stub, tmp_path, {"output_validation": {"mode": "strict"}}) as gateway:
    answer = gateway.call("add", b'{"a": 1}')
    assert answer.raw == ...
assert gateway.records(tool="add") == [...]
"""

import http.client
import json
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from tests.stubs.run import Stub, serving

HANDFAST = [sys.executable, "-m", "handfast.cli.main"]
Route = Literal["wrap", "stdio", "http-json", "http-sse"]
ROUTES: tuple[Route, ...] = get_args(Route)
Json = Any  # Any: decoded JSON
EVENTS = "text/event-stream"
ANSWER_SECONDS = 15.0  # for what is answered in milliseconds; the machine may be busy
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "rig", "version": "1"},
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as it arrived; `raw` is the JSON-RPC message, byte for byte."""

    raw: bytes
    status: int = 200

    @property
    def message(self) -> Json:
        return json.loads(self.raw)

    @property
    def result(self) -> Json:
        return self.message["result"]

    @property
    def text(self) -> str:
        """The text an agent reads: of the first block, or of the error."""
        message = self.message
        if "error" in message:
            return str(message["error"]["message"])
        return str(message["result"]["content"][0]["text"])

    @property
    def is_error(self) -> bool:
        return "error" in self.message or self.result.get("isError") is True


class Gateway:
    """What every kind of gateway has in common."""

    def __init__(self, state: Path, *, is_modern: bool = False) -> None:
        self.state = state
        self.is_modern = is_modern
        self.strays: list[bytes] = []  # notifications and requests of the server's, beside answers
        self._ids = count(1)

    def exchange(self, message: bytes) -> Answer:
        """Send one request and give its answer."""
        raise NotImplementedError

    def send(self, message: bytes) -> None:
        """Send something that gets no answer."""
        raise NotImplementedError

    def open(self, capabilities: Json = None) -> Answer | None:
        """The handshake of the legacy revisions; modern clients need none."""
        if self.is_modern:
            return None
        answer = self.request(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities or {},
                "clientInfo": {"name": "rig", "version": "1"},
            },
        )
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer

    def request(self, method: str, params: Json = None) -> Answer:
        return self.exchange(json.dumps(self.render(method, params)).encode())

    def render(self, method: str, params: Json = None) -> Json:
        params = dict(params or {})
        if self.is_modern:
            params["_meta"] = dict(MODERN_META)  # a test may add to it
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}

    def call(self, tool: str, arguments: bytes | Json = b"{}") -> Answer:
        """A tools/call whose arguments are exactly these bytes."""
        text = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
        meta = b',"_meta":' + json.dumps(MODERN_META).encode() if self.is_modern else b""
        head = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":' % next(self._ids)
        return self.exchange(head + json.dumps(tool).encode() + b',"arguments":' + text + meta + b"}}")

    def next_id(self) -> int:
        """For a message that a test writes itself."""
        return next(self._ids)

    def list_tools(self) -> Json:
        return self.request("tools/list").result["tools"]

    def records(self, **filters: str) -> list[Json]:
        """The activity records, newest first, through the command that users have."""
        flags = [part for name, value in filters.items() for part in (f"--{name}", value)]
        command = [*HANDFAST, "activity", "list", "-o", "json", "--limit", "100000", "--state", str(self.state), *flags]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)  # type: ignore[no-any-return]  # JSON

    def decisions(self, tool: str) -> list[Json]:
        return self.records(tool=tool, type="policy_decision")


class WrapGateway(Gateway):
    def __init__(self, process: "subprocess.Popen[bytes]", state: Path, *, is_modern: bool) -> None:
        super().__init__(state, is_modern=is_modern)
        self.process = process
        self._waiting: dict[Json, bytes] = {}
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        # A thread of its own reads, so that a gateway that owes an answer fails one test and not the whole run.
        threading.Thread(target=self._read_all, daemon=True).start()

    def send(self, message: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(message + b"\n")
        self.process.stdin.flush()

    def exchange(self, message: bytes) -> Answer:
        self.send(message)
        return self.answer_to(json.loads(message)["id"])

    def answer_to(self, request_id: Json) -> Answer:
        while request_id not in self._waiting and None not in self._waiting:
            line = self.read_line()
            message = envelope(line)
            if "method" in message:
                self.strays.append(line)
            else:
                self._waiting[message.get("id")] = line
        # What could not be read at all is answered without an id.
        return Answer(self._waiting.pop(request_id if request_id in self._waiting else None))

    def _read_all(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def read_line(self) -> bytes:
        try:
            line = self._lines.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            raise TimeoutError("the wrapper owes an answer") from None
        if not line:
            raise EOFError("the wrapper closed its output")
        return line.removesuffix(b"\n")


class HttpGateway(Gateway):
    def __init__(self, base: str, state: Path, *, server: str = "up", is_modern: bool) -> None:
        super().__init__(state, is_modern=is_modern)
        self.base = base
        self.path = f"/mcp/{server}"
        self.session: str | None = None

    def send(self, message: bytes) -> None:
        self.post(message)

    def exchange(self, message: bytes) -> Answer:
        return self.post(message)

    def headers(self, message: bytes) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session is not None:
            headers["Mcp-Session-Id"] = self.session
        if self.is_modern:
            body = json.loads(message)
            headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": body["method"]}
            name = body["params"].get("name", body["params"].get("uri"))
            if name is not None:
                headers["Mcp-Name"] = name
        return headers

    def listening_headers(self) -> dict[str, str]:
        return {"Accept": EVENTS, "Mcp-Session-Id": self.session or ""}

    @contextmanager
    def listening(self) -> Iterator[http.client.HTTPResponse]:
        """Hold the client's own stream open, so that what the server announces can pass."""
        address = urlsplit(self.base)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", self.path, headers=self.listening_headers())
            yield connection.getresponse()
        finally:
            connection.close()

    def post(self, message: bytes, headers: dict[str, str] | None = None) -> Answer:
        address = urlsplit(self.base)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=ANSWER_SECONDS)
        try:
            connection.request("POST", self.path, message, self.headers(message) if headers is None else headers)
            response = connection.getresponse()
            self.session = response.getheader("Mcp-Session-Id") or self.session
            body = response.read()
            if (response.getheader("Content-Type") or "").startswith(EVENTS):
                self.strays += [data for data in events_in(body) if "method" in envelope(data)]
                body = answer_in(body)
            return Answer(body, response.status)
        finally:
            connection.close()


def answer_in(stream: bytes) -> bytes:
    """The data of the event that carries the answer."""
    return next((data for data in events_in(stream) if "method" not in envelope(data)), b"")


def events_in(stream: bytes) -> Iterator[bytes]:
    """The data of each event that has some."""
    for event in stream.replace(b"\r\n", b"\n").split(b"\n\n"):
        data = b"\n".join(line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:"))
        if data:
            yield data


_PLAIN_ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":([0-9]+),"(?:result|error)":')


def envelope(text: bytes) -> Json:
    """The message, or only its id where that is plain: a result may hold what Python's own reader refuses."""
    if plain := _PLAIN_ANSWER.match(text):
        return {"id": int(plain[1])}
    return json.loads(text.decode(errors="surrogateescape"), strict=False)


@contextmanager
def rig(
    route: Route,
    stub: Stub,
    folder: Path,
    settings: Json = None,
    *,
    server: Json = None,
    is_modern: bool = False,
    environment: dict[str, str] | None = None,
    url: str | None = None,
) -> Iterator[Gateway]:
    """A gateway in front of the stub, its handshake done. `settings` are our blocks, `server` the entry's own block.

    Over HTTP the stub is started too, unless the `url` of a running one is given.
    """
    state = folder / "state"
    config = folder / "handfast.json"
    if route == "wrap":
        # The wrapped server is known by the name `up` in the file, so that its own block holds here too.
        entry = {"command": stub.command[0], "args": stub.command[1:], "handfast": server or {}}
        config.write_text(json.dumps({"mcpServers": {"up": entry}, **(settings or {})}))
        with wrap(["--", *stub.command], folder, environment=environment) as process:
            gateway = WrapGateway(process, state, is_modern=is_modern)
            gateway.open()
            yield gateway
        return
    if route == "stdio":
        entry = {"command": stub.command[0], "args": stub.command[1:], "handfast": server or {}}
        with serve({"mcpServers": {"up": entry}, **(settings or {})}, folder, environment=environment) as base:
            http_gateway = HttpGateway(base, state, is_modern=is_modern)
            http_gateway.open()
            yield http_gateway
        return
    with serving(stub, route) if url is None else nullcontext(url) as address:
        entry = {"url": address, "handfast": server or {}}
        with serve({"mcpServers": {"up": entry}, **(settings or {})}, folder, environment=environment) as base:
            http_gateway = HttpGateway(base, state, is_modern=is_modern)
            http_gateway.open()
            yield http_gateway


@contextmanager
def wrap(
    server: list[str], folder: Path, *, environment: dict[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """`handfast wrap` around the server that the last arguments name, under the settings in the folder."""
    flags = ["--name", "up", "--config", str(folder / "handfast.json"), "--state", str(folder / "state")]
    command = [*HANDFAST, "wrap", *flags, *server]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            end(process)


@contextmanager
def serve(settings: Json, folder: Path, *, environment: dict[str, str] | None = None) -> Iterator[str]:
    """`handfast serve` on a free port, its servers started with their first request; gives its address."""
    config = folder / "handfast.json"
    config.write_text(json.dumps({"start": "lazy", **settings}))
    command = [*HANDFAST, "serve", "--config", str(config), "--listen", "127.0.0.1:0", "--state", str(folder / "state")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            if b"listening on" not in line:
                raise RuntimeError((line + process.stderr.read()).decode())
            # What follows is kept moving, or a full pipe would stop the gateway.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield line.split()[-1].decode()
        finally:
            end(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ask it to stop, and insist."""
    try:
        process.wait(0.5 if process.stdin is not None else 0)
    except subprocess.TimeoutExpired:
        process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
