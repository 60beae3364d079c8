"""Machine instructions that the gateway executes for a call of 1 KB, by callgrind: they hardly move on a busy machine.

python -m benchmarks.instructions [--base REV [--limit 1.03] | --signed] [--only WORDS] [--calls N] [--rounds N]

Needs valgrind.
"""

import argparse
import asyncio
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Protocol

from benchmarks import traffic
from benchmarks.callers import LEGACY, MODERN, HttpCaller, PipeCaller
from benchmarks.callgrind import Callgrind, require_valgrind
from benchmarks.processes import ROOT, BenchFailed, Running, free_port
from handfast.activity.sqlite_file import FILE_NAME

LIMIT = 1.03
HEAD, BASE = "head", "base"
ONE, ALL, WRAP = "/mcp/<server>", "/mcp", "wrap"
JSON, SSE, STDIO = "JSON", "SSE", "stdio"
STRICT, OFF = "strict", "off"
_START_SECONDS = 180.0  # a start takes some ten seconds under callgrind, and more on a busy machine
_WRITTEN_SECONDS = 120.0
# Both clients and the gateway close connections that were idle for two seconds: opening them is no part of a call.
_FIRST = 2


@dataclass(frozen=True, slots=True)
class Cell:
    """One way of a call: where the client calls, what stands behind, how firmly it is held, and both sides' era."""

    place: str
    transport: str
    modes: str
    era: str

    @property
    def process(self) -> str:
        """What has to run for it: a gateway serves many clients, and one that wraps a server only its own."""
        return f"wrap {self.era}" if self.place == WRAP else f"serve {self.modes}"

    def __str__(self) -> str:
        return f"{self.place} | {self.transport} | {self.modes} | {self.era}"


def server_name(transport: str, era: str) -> str:
    return f"{transport.lower()}-{era}"


_WAYS = [(ONE, JSON, STRICT), (ONE, SSE, STRICT), (ONE, STDIO, STRICT), (ALL, JSON, STRICT)]
_WAYS += [(ONE, JSON, OFF), (WRAP, STDIO, STRICT)]
CELLS = [Cell(place, transport, modes, era) for place, transport, modes in _WAYS for era in (MODERN, LEGACY)]

Figures = dict[Cell, dict[str, list[float]]]  # instructions per call, by side, one for each round
Caller = HttpCaller | PipeCaller
Progress = Callable[[str], None]


class Meter(Protocol):
    def command(self, arguments: Sequence[str]) -> list[str]:
        """How `handfast` is started with these arguments, to be measured."""

    def begin(self, pid: int) -> None:
        """From here on it counts."""

    def count(self, pid: int) -> int: ...


@dataclass(frozen=True, slots=True)
class Plan:
    calls: int = 200  # in each round
    rounds: int = 5
    connections: int = 4
    idle_seconds: float = 5.0

    def __post_init__(self) -> None:
        if self.calls % self.connections:
            raise BenchFailed(f"--calls must be a multiple of {self.connections}, the number of connections")


@dataclass(frozen=True, slots=True)
class Side:
    """One source of handfast."""

    name: str
    source: Path
    signs_in: bool = False  # its callers have tokens, with a scope for each server

    def environ(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("HANDFAST_")}
        return own | {"PYTHONPATH": str(self.source), "PYTHONHASHSEED": "0"}

    def require(self) -> None:
        """Raises: BenchFailed, where another handfast than this one would be measured."""
        command = [sys.executable, "-c", "import handfast; print(handfast.__file__)"]
        done = subprocess.run(command, env=self.environ(), cwd=ROOT, capture_output=True, text=True, check=False)
        if not Path(done.stdout.strip()).is_relative_to(self.source):
            raise BenchFailed(f"{self.source} holds no handfast that can be imported: {done.stderr.strip()[-200:]}")


@contextmanager
def checked_out(revision: str, folder: Path) -> Iterator[Path]:
    """The source of another revision. Raises: BenchFailed."""
    tree = str(folder / "base")
    git = ["git", "-C", str(ROOT), "worktree"]
    added = subprocess.run([*git, "add", "--quiet", "--detach", tree, revision], capture_output=True, text=True)
    if added.returncode != 0:
        raise BenchFailed(f"cannot check out {revision}: {added.stderr.strip().rpartition(chr(10))[2]}")
    try:
        yield folder / "base" / "src"
    finally:
        subprocess.run([*git, "remove", "--force", tree], check=False)


class Stand:
    """Where everything runs: a folder, the servers behind, and how instructions are counted."""

    def __init__(self, folder: Path, meter: Meter, plan: Plan) -> None:
        self.folder = folder
        self.meter = meter
        self.plan = plan
        self._urls: dict[str, str] = {}

    def start_servers(self, stack: AsyncExitStack) -> None:
        for transport in (JSON, SSE):
            for era in (MODERN, LEGACY):
                port = free_port()
                name, url = server_name(transport, era), f"http://127.0.0.1:{port}/mcp"
                command = [sys.executable, *_lean(era), "--port", str(port), *(["--sse"] if transport == SSE else [])]
                stack.callback(Running(command, url, self.folder / f"{name}.log").stop)
                self._urls[name] = url

    def write_settings(self, path: Path, modes: str, *, signs_in: bool) -> None:
        servers: dict[str, object] = {name: {"url": url} for name, url in self._urls.items()}
        for era in (MODERN, LEGACY):
            servers[server_name(STDIO, era)] = {"command": sys.executable, "args": _lean(era), "cwd": str(ROOT)}
        # A slow start must not be taken for a server that tells nothing about its tools.
        settings = {"mcpServers": servers, "limits": {"learn_timeout_s": 60}}
        settings |= {"input_validation": {"mode": modes}, "output_validation": {"mode": modes}}
        settings |= {"auth": {"mode": "token"}} if signs_in else {}
        path.write_text(json.dumps(settings))


def _lean(era: str) -> list[str]:
    return ["-m", "benchmarks.servers.lean", *(["--legacy"] if era == LEGACY else [])]


@dataclass(slots=True)
class Counted:
    instructions: int = 0
    seconds: float = 0.0


class Gateway:
    """One running `handfast`, and the clients that call it."""

    def __init__(self, stand: Stand, state: Path, clients: "Clients", *, pid: int, made: int) -> None:
        self._meter = stand.meter
        self._state = state
        self._clients = clients
        self._pid = pid
        self._made = made  # calls, each of which must be on record
        self._callers: Sequence[Caller] = ()
        self._idle_rate = 0.0
        self._meter.begin(pid)

    async def attach_clients(self, stack: AsyncExitStack, cell: Cell) -> None:
        """Not before they are needed: a session that is silent for a quarter of an hour ends."""
        self._callers = await self._clients(stack, cell)

    async def measure(self, calls: int) -> float:
        """Instructions per call, with writing its record, and without timers that run anyway. Raises: BenchFailed."""
        await self._call(_FIRST)
        async with self._counting() as counted:
            await self._call(calls // len(self._callers))
            await self._wait_for_records()
        return (counted.instructions - counted.seconds * self._idle_rate) / calls

    async def measure_idle(self, seconds: float) -> None:
        """What it does while nothing is asked: on a busy machine a round takes longer, and has more of it."""
        async with self._counting() as counted:
            await asyncio.sleep(seconds)
        self._idle_rate = counted.instructions / counted.seconds

    @asynccontextmanager
    async def _counting(self) -> AsyncIterator["Counted"]:
        """What is executed within the block, in this time."""
        counted = Counted()
        before, began = await asyncio.to_thread(self._meter.count, self._pid), time.monotonic()
        yield counted
        counted.seconds = time.monotonic() - began
        counted.instructions = await asyncio.to_thread(self._meter.count, self._pid) - before

    async def _call(self, calls: int) -> None:
        await asyncio.gather(*(caller.call(calls) for caller in self._callers))
        self._made += calls * len(self._callers)

    async def _wait_for_records(self) -> None:
        deadline = time.monotonic() + _WRITTEN_SECONDS
        while (found := count_records(self._state)) < self._made:
            if time.monotonic() > deadline:
                raise BenchFailed(f"{self._made - found} calls are not on record after {_WRITTEN_SECONDS:.0f} s")
            await asyncio.sleep(0.1)


Clients = Callable[[AsyncExitStack, Cell], Awaitable[Sequence[Caller]]]


def count_records(state: Path) -> int:
    """Calls on record, by a reader of its own: nothing is asked of what is measured."""
    with closing(sqlite3.connect(f"file:{state / FILE_NAME}?mode=ro", uri=True)) as store:
        return int(store.execute("SELECT count(*) FROM records WHERE type = 'tool_call'").fetchone()[0])


async def start_gateway(stack: AsyncExitStack, stand: Stand, cell: Cell, side: Side) -> Gateway:
    """The gateway for this cell, and for all others of its process."""
    folder = Path(tempfile.mkdtemp(dir=stand.folder))
    stand.write_settings(folder / "handfast.json", cell.modes, signs_in=side.signs_in)
    options = ["--config", str(folder / "handfast.json"), "--state", str(folder / "state")]
    if cell.place == WRAP:
        return await _start_wrap(stack, stand, options, cell, side)
    return _start_serve(stack, stand, options, side)


async def _start_wrap(stack: AsyncExitStack, stand: Stand, options: Sequence[str], cell: Cell, side: Side) -> Gateway:
    state = Path(options[-1])
    command = stand.meter.command(["wrap", *options, "--", sys.executable, *_lean(cell.era)])
    pipe = PipeCaller(command, cell.era, log=state.with_name("log"), environ=side.environ())
    stack.push_async_callback(pipe.close)
    await pipe.open()
    await pipe.call(1)  # shows that it runs

    async def clients(_stack: AsyncExitStack, _cell: Cell) -> list[Caller]:
        return [pipe]

    return Gateway(stand, state, clients, pid=pipe.pid, made=1)


def _start_serve(stack: AsyncExitStack, stand: Stand, options: Sequence[str], side: Side) -> Gateway:
    state = Path(options[-1])
    base = f"http://127.0.0.1:{free_port()}"
    command = stand.meter.command(["serve", *options, "--listen", base.removeprefix("http://")])
    url, log = f"{base}/mcp/{server_name(JSON, MODERN)}", state.with_name("log")
    token = _token(state) if side.signs_in else ""
    running = Running(command, url, log, environ=side.environ(), seconds=_START_SECONDS, token=token)
    stack.callback(running.stop)

    async def clients(stack: AsyncExitStack, cell: Cell) -> list[Caller]:
        callers: list[Caller] = [_http_caller(base, cell, token) for _ in range(stand.plan.connections)]
        for caller in callers:
            stack.push_async_callback(caller.close)
            await caller.open()
        return callers

    return Gateway(stand, state, clients, pid=running.pid, made=1)


def _http_caller(base: str, cell: Cell, token: str) -> HttpCaller:
    server = server_name(cell.transport, cell.era)
    if cell.place == ALL:
        return HttpCaller(f"{base}/mcp", cell.era, tool=f"{server}__{traffic.JUDGED}", token=token)
    return HttpCaller(f"{base}/mcp/{server}", cell.era, token=token)


def _token(state: Path) -> str:
    """For the usual few scopes: a server to read, one to write, one for everything."""
    from handfast.access.token_store import TokenStore
    from handfast.access.tokens import issue_token
    from handfast.core.access.scopes import parse_scopes

    names = [server_name(transport, era) for transport in (JSON, SSE, STDIO) for era in (MODERN, LEGACY)]
    scopes = parse_scopes(" ".join(f"{name}:{kind}" for name in names for kind in ("read", "write", "admin")))
    _, text = issue_token(
        TokenStore(state), name="bench", subject="bench", scopes=scopes, groups=(), seconds=86_400, now=time.time()
    )
    return text


async def measure(
    stand: Stand, sides: Sequence[Side], *, cells: Sequence[Cell] = CELLS, progress: Progress = lambda _: None
) -> Figures:
    """Raises: BenchFailed."""
    figures: Figures = {}
    async with AsyncExitStack() as stack:
        stand.start_servers(stack)
        for process, group in groupby(cells, key=lambda cell: cell.process):
            progress(f"starting {process}")
            figures |= await _measure_process(stand, sides, list(group), progress)
    return figures


async def _measure_process(stand: Stand, sides: Sequence[Side], cells: Sequence[Cell], progress: Progress) -> Figures:
    figures: Figures = {}
    async with AsyncExitStack() as stack:
        gateways = {side.name: await start_gateway(stack, stand, cells[0], side) for side in sides}
        for cell in cells:
            figures[cell] = await _measure_cell(stand.plan, gateways, cell, progress)
    return figures


async def _measure_cell(
    plan: Plan, gateways: Mapping[str, Gateway], cell: Cell, progress: Progress
) -> dict[str, list[float]]:
    """Both sides at once: that takes half the time, and one does not change what the other has to do."""
    rounds: list[list[float]] = []
    async with AsyncExitStack() as stack:
        for gateway in gateways.values():
            await gateway.attach_clients(stack, cell)
        for number in range(plan.rounds + 1):
            if number == 1:
                await asyncio.gather(*(gateway.measure_idle(plan.idle_seconds) for gateway in gateways.values()))
            found = await asyncio.gather(*(gateway.measure(plan.calls) for gateway in gateways.values()))
            shown = ", ".join(f"{name} {count:,.0f}" for name, count in zip(gateways, found, strict=True))
            progress(f"{cell}: {f'round {number} of {plan.rounds}' if number else 'warming up'}, {shown}")
            rounds.append(found)
    # The first round fills every cache, and prepares the recorder's statements.
    return {name: list(counts) for name, counts in zip(gateways, zip(*rounds[1:], strict=True), strict=True)}


def ratio(found: Mapping[str, Sequence[float]]) -> float:
    """Head to base. Medians, because one full garbage collection in a round of one of them says nothing."""
    return statistics.median(found[HEAD]) / statistics.median(found[BASE])


def above(figures: Figures, limit: float) -> list[Cell]:
    return [cell for cell, found in figures.items() if BASE in found and ratio(found) > limit]


def render_table(figures: Figures) -> str:
    has_base = any(BASE in found for found in figures.values())
    columns = ["where", "server", "modes", "era", "instructions per call", "spread"]
    columns += ["base", "spread", "head to base"] if has_base else []
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for cell, found in figures.items():
        texts = [str(cell), *_count(found[HEAD])]
        if has_base:
            texts += [*_count(found[BASE]), f"{ratio(found):.3f}"]
        lines.append(f"| {' | '.join(texts)} |")
    return "\n".join(lines)


def _count(counts: Sequence[float]) -> tuple[str, str]:
    """The median, and half of where the middle half of the rounds lies."""
    if len(counts) < 2:
        return f"{counts[0]:,.0f}", ""
    low, middle, high = statistics.quantiles(counts, n=4, method="inclusive")
    return f"{middle:,.0f}", f"±{(high - low) / 2 / middle:.1%}"


def read_command_line(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    usual = Plan()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("--base", metavar="REV", help="also measure the source of this revision, and compare")
    parser.add_argument(
        "--signed", action="store_true", help="callers with tokens, compared with the same source without"
    )
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help="most that head may cost of base (default: %(default)s)"
    )
    parser.add_argument("--only", metavar="WORDS", default="", help="rows that hold these words, such as 'JSON strict'")
    parser.add_argument("--calls", type=int, default=usual.calls, help="calls in each round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=usual.rounds, help="rounds of each row (default: %(default)s)")
    return parser.parse_args(arguments)


def chosen_cells(words: str) -> list[Cell]:
    """Raises: BenchFailed."""
    chosen = [cell for cell in CELLS if set(words.split()) <= set(str(cell).split())]
    if not chosen:
        raise BenchFailed(f"no row holds all of {words!r}; rows are: {', '.join(f'({cell})' for cell in CELLS)}")
    return chosen


def run(options: argparse.Namespace, folder: Path) -> Figures:
    """Raises: BenchFailed."""
    require_valgrind()
    cells = chosen_cells(options.only)
    stand = Stand(folder, Callgrind(folder), Plan(calls=options.calls, rounds=options.rounds))

    def progress(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def work(sides: Sequence[Side]) -> Figures:
        for side in sides:
            side.require()
        return asyncio.run(measure(stand, sides, cells=cells, progress=progress))

    head = Side(HEAD, ROOT / "src", signs_in=options.signed)
    if options.signed:
        cells = [cell for cell in cells if cell.place != WRAP]  # nobody signs in over stdio
        return work([head, Side(BASE, ROOT / "src")])
    if options.base is None:
        return work([head])
    with checked_out(options.base, folder) as source:
        return work([head, Side(BASE, source)])


def main() -> int:
    """0 fine, 1 above the limit, 2 not measured."""
    options = read_command_line()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by way of everything that has to be stopped
    try:
        with tempfile.TemporaryDirectory(prefix="instructions-") as folder:
            figures = run(options, Path(folder))
    except BenchFailed as problem:
        print(f"instructions: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(render_table(figures))
    excess = above(figures, options.limit)
    for cell in excess:
        base = "callers without tokens" if options.signed else options.base
        print(f"instructions: ({cell}) is above {options.limit} of {base}", file=sys.stderr)
    return 1 if excess else 0


if __name__ == "__main__":
    sys.exit(main())
