"""A server that answers each call with the nonce it was sent, and loses step in a chosen way.

with out_of_step("twice", is_modern=False, is_stream=True) as server:  # over HTTP, on raw sockets
    ... {"mcpServers": {"up": {"url": server.url}}} ...
{"mcpServers": {"up": pipe_out_of_step("twice", is_modern=False)}}  # over a pipe
"""

import asyncio
import json
import os
import sys
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
                    writer.write(self._render(reply_to(message, is_modern=self._is_modern)))
                await writer.drain()
        self._writers.discard(writer)
        writer.close()

    async def _answer_call(self, message: Json, writer: asyncio.StreamWriter) -> bytes:
        self.calls.append(message)
        reply = reply_to(message, is_modern=self._is_modern)
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

    def _render(self, reply: Json) -> bytes:
        data = b"this is no JSON" if reply is None else json.dumps(reply).encode()
        if not self._is_stream:
            return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data) + data
        event = b"event: message\ndata: " + data + b"\n\n"
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        return head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event)


def reply_to(message: Json, *, is_modern: bool) -> Json:
    result: Json
    match message["method"]:
        case "initialize" if not is_modern:
            info = {"name": "out-of-step", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        case "server/discover" if is_modern:
            info = {"name": "out-of-step", "version": "1"}
            result = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            result = {"tools": [TOOL]}
        case "tools/call":
            result = {"content": [{"type": "text", "text": message["params"]["arguments"]["nonce"]}]}
        case _:
            error = {"code": -32601, "message": "there is no such method"}
            return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if is_modern else {}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result | more}


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


def pipe_out_of_step(fault: Fault, *, is_modern: bool) -> Json:
    """The entry of a stdio server, every second call of which meets the fault."""
    return {"command": sys.executable, "args": [__file__, fault, "modern" if is_modern else "legacy"]}


async def serve_pipe(fault: Fault, *, is_modern: bool) -> None:
    """Answer what comes on standard input; `swapped` holds back the answer of a call until the next one is there."""
    lines = await _standard_input()
    calls = 0
    held: list[Json] = []
    async with asyncio.TaskGroup() as group:
        while line := await lines.readline():
            message = json.loads(line)
            if message.get("id") is None:
                continue
            reply = reply_to(message, is_modern=is_modern)
            if message["method"] != "tools/call":
                _write(reply)
                continue
            calls += 1
            if fault == "swapped":
                held.append(reply)
                while held and calls % 2 == 0:
                    _write(held.pop())
            elif calls % 2:
                _write(reply)
            else:
                group.create_task(_misbehave_on_pipe(fault, reply))


async def _misbehave_on_pipe(fault: Fault, reply: Json) -> None:
    match fault:
        case "twice":
            _write(reply)
            _write(reply)
        case "wrong_id":
            _write(reply | {"id": 1})
        case "null_id":
            _write(reply | {"id": None})
        case "no_id":
            _write({key: value for key, value in reply.items() if key != "id"})
        case "no_json":
            sys.stdout.write("this is no JSON\n")
        case "half":
            text = json.dumps(reply)
            sys.stdout.write(text[: len(text) * 3 // 4] + "\n")
        case "late":
            await asyncio.sleep(1.5)  # longer than the calls of the test may take
            _write(reply)
        case "restart":
            sys.stdout.flush()
            os._exit(1)
    sys.stdout.flush()


def _write(reply: Json) -> None:
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


async def _standard_input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


if __name__ == "__main__":
    asyncio.run(serve_pipe(sys.argv[1], is_modern=sys.argv[2] == "modern"))  # type: ignore[arg-type]  # one of FAULTS
