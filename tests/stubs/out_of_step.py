"""An HTTP server on raw sockets that answers each call with the nonce it was sent, and loses step in a chosen way.

with out_of_step("twice", is_modern=False, is_stream=True) as server:
    ... {"mcpServers": {"up": {"url": server.url}}} ...
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, Literal, get_args  # Any: decoded JSON

Fault = Literal["twice", "swapped", "wrong_id", "no_id", "null_id", "no_json", "half", "late", "restart"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
Json = Any  # Any: decoded JSON
MODERN = "2026-07-28"
TOOL = {"name": "echo", "inputSchema": {"type": "object", "properties": {"nonce": {"type": "string"}}}}


class OutOfStep:
    """Every second call meets the fault; whatever else is asked is answered as it should be."""

    def __init__(self, fault: Fault, *, is_modern: bool, is_stream: bool) -> None:
        self.fault = fault
        self.url = ""
        self.calls: list[Json] = []  # as they arrived
        self.faults = 0
        self.connections = 0
        self._is_modern = is_modern
        self._is_stream = is_stream
        self._waiting: list[tuple[Json, asyncio.Future[Json]]] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._ending = asyncio.Event()

    async def run(self, is_ready: "Future[asyncio.Event]") -> None:
        """Serve until the event that `is_ready` is given is set."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        is_ready.set_result(self._ending)
        await self._ending.wait()
        server.close()
        self._drop_all()

    def _drop_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        surplus = b""  # an answer too many, sent once the next request is here
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                method, message = await _read_request(reader)
                writer.write(surplus)
                surplus = b""
                if method != "POST" or message.get("id") is None:
                    status = b"202 Accepted" if method == "POST" else b"405 Method Not Allowed"
                    writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
                elif message["method"] == "tools/call":
                    surplus = await self._answer_call(message, writer)
                else:
                    writer.write(self._render(self._reply(message)))
                await writer.drain()
        self._writers.discard(writer)
        writer.close()

    async def _answer_call(self, message: Json, writer: asyncio.StreamWriter) -> bytes:
        self.calls.append(message)
        reply = self._reply(message)
        if self.fault == "swapped":
            reply = await self._swap(reply)
        elif len(self.calls) % 2 == 0:
            self.faults += 1
            return await self._misbehave(reply, writer)
        writer.write(self._render(reply))
        return b""

    async def _swap(self, reply: Json) -> Json:
        """Two calls that are under way get each other's answer."""
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting.append((reply, answer))
        if len(self._waiting) == 2:
            (first, to_first), (second, to_second) = self._waiting
            self._waiting = []
            self.faults += 2
            to_first.set_result(second)
            to_second.set_result(first)
        return await answer

    async def _misbehave(self, reply: Json, writer: asyncio.StreamWriter) -> bytes:
        raw = self._render(reply)
        match self.fault:
            case "twice":
                writer.write(raw)
                return raw
            case "wrong_id":
                writer.write(self._render(reply | {"id": 1}))
            case "null_id":
                writer.write(self._render(reply | {"id": None}))
            case "no_id":
                writer.write(self._render({key: value for key, value in reply.items() if key != "id"}))
            case "no_json":
                writer.write(self._render(None))
            case "half":
                writer.write(raw[: -len(raw) // 4])
                writer.write_eof()
            case "late":
                with suppress(TimeoutError):
                    async with asyncio.timeout(1.5):  # longer than the calls of the test may take
                        await self._ending.wait()
                writer.write(raw)
            case "restart":
                self._drop_all()
        return b""

    def _reply(self, message: Json) -> Json:
        result: Json
        match message["method"]:
            case "initialize" if not self._is_modern:
                info = {"name": "out-of-step", "version": "1"}
                result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            case "server/discover" if self._is_modern:
                info = {"name": "out-of-step", "version": "1"}
                result = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                result = {"tools": [TOOL]}
            case "tools/call":
                result = {"content": [{"type": "text", "text": message["params"]["arguments"]["nonce"]}]}
            case _:
                error = {"code": -32601, "message": "there is no such method"}
                return {"jsonrpc": "2.0", "id": message["id"], "error": error}
        more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if self._is_modern else {}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result | more}

    def _render(self, reply: Json) -> bytes:
        data = b"this is no JSON" if reply is None else json.dumps(reply).encode()
        if not self._is_stream:
            return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data) + data
        event = b"event: message\ndata: " + data + b"\n\n"
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        return head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event)


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, Json]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    body = await reader.readexactly(length)
    return head.split(b" ")[0].decode(), json.loads(body) if body else {}


@contextmanager
def out_of_step(fault: Fault, *, is_modern: bool, is_stream: bool) -> Iterator[OutOfStep]:
    server = OutOfStep(fault, is_modern=is_modern, is_stream=is_stream)
    loops: Future[asyncio.AbstractEventLoop] = Future()
    ready: Future[asyncio.Event] = Future()

    async def main() -> None:
        loops.set_result(asyncio.get_running_loop())
        await server.run(ready)

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    ending = ready.result(10)
    try:
        yield server
    finally:
        loops.result().call_soon_threadsafe(ending.set)
        thread.join(10)
