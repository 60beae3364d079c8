"""The official clients over a connection that breaks in the middle of a call: each comes back for its answer."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.contracts.rig import serve
from tests.gateway.running import read_records
from tests.parts import Parts
from tests.real.clients import CLIENTS
from tests.real.servers import call

Pipe = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class BreakingLine:
    """Passes bytes on, and breaks the first connection on which an answer to a POST becomes a stream."""

    def __init__(self, base: str) -> None:
        self._to = urlsplit(base)
        self.breaks = 0
        self.resumed = 0  # requests that named the event they go on from

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(self._to.hostname, self._to.port)
        is_post = [False]
        tasks = [
            asyncio.create_task(self._up(reader, there[1], is_post)),
            asyncio.create_task(self._down(there[0], writer, is_post)),
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for one in (writer, there[1]):
            one.close()

    async def _up(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_post: list[bool]) -> None:
        while chunk := await reader.read(65536):
            if chunk.startswith((b"POST ", b"GET ")):
                is_post[0] = chunk.startswith(b"POST ")
            self.resumed += b"\r\nlast-event-id:" in chunk.lower()
            writer.write(chunk)

    async def _down(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_post: list[bool]) -> None:
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
            if is_post[0] and b"retry: " in chunk and not self.breaks:
                self.breaks += 1
                return


@contextmanager
def breaking(base: str) -> Iterator[tuple[BreakingLine, str]]:
    line = BreakingLine(base)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(line.converse, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield line, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(task)
        loop.close()


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("name", ["py-legacy", "ts-legacy", "ts1"])
def test_a_client_whose_connection_breaks_gets_its_answer_all_the_same(parts: Parts, tmp_path: Path, name: str) -> None:
    command = parts.everything
    steps = [call("trigger-long-running-operation", duration=2, steps=1), call("echo", message="still here")]
    with (
        serve({"mcpServers": {"everything": {"command": command[0], "args": command[1:]}}}, tmp_path) as base,
        breaking(base) as (line, address),
    ):
        outcomes = CLIENTS[name].drive(parts, f"{address}/mcp/everything", steps)
        assert (line.breaks, line.resumed) == (1, 1)
    texts = [outcome["result"]["content"][0]["text"] for outcome in outcomes]
    assert texts == ["Long running operation completed. Duration: 2 seconds, Steps: 1.", "Echo: still here"]
    called = [record.tool for record in read_records(tmp_path / "state", type="tool_call")]
    assert called == ["trigger-long-running-operation", "echo"]  # once each: nothing was repeated
