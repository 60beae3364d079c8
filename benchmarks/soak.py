"""scripts/soak: idle sessions and calls in progress on one gateway, held for a while; errors, latency and memory."""

import argparse
import asyncio
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any  # Any: decoded JSON

import uvloop

from benchmarks import traffic
from benchmarks.processes import ROOT, BenchFailed, Running, free_port, resident_mb
from handfast.activity.query import RecordFilter
from handfast.activity.sqlite import SqliteStore
from handfast.core.call.exchange import RecordType
from handfast.gateway.http.client import HttpClient, Response, UpstreamFailed
from handfast.gateway.process.own_process import raise_open_files

SERVERS = ("pipe", "web")  # a stdio server and an HTTP server
ALL = ""  # both at one address, each asked in its own era
# Whom each client talks to, in turn: every fourth one to all servers at once.
DOORS = (*SERVERS, SERVERS[0], ALL, *reversed(SERVERS), SERVERS[1], ALL)
_LIMIT = 1024 * 1024
_ANSWER_SECONDS = 60.0
_VERSION = "2025-11-25"
_WRITTEN_SECONDS = 10.0  # records of plain calls are written behind their replies


@dataclass(frozen=True, slots=True)
class Soak:
    """What is held, and for how long."""

    sessions: int = 1000
    calls: int = 200
    seconds: float = 60.0
    call_seconds: float = 0.25  # so long each call is in progress at the server

    @property
    def connections(self) -> int:
        return self.sessions + self.calls


@dataclass(frozen=True, slots=True)
class Soaked:
    """What came of it."""

    sessions: int
    at_mcp: int  # of them, with all servers at once
    in_progress: int
    seconds: float
    calls: int
    recorded: int
    errors: int
    p50_ms: float
    p99_ms: float
    start_mb: float  # before the first session
    opened_mb: float  # with every session open, before the first call
    middle_mb: float
    end_mb: float


@dataclass(slots=True)
class Tally:
    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Crowd:
    """Every client: most only listen, some call again and again."""

    def __init__(self, base: str, plan: Soak) -> None:
        self._plan = plan
        addresses = {name: f"{base}/mcp/{name}".rstrip("/") for name in DOORS}
        self._clients = {name: HttpClient(url, max_connections=plan.connections) for name, url in addresses.items()}
        self._listening: list[Response] = []
        self.sessions: list[tuple[str, bytes]] = []

    async def open(self) -> None:
        """Every session opened, each with a stream on which it listens."""
        for first in range(0, self._plan.sessions, 100):  # a hundred at a time: clients come in crowds, not all at once
            numbers = range(first, min(first + 100, self._plan.sessions))
            await asyncio.gather(*(self._open_one(DOORS[number % len(DOORS)]) for number in numbers))

    async def _open_one(self, name: str) -> None:
        hello = {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
        response = await self._post(name, b"", {"id": 0, "method": "initialize", "params": hello})
        session = response.header(b"mcp-session-id")
        if session is None or b'"result"' not in await response.read(_LIMIT):
            raise BenchFailed("a session was refused")
        await (await self._post(name, session, {"method": "notifications/initialized"})).read(_LIMIT)
        headers = [(b"accept", b"text/event-stream"), (b"mcp-session-id", session)]
        stream = await self._clients[name].request("GET", headers, response_timeout=_ANSWER_SECONDS)
        if stream.status != 200:
            raise BenchFailed(f"a listening stream was refused with HTTP status {stream.status}")
        self._listening.append(stream)
        self.sessions.append((name, session))

    async def call_until(self, deadline: float, number: int, tally: Tally) -> None:
        """One client that calls, waits for its answer, and calls again."""
        name, session = self.sessions[number]
        least = traffic.least_bytes(traffic.JUDGED)
        turn = 0
        while time.perf_counter() < deadline:
            turn += 1
            tool = traffic.JUDGED if name != ALL else f"{SERVERS[turn % len(SERVERS)]}__{traffic.JUDGED}"
            params = {"name": tool, "arguments": traffic.ARGUMENTS}
            began = time.perf_counter()
            try:
                response = await self._post(name, session, {"id": turn, "method": "tools/call", "params": params})
                answer = await response.read(_LIMIT)
            except UpstreamFailed as problem:
                tally.errors.append(str(problem))
                continue
            tally.times.append(time.perf_counter() - began)
            if response.status != 200 or len(answer) < least:
                tally.errors.append(f"HTTP {response.status}: {answer[:200]!r}")

    async def _post(self, name: str, session: bytes, message: dict[str, Any]) -> Response:
        headers = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]
        headers += [(b"mcp-session-id", session)] if session else []
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return await self._clients[name].request("POST", headers, body, response_timeout=_ANSWER_SECONDS)

    async def close(self) -> None:
        for stream in self._listening:
            stream.abort()
        for client in self._clients.values():
            await client.close()


def start_gateway(folder: Path, plan: Soak, web: str) -> Running:
    """`handfast serve` with its defaults, in front of both servers."""
    pipe = ["-m", "benchmarks.servers.patient", "--seconds", str(plan.call_seconds)]
    entry = {"command": sys.executable, "args": pipe, "cwd": str(ROOT)}
    config = folder / "handfast.json"
    config.write_text(json.dumps({"mcpServers": {"pipe": entry, "web": {"url": web}}}))
    port = free_port()
    options = ["--config", str(config), "--listen", f"127.0.0.1:{port}", "--state", str(folder / "state")]
    command = [sys.executable, "-m", "handfast.cli.main", "serve", *options]
    return Running(command, f"http://127.0.0.1:{port}/mcp/web", folder / "gateway.log")


@asynccontextmanager
async def stage(plan: Soak) -> AsyncIterator[tuple[Running, Path]]:
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    running: list[Running] = []
    try:
        port = free_port()
        command = [sys.executable, "-m", "benchmarks.servers.patient", "--port", str(port)]
        command += ["--seconds", str(plan.call_seconds)]
        running.append(Running(command, f"http://127.0.0.1:{port}/mcp", folder / "web.log"))
        running.append(start_gateway(folder, plan, running[0].url))
        yield running[1], folder / "state"
    finally:
        for each in reversed(running):
            each.stop()
        shutil.rmtree(folder, ignore_errors=True)


async def carry_out(plan: Soak) -> tuple[Soaked, list[str]]:
    """The figures, and what went wrong in words. Raises: BenchFailed."""
    warning = raise_open_files(connections=plan.connections, calls=plan.calls)  # for this process and those it starts
    if warning is not None:
        raise BenchFailed(warning)
    async with stage(plan) as (gateway, state):
        known = await all_recorded(state, 1)  # the call that showed that it runs
        start_mb = resident_mb(gateway.pid)
        crowd = Crowd(gateway.url.rpartition("/mcp/")[0], plan)
        tally = Tally()
        try:
            await crowd.open()
            opened_mb = resident_mb(gateway.pid)
            began = time.perf_counter()
            middle = asyncio.create_task(resident_after(gateway.pid, plan.seconds / 2))
            deadline = began + plan.seconds
            await asyncio.gather(*(crowd.call_until(deadline, number, tally) for number in range(plan.calls)))
            seconds, end_mb = time.perf_counter() - began, resident_mb(gateway.pid)
            recorded = await all_recorded(state, known + len(tally.times)) - known
        finally:
            await crowd.close()
        ordered = sorted(tally.times) or [0.0]
        figures = Soaked(
            sessions=len(crowd.sessions),
            at_mcp=sum(name == ALL for name, _ in crowd.sessions),
            in_progress=plan.calls,
            seconds=round(seconds, 1),
            calls=len(tally.times),
            recorded=recorded,
            errors=len(tally.errors),
            p50_ms=round(statistics.median(ordered) * 1000, 1),
            p99_ms=round(ordered[int(len(ordered) * 0.99)] * 1000, 1),
            start_mb=round(start_mb, 1),
            opened_mb=round(opened_mb, 1),
            middle_mb=round(await middle, 1),
            end_mb=round(end_mb, 1),
        )
        return figures, tally.errors


async def resident_after(pid: int, seconds: float) -> float:
    await asyncio.sleep(seconds)
    return resident_mb(pid)


def count_calls(state: Path) -> int:
    store = SqliteStore.open_existing(state)
    try:
        return sum(1 for _ in store.query(RecordFilter(types=(RecordType.TOOL_CALL,))))
    finally:
        store.close()


async def all_recorded(state: Path, wanted: int) -> int:
    deadline = time.perf_counter() + _WRITTEN_SECONDS
    while (found := count_calls(state)) < wanted and time.perf_counter() < deadline:  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.1)
    return found


def render_table(figures: Soaked) -> str:
    named = asdict(figures)
    head = " | ".join(named)
    return f"| {head} |\n|{'---:|' * len(named)}\n| {' | '.join(f'{value:,}' for value in named.values())} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    usual = Soak()
    parser.add_argument("--sessions", type=int, default=usual.sessions, help="idle sessions (default: %(default)s)")
    parser.add_argument("--calls", type=int, default=usual.calls, help="calls in progress (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=usual.seconds, help="how long (default: %(default)s)")
    parser.add_argument("-o", "--output", choices=("markdown", "json"), default="markdown")
    options = parser.parse_args()
    plan = Soak(sessions=options.sessions, calls=options.calls, seconds=options.seconds)
    try:
        figures, errors = uvloop.run(carry_out(plan))
    except BenchFailed as problem:
        print(f"soak: {problem}", file=sys.stderr)
        return 1
    print(json.dumps(asdict(figures)) if options.output == "json" else render_table(figures))
    for text in sorted(set(errors))[:5]:
        print(f"soak: {text}", file=sys.stderr)
    return 1 if errors or figures.recorded != figures.calls else 0


if __name__ == "__main__":
    sys.exit(main())
