"""The servers behind the gateway: they keep the exact bytes they got, and answer a planned call with exact bytes."""

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.promises import GOOD_RESULTS, PROBE, TOOLS_TEXT, Json
from tests.stubs.script import MODERN, Request, Script, compact, refusal

ID = b"@ID@"  # stands in a planned answer where the id of the request goes
LEGACY_VERSIONS = ["2025-06-18", "2025-11-25"]
_PUPPET = Path(__file__).with_name("puppet.py")
RESCUE_CODE = -32099
_PLANNED = ("tools/call", "tasks/result", "tasks/get", "tasks/update", "tasks/cancel")


@dataclass(frozen=True, slots=True)
class Got:
    """One thing that reached a server: a line with its end, or a request with its head."""

    body: bytes
    head: bytes = b""

    @property
    def is_http(self) -> bool:
        return bool(self.head)


@dataclass(frozen=True, slots=True)
class Plan:
    """How the next call is answered. Over stdio only `pieces` count; each is written at once."""

    pieces: tuple[bytes, ...]
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ((b"Content-Type", b"application/json"),)
    is_chunked: bool = False

    @property
    def data(self) -> bytes:
        return b"".join(self.pieces)


@dataclass(slots=True)
class Upstream:
    """One server, whatever carries its messages."""

    name: str
    is_modern: bool
    script: Script
    got: list[Got] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)  # planned answers, with the request's id in them
    plan: Plan | None = None
    sessions: int = 0
    called: object = None  # the id of the last call, which a resumed stream answers

    def take_plan(self, request: Request) -> Plan | None:
        """The plan for the call of a case, or for the result of a task; a plan is used once."""
        if self.plan is None or request.method not in _PLANNED or request.params.get("name") == PROBE:
            return None
        self.called = request.id
        return self.use_plan(self.plan)

    def use_plan(self, plan: Plan) -> Plan:
        """The plan with the id of the call in it."""
        self.plan = None
        request_id = compact(self.called)
        pieces = tuple(piece.replace(ID, request_id) for piece in plan.pieces)
        self.sent.append(b"".join(pieces))
        return Plan(pieces, plan.status, plan.headers, plan.is_chunked)

    def reply(self, request: Request) -> bytes:
        """What a well-behaved server says."""
        try:
            reply = self.script.reply(request).message
        except ValueError:  # a cursor that it did not give
            reply = refusal(request, -32602, "Invalid cursor").message
        self.sent.append(reply)
        return reply


def read_request(text: bytes) -> Request:
    """The message as the laxest of servers would take it, only to know what is to be answered."""
    try:
        found: Json = json.loads(text.decode(errors="replace"), strict=False)
    except (ValueError, RecursionError):
        found = None
    return Request(found if isinstance(found, dict) else {})


def write_script(folder: Path, name: str, *, is_modern: bool) -> Script:
    spec = folder / f"{name}.json"
    start = '{"resultType":"complete","content":[{"type":"text","text":"fine"}],"structuredContent":'
    answers = {tool: {"result": f"{start}{text}}}"} for tool, text in GOOD_RESULTS.items()}
    answers[PROBE] = {"result": '{"resultType":"complete","content":[{"type":"text","text":"alive"}]}'}
    versions = [MODERN] if is_modern else LEGACY_VERSIONS
    content = {"journal": str(folder / "journal"), "tools": TOOLS_TEXT, "answers": answers, "versions": versions}
    # Nothing is announced, so nobody listens for it, and a case is the only thing that goes on.
    spec.write_text(json.dumps({**content, "capabilities": {"tools": {}}}))
    return Script(spec)


class Upstreams:
    """Every server of a stage, in this process: behind a socket for stdio, behind a port for HTTP."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._by_name: dict[str, Upstream] = {}
        self._socket = folder / "puppets.sock"
        self.port = 0
        self._servers: list[asyncio.Server] = []
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._servers.append(await asyncio.start_unix_server(self._serve_puppet, self._socket))
        server = await asyncio.start_server(self._serve_http, "127.0.0.1", 0)
        self._servers.append(server)
        self.port = server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for writer in tuple(self._writers):
            writer.transport.abort()

    def add(self, name: str, *, is_modern: bool) -> Upstream:
        script = write_script(self._folder, name, is_modern=is_modern)
        self._by_name[name] = Upstream(name, is_modern, script)
        return self._by_name[name]

    def command(self, name: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(_PUPPET), str(self._socket), name]

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    # --- stdio -----------------------------------------------------------------------------------------------------

    async def _serve_puppet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        upstream = self._by_name[(await reader.readline()).strip().decode()]
        buffer = b""
        while data := await reader.read(65536):
            buffer += data
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                self._answer_line(upstream, line, writer.write)
        self._writers.discard(writer)
        writer.close()

    def _answer_line(self, upstream: Upstream, line: bytes, write: Callable[[bytes], None]) -> None:
        upstream.got.append(Got(line + b"\n"))
        request = read_request(line)
        if not request.wants_answer:
            return
        plan = upstream.take_plan(request)
        if plan is None:
            write(upstream.reply(request) + b"\n")
            return
        for piece in plan.pieces:
            write(piece)
        # A call whose planned answer is none would stay open: it gets one that can be told from all others.
        error = {"code": RESCUE_CODE, "message": "rescue"}
        write(b"\n" + compact({"jsonrpc": "2.0", "id": request.id, "error": error}) + b"\n")

    # --- HTTP ------------------------------------------------------------------------------------------------------

    async def _serve_http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(length_in(head))
                path = head.split(b" ", 2)[1].decode().strip("/")
                await self._answer_http(self._by_name[path], Got(body, head), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except RuntimeError:
            assert writer.transport.is_closing()  # uvloop's word for a connection that the other side closed
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer_http(self, upstream: Upstream, got: Got, writer: asyncio.StreamWriter) -> None:
        method = got.head.split(b" ", 1)[0]
        if method == b"GET" and upstream.plan is not None:
            await send_plan(upstream.use_plan(upstream.plan), writer)
            return
        if method != b"POST":
            status = 405 if method == b"GET" else 200
            writer.write(b"HTTP/1.1 %d x\r\nContent-Length: 0\r\n\r\n" % status)
            return
        upstream.got.append(got)
        request = read_request(got.body)
        if not request.wants_answer:
            writer.write(b"HTTP/1.1 202 x\r\nContent-Length: 0\r\n\r\n")
            return
        plan = upstream.take_plan(request)
        if plan is not None:
            await send_plan(plan, writer)
            return
        session = b""
        if request.method == "initialize" and not upstream.is_modern:
            upstream.sessions += 1
            session = b"Mcp-Session-Id: s-%d\r\n" % upstream.sessions
        body = upstream.reply(request)
        kind = b"Content-Type: application/json\r\n"
        writer.write(b"HTTP/1.1 200 x\r\n%b%bContent-Length: %d\r\n\r\n%b" % (kind, session, len(body), body))


async def send_plan(plan: Plan, writer: asyncio.StreamWriter) -> None:
    head = b"HTTP/1.1 %d x\r\n" % plan.status + b"".join(b"%b: %b\r\n" % header for header in plan.headers)
    if plan.status in (204, 304):
        writer.write(head + b"\r\n")
        return
    if not plan.is_chunked:
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(plan.data) + plan.data)
        return
    writer.write(head + b"Transfer-Encoding: chunked\r\n\r\n")
    for piece in plan.pieces:
        if piece:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await asyncio.sleep(0)  # so that a piece is a piece on the other side too, more often than not
    writer.write(b"0\r\n\r\n")


def length_in(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0
