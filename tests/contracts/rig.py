"""A gateway of each kind in front of the scripted upstream, driven in raw bytes: the same cases run through all.

with rig("http-sse", stub, tmp_path, {"output_validation": {"mode": "strict"}}) as gateway:
    answer = gateway.call("add", b'{"a": 1}')
    assert answer.raw == ...
assert gateway.records(tool="add") == [...]
"""

import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
            params["_meta"] = MODERN_META
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}

    def call(self, tool: str, arguments: bytes | Json = b"{}") -> Answer:
        """A tools/call whose arguments are exactly these bytes."""
        text = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
        meta = b',"_meta":' + json.dumps(MODERN_META).encode() if self.is_modern else b""
        head = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":' % next(self._ids)
        return self.exchange(head + json.dumps(tool).encode() + b',"arguments":' + text + meta + b"}}")

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
        self.strays: list[bytes] = []  # notifications and requests of the server's

    def send(self, message: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(message + b"\n")
        self.process.stdin.flush()

    def exchange(self, message: bytes) -> Answer:
        self.send(message)
        return self.answer_to(json.loads(message)["id"])

    def answer_to(self, request_id: Json) -> Answer:
        while request_id not in self._waiting:
            line = self.read_line()
            message = json.loads(line)
            if "method" in message:
                self.strays.append(line)
            else:
                self._waiting[message.get("id")] = line
        return Answer(self._waiting.pop(request_id))

    def read_line(self) -> bytes:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
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
            if "name" in body["params"]:
                headers["Mcp-Name"] = body["params"]["name"]
        return headers

    def post(self, message: bytes, headers: dict[str, str] | None = None) -> Answer:
        address = urlsplit(self.base)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        try:
            connection.request("POST", self.path, message, self.headers(message) if headers is None else headers)
            response = connection.getresponse()
            self.session = response.getheader("Mcp-Session-Id") or self.session
            body = response.read()
            if (response.getheader("Content-Type") or "").startswith("text/event-stream"):
                body = answer_in(body)
            return Answer(body, response.status)
        finally:
            connection.close()


def answer_in(stream: bytes) -> bytes:
    """The data of the event that carries the answer."""
    for event in stream.replace(b"\r\n", b"\n").split(b"\n\n"):
        data = b"\n".join(line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:"))
        if data and b"method" not in json.loads(data.decode(errors="surrogateescape"), strict=False):
            return data
    return b""


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
) -> Iterator[Gateway]:
    """A gateway in front of the stub, its handshake done. `settings` are our blocks, `server` the entry's own block."""
    state = folder / "state"
    config = folder / "handfast.json"
    if route == "wrap":
        # The wrapped server is known by the name `up` in the file, so that its own block holds here too.
        entry = {"command": stub.command[0], "args": stub.command[1:], "handfast": server or {}}
        config.write_text(json.dumps({"mcpServers": {"up": entry}, **(settings or {})}))
        command = [
            *HANDFAST,
            "wrap",
            "--name",
            "up",
            "--config",
            str(config),
            "--state",
            str(state),
            "--",
            *stub.command,
        ]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
            gateway = WrapGateway(process, state, is_modern=is_modern)
            try:
                gateway.open()
                yield gateway
            finally:
                assert process.stdin is not None
                process.stdin.close()
                end(process)
        return
    if route == "stdio":
        entry = {"command": stub.command[0], "args": stub.command[1:], "handfast": server or {}}
        with serve({"mcpServers": {"up": entry}, **(settings or {})}, folder, environment=environment) as base:
            http_gateway = HttpGateway(base, state, is_modern=is_modern)
            http_gateway.open()
            yield http_gateway
        return
    with serving(stub, route) as url:
        entry = {"url": url, "handfast": server or {}}
        with serve({"mcpServers": {"up": entry}, **(settings or {})}, folder, environment=environment) as base:
            http_gateway = HttpGateway(base, state, is_modern=is_modern)
            http_gateway.open()
            yield http_gateway


@contextmanager
def serve(settings: Json, folder: Path, *, environment: dict[str, str] | None = None) -> Iterator[str]:
    """`handfast serve` on a free port; gives its address."""
    config = folder / "handfast.json"
    config.write_text(json.dumps(settings))
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
