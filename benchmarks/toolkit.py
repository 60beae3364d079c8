"""What the toolkit costs over the bare SDK: the same tools on both, CPU per call of the server's process.

python -m benchmarks.toolkit [--write] [--calls N] [--rounds N]    needs Linux; --write updates docs/performance.md
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any  # Any: JSON

from benchmarks import traffic
from benchmarks.marked_block import write_block
from benchmarks.processes import ROOT, BenchFailed, free_port
from benchmarks.servers.authored import ORDERS, SMALL
from handfast.gateway.http.client import HttpClient, UpstreamFailed
from handfast.wire.eras import LEGACY_REVISION

PAGE = ROOT / "docs" / "performance.md"
MARKS = ("<!-- toolkit:begin -->", "<!-- toolkit:end -->")
LIMIT = 0.15  # of the SDK's own cost

SDK, PLAIN, RECORDED = "sdk", "toolkit", "toolkit, recorded"
CONTENDERS = (SDK, PLAIN, RECORDED)
_WARM_UP = 100
_SETTLED = 0.3  # until the last records are written
_SECONDS = 60.0
_LIMIT = 1 << 20
_OPENING = {"protocolVersion": LEGACY_REVISION, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
_JSON = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]


@dataclass(frozen=True, slots=True)
class Case:
    way: str  # stdio, http
    era: str  # legacy, modern
    clients: int  # calls under way at any moment
    tool: str


CASES = [
    Case(way, era, clients, tool)
    for tool in (SMALL, ORDERS)
    for way in ("stdio", "http")
    for era in ("legacy", "modern")
    for clients in (1, 16)
]
Figures = dict[Case, dict[str, list[float]]]  # seconds of CPU per call, of each contender in each round


def cpu_of(pid: int) -> float:
    """Seconds that a process and its living threads have run: the clock of the scheduler, finer than its ticks."""
    return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


class Server(ABC):
    """One contender on one transport, for clients of one era."""

    pid: int
    era: str

    @abstractmethod
    async def ask(self, message: bytes) -> bytes: ...

    async def open(self) -> None:  # noqa: B027 - most have nothing to do
        """The handshake that legacy clients make."""

    async def call(self, tool: str, clients: int, calls: int) -> None:
        """So many calls, so many of them at a time."""
        numbers = iter(range(calls))

        async def work() -> None:
            for number in numbers:
                answer = await self.ask(self.message(tool, number))
                if b'"isError":true' in answer or b"structuredContent" not in answer:
                    raise BenchFailed(f"{tool} was not answered: {answer[:300]!r}")

        async with asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(work())

    def message(self, tool: str, number: int) -> bytes:
        message = json.loads(traffic.call(ORDERS, number))
        message["params"]["name"] = tool
        if self.era == "legacy":
            del message["params"]["_meta"]
        return json.dumps(message).encode()


class StdioServer(Server):
    def __init__(self, process: asyncio.subprocess.Process, era: str) -> None:
        self.pid = process.pid
        self.era = era
        self._process = process
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._reader = asyncio.create_task(self._read())

    async def open(self) -> None:
        if self.era == "legacy":
            await self.ask(_request("initialize", _OPENING))
            self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def ask(self, message: bytes) -> bytes:
        number = json.loads(message)["id"]
        self._waiting[number] = answer = asyncio.get_running_loop().create_future()
        assert self._process.stdin is not None
        self._process.stdin.write(message + b"\n")
        return await asyncio.wait_for(answer, _SECONDS)

    def _write(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            self._waiting.pop(json.loads(line)["id"]).set_result(line)

    async def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.wait_for(self._process.wait(), _SECONDS)
        await self._reader


class HttpServer(Server):
    def __init__(self, process: asyncio.subprocess.Process, era: str, url: str) -> None:
        self.pid = process.pid
        self.era = era
        self._client = HttpClient(url)
        self._headers = _JSON
        self._process = process

    async def open(self) -> None:
        while not await self._is_listening():  # noqa: ASYNC110 - another process, which has no event for us
            await asyncio.sleep(0.02)
        if self.era == "modern":
            return
        response = await self._client.request(
            "POST", _JSON, _request("initialize", _OPENING), response_timeout=_SECONDS
        )
        await response.read(_LIMIT)
        session = response.header(b"mcp-session-id")
        assert session is not None
        self._headers = [*_JSON, (b"mcp-protocol-version", LEGACY_REVISION.encode()), (b"mcp-session-id", session)]
        await self.ask(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    async def _is_listening(self) -> bool:
        try:
            response = await self._client.request("GET", [(b"accept", b"application/json")], b"", response_timeout=5)
            await response.read(_LIMIT)
        except UpstreamFailed:
            return False
        return True

    def message(self, tool: str, number: int) -> bytes:
        if self.era == "modern":
            self._headers = [*traffic.headers(ORDERS)[:-1], (b"mcp-name", tool.encode())]
        return super().message(tool, number)

    async def ask(self, message: bytes) -> bytes:
        response = await self._client.request("POST", self._headers, message, response_timeout=_SECONDS)
        return await response.read(_LIMIT)

    async def close(self) -> None:
        await self._client.close()
        self._process.terminate()
        await asyncio.wait_for(self._process.wait(), _SECONDS)


def _request(method: str, params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": -1, "method": method, "params": params}).encode()


@asynccontextmanager
async def serving(contender: str, way: str, era: str, folder: Path) -> AsyncIterator[StdioServer | HttpServer]:
    command = [sys.executable, "-m", "benchmarks.servers.authored", "sdk" if contender == SDK else "toolkit"]
    if contender == RECORDED:
        command += ["--state", str(folder / f"{way}-{era}")]
    port = free_port()
    if way == "http":
        command += ["--port", str(port)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=pipe, stdout=pipe, limit=_LIMIT)
    try:
        server: StdioServer | HttpServer = (
            StdioServer(process, era) if way == "stdio" else HttpServer(process, era, f"http://127.0.0.1:{port}/mcp")
        )
        await asyncio.wait_for(server.open(), _SECONDS)
        yield server
        await server.close()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def measure(folder: Path, *, calls: int, rounds: int, cases: Sequence[Case] = CASES) -> Figures:
    figures: Figures = {}
    for way, era in dict.fromkeys((case.way, case.era) for case in cases):
        async with AsyncExitStack() as stack:
            servers = {
                contender: await stack.enter_async_context(serving(contender, way, era, folder))
                for contender in CONTENDERS
            }
            for server in servers.values():
                for tool in (SMALL, ORDERS):
                    await server.call(tool, 16, min(_WARM_UP, calls))
            for case in cases:
                if (case.way, case.era) == (way, era):
                    figures[case] = await _interleave(case, servers, calls=calls, rounds=rounds)
    return {case: figures[case] for case in cases}


async def _interleave(case: Case, servers: Mapping[str, Server], *, calls: int, rounds: int) -> dict[str, list[float]]:
    """A few calls on each in turn, over and over: what slows the machine for a moment slows all of them."""
    read: dict[str, list[float]] = {contender: [] for contender in servers}
    for _ in range(rounds):
        for contender, server in servers.items():
            read[contender].append(cpu_of(server.pid))
            await server.call(case.tool, case.clients, calls)
    await asyncio.sleep(_SETTLED)
    for contender, server in servers.items():
        read[contender].append(cpu_of(server.pid))
    # From one turn to the next: what the recorder writes after the answers belongs to the calls too.
    return {contender: [(end - begin) / calls for begin, end in pairwise(times)] for contender, times in read.items()}


def overheads(figures: Mapping[str, Sequence[float]], contender: str) -> list[float]:
    """Of each round: what the contender costs beyond the SDK, as a part of what the SDK costs."""
    pairs = zip(figures[contender], figures[SDK], strict=True)
    return [own / bare - 1 for own, bare in pairs if bare]


def render_table(figures: Figures) -> str:
    lines = [
        "| tool | transport | era | at a time | bare SDK | toolkit adds | recorded, too |",
        "|---|---|---|---|---|---|---|",
    ]
    for case, found in figures.items():
        cells = [f"`{case.tool}`", case.way, case.era, str(case.clients)]
        cells.append(f"{statistics.median(found[SDK]) * 1e6:.0f} µs")
        cells += [_share(overheads(found, contender)) for contender in (PLAIN, RECORDED)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _share(shares: Sequence[float]) -> str:
    """The median, and half of where the middle half of the rounds lies."""
    if len(shares) < 2:
        return f"{shares[0]:+.0%}" if shares else ""
    low, middle, high = statistics.quantiles(shares, n=4)
    return f"{middle:+.0%} ±{(high - low) / 2:.0%}"


def is_within_limit(figures: Figures) -> bool:
    """Of the contract alone: what records cost has nothing to be compared with on the bare SDK."""
    return all(statistics.median(overheads(found, PLAIN)) < LIMIT for found in figures.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.toolkit", description=__doc__)
    parser.add_argument("--write", action="store_true", help="also put the table into docs/performance.md")
    parser.add_argument("--calls", type=int, default=200, help="of each kind in each round")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measure(Path(folder), calls=options.calls, rounds=options.rounds))
    table = render_table(figures)
    print(table)
    if options.write:
        write_block(PAGE, table, MARKS)
    return 0 if is_within_limit(figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
