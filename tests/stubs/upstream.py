"""A scripted MCP server for faults that real servers do not produce, over stdio, Streamable HTTP or HTTP with SSE.

python -m tests.stubs.upstream stdio|sse|http-json|http-sse SPEC.json, or the same by this file's path.
Over HTTP it prints `PORT 12345` once it listens. tests/stubs/script.py describes SPEC.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # started by path, `tests` is not importable otherwise

from tests.stubs.event_stream import EventServer
from tests.stubs.perform import announce, perform
from tests.stubs.script import Request, Script, Step, compact
from tests.stubs.streamable import Streamable


class Stdio:
    """One message per line on stdin and stdout."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._writing = asyncio.Lock()
        self._handshaken = False
        self._hears = asyncio.Event()
        self._hears.set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            self._script.note(line, headers={})
            await self._take(line)
            await asyncio.sleep(0)  # so that an answer which makes it deaf is begun
            await self._hears.wait()
        if self._script.stubborn:
            await asyncio.get_running_loop().create_future()
        os._exit(0)  # stdin has ended; whatever is still slow or silent ends with it

    async def broadcast(self, message: bytes) -> None:
        if self._handshaken:
            await self._write(message + self._script.newline)

    async def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            error = {"code": -32700, "message": "Parse error"}
            await self._write(compact({"jsonrpc": "2.0", "id": None, "error": error}) + self._script.newline)
            return
        request = Request(message if isinstance(message, dict) else {})
        self._handshaken = self._handshaken or request.method == "initialize"
        if "method" not in request.message:
            self._script.take_answer(request.message)
        elif request.wants_answer:
            task = asyncio.create_task(self._answer(request))
            self._tasks.add(task)
            task.add_done_callback(self._finish)

    async def _answer(self, request: Request) -> None:
        async for step in perform(self._script, request, self._script.reply(request)):
            await self._carry_out(step)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if (error := task.exception()) is not None:
            traceback.print_exception(error)  # a mistake in the SPEC, or in the stub
            os._exit(70)

    async def _carry_out(self, step: Step) -> None:
        match step.kind:
            case "aside" | "message":
                await self._write(step.data + self._script.newline, pieces=step.pieces, pause=step.pause)
            case "burst":
                await self._write(step.data)
            case "die":
                await self._write(step.data[: len(step.data) // 2])
                os._exit(1)
            case "mute":
                os.close(1)
            case "deaf":
                self._hears.clear()
            case "broadcast":
                await self.broadcast(step.data)
            case "half":
                await self._write(step.data[: len(step.data) // 2])
            case "flood":
                await self._write(b'{"jsonrpc":"2.0","result":"')
                while True:
                    await self._write(b"x" * 65536)
            case "drop":
                os._exit(0)
            case "hang" | "cut" | "end" | "events":
                pass

    async def _write(self, data: bytes, *, pieces: int = 0, pause: float = 0.0) -> None:
        async with self._writing:
            await asyncio.to_thread(write_all, data, pieces or len(data), pause)


def write_all(data: bytes, size: int, pause: float = 0.0) -> None:
    for start in range(0, len(data), size):
        time.sleep(pause)
        piece = data[start : start + size]
        while piece:
            piece = piece[os.write(1, piece) :]


async def serve(transport: str, spec: Path) -> None:
    script = Script(spec)
    script.note(event="started", pid=os.getpid(), transport=transport)
    server: Stdio | EventServer | Streamable
    match transport:
        case "stdio":
            server = Stdio(script)
        case "sse":
            server = EventServer(script)
        case _:
            server = Streamable(script, streams=transport == "http-sse")
    changes: set[asyncio.Task[None]] = set()

    def take_next() -> None:
        if script.next is not None:
            script.load(Path(script.next))
        script.note(event="took")
        changes.add(asyncio.create_task(server.broadcast(announce(script))))

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, take_next)
    if script.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    await server.serve()


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)  # what is nested deeply is read like anything else
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        asyncio.run(serve(sys.argv[1], Path(sys.argv[2])))
