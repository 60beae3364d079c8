"""The HTTP edge on a real socket with a handler of the tests' own behind it, and clients that speak in bytes.

with listening(patience=Patience(head=0.2)) as edge, edge.connect() as client:
    client.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
    assert read_answer(client).status == 200
"""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from handfast.gateway.edge.connection_owner import Patience
from handfast.gateway.edge.http_listener import HttpListener
from handfast.gateway.http.exchange import JSON, ClientLeft, HttpExchange, HttpProblem
from handfast.gateway.settings.blocks import Limits
from handfast.turns import Turns
from handfast.wire.replies import error_reply
from tests.gateway.http_servers import LOOPS

LIMIT = 1_000_000
BIG = 8 * 1024 * 1024  # more than the buffers of a socket hold


@dataclass(slots=True)
class Edge:
    address: tuple[str, int]
    noted: list[str] = field(default_factory=list)  # the rules of what was refused
    seen: list[str] = field(default_factory=list)  # the requests that were handed on
    left: list[str] = field(default_factory=list)  # those whose client was noticed to leave
    loop: asyncio.AbstractEventLoop | None = None
    listener: HttpListener | None = None
    gate: threading.Event = field(default_factory=threading.Event)  # what /wait waits for

    @property
    def running(self) -> HttpListener:
        assert self.listener is not None
        return self.listener

    def connect(self, *, receive_buffer: int | None = None) -> socket.socket:
        client = socket.socket()
        if receive_buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(10)
        try:
            client.connect(self.address)
        except OSError:
            client.close()
            raise
        return client

    async def handle(self, http: HttpExchange) -> None:
        self.seen.append(f"{http.method} {http.path}")
        try:
            await self._route(http)
        except HttpProblem as problem:
            self.noted.append(problem.rule)
            await http.respond(problem.status, [JSON], error_reply(None, problem.code, problem.text))
        except ClientLeft:
            self.left.append(http.path)

    async def _route(self, http: HttpExchange) -> None:
        if http.path == "/stream":
            http.start_stream(200, [])
            for chunk in (b"one", b"", b"two"):
                await http.send_chunk(chunk)
            await http.end_stream()
        elif http.path == "/endless":
            http.watch(lambda: self.left.append(http.path))
            http.start_stream(200, [])
            while not http.has_left:
                await http.send_chunk(b"x" * 65536)
                await asyncio.sleep(0)
        elif http.path == "/wait":
            http.watch(lambda: self.left.append(http.path))
            await asyncio.to_thread(self.gate.wait)
            http.unwatch()
            await http.respond(200, [], b"waited")
        elif http.path == "/big":
            await http.respond(200, [], b"b" * BIG)
        elif http.path == "/unread":
            await http.respond(404, [], b"not read")
        else:
            body = await http.read_body(LIMIT)
            names = [f"{name.decode()}={value.decode('latin-1')}" for name, value in http.headers]
            shown = {"target": f"{http.path}?{http.query.decode()}", "headers": names, "body": body.decode("latin-1")}
            await http.respond(200, [JSON], json.dumps(shown).encode())


@contextmanager
def listening(
    *,
    patience: Patience | None = None,
    connections: int = 1024,
    loop: str = "uvloop",
    tick: float = 0.02,
    turns: Turns | None = None,
) -> Iterator[Edge]:
    opened = socket.create_server(("127.0.0.1", 0), backlog=1024)
    edge = Edge(opened.getsockname())
    ready, stop = threading.Event(), asyncio.Event()
    failures: list[BaseException] = []

    async def serve() -> None:
        edge.loop = asyncio.get_running_loop()
        edge.loop.set_exception_handler(lambda _loop, context: failures.append(_failure_of(context)))
        limits = Limits(connections=connections)
        edge.listener = HttpListener(
            edge.handle,
            limits=lambda: limits,
            note=lambda problem: edge.noted.append(problem.rule),
            patience=patience,
            turns=turns,
            tick=tick,
        )
        await edge.listener.start(opened)
        ready.set()
        await stop.wait()
        await edge.listener.close(1)
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert left == [], left
        assert (edge.listener.arriving.total, edge.listener.unread.total) == (0, 0)
        assert (edge.listener.places.senders, edge.listener.heads.total) == (0, 0)

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
                runner.run(serve())
        except BaseException as failure:  # noqa: BLE001 - given to the test below
            failures.append(failure)
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(10)
    try:
        yield edge
    finally:
        assert edge.loop is not None
        edge.gate.set()
        edge.loop.call_soon_threadsafe(stop.set)
        thread.join(30)
    assert failures == [], repr(failures)


def _failure_of(context: dict[str, Any]) -> BaseException:  # Any: as asyncio has it
    return context.get("exception") or AssertionError(context["message"])


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # Any: JSON
        return json.loads(self.body)


def read_answer(client: socket.socket, *, to_head: bool = False) -> Answer:
    """One answer, and not a byte more."""
    head = _read_until(client, lambda found: found.endswith(b"\r\n\r\n"))
    opening, *lines = head.decode("latin-1").split("\r\n")[:-2]
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    status = int(opening.split(" ")[1])
    if to_head or status in (100, 204):
        return Answer(status, headers, b"")
    if "content-length" in headers:
        length = int(headers["content-length"])
        body = b""
        while len(body) < length:
            body += _some(client, length - len(body))
        return Answer(status, headers, body)
    if headers.get("transfer-encoding") == "chunked":
        return Answer(status, headers, _read_until(client, lambda found: found.endswith(b"0\r\n\r\n")))
    return Answer(status, headers, read_to_end(client))


def read_to_end(client: socket.socket) -> bytes:
    found = b""
    while piece := client.recv(65536):
        found += piece
    return found


def _read_until(client: socket.socket, is_over: Callable[[bytes], bool]) -> bytes:
    found = b""
    while not is_over(found):
        found += _some(client, 1)
    return found


def _some(client: socket.socket, most: int) -> bytes:
    piece = client.recv(most)
    assert piece, "the connection ended early"
    return piece
