"""What a call costs the gateway where it is relayed, translated, or goes through /mcp.

python -m benchmarks.eras [--write] [--calls N]    needs Linux; --write puts the table into docs/eras.md
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import traffic
from benchmarks.callers import LEGACY, MODERN, HttpCaller
from benchmarks.marked_block import write_block
from benchmarks.processes import ROOT, Running, cpu_seconds, free_port

PAGE = ROOT / "docs" / "eras.md"
MARKS = ("<!-- eras:begin -->", "<!-- eras:end -->")
_ROUNDS = 5
_WARM_UP = 20


@dataclass(frozen=True, slots=True)
class Route:
    client: str
    server: str
    is_combined: bool = False

    @property
    def way(self) -> str:
        if not self.is_combined:
            return "relayed" if self.client == self.server else "translated"
        return "at `/mcp`"

    @property
    def relayed(self) -> "Route":
        """The same server without anything that is translated or joined."""
        return Route(self.server, self.server)


ROUTES = [
    Route(client, server, is_combined)
    for is_combined in (False, True)
    for client in (LEGACY, MODERN)
    for server in (LEGACY, MODERN)
]


def caller_of(base: str, route: Route) -> HttpCaller:
    if route.is_combined:
        return HttpCaller(f"{base}/mcp", route.client, tool=f"{route.server}__{traffic.JUDGED}")
    return HttpCaller(f"{base}/mcp/{route.server}", route.client)


@contextmanager
def gateway(folder: Path) -> Iterator[Running]:
    """handfast serve in front of a legacy and a modern server that cost next to nothing, all over HTTP."""
    ports = {"legacy": free_port(), "modern": free_port()}
    commands = {
        "legacy": ["benchmarks.servers.patient", "--seconds", "0"],
        "modern": ["benchmarks.servers.lean"],
    }
    with ExitStack() as stack:
        for era, (module, *options) in commands.items():
            command = [sys.executable, "-m", module, "--port", str(ports[era]), *options]
            log = stack.enter_context((folder / f"{era}.log").open("wb"))
            process = stack.enter_context(subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log))
            stack.callback(process.kill)
        servers = {era: {"url": f"http://127.0.0.1:{port}/mcp"} for era, port in ports.items()}
        config = folder / "handfast.json"
        config.write_text(json.dumps({"mcpServers": servers, "listen": f"127.0.0.1:{free_port()}"}))
        listen = json.loads(config.read_text())["listen"]
        serve = [sys.executable, "-m", "handfast.cli.main", "serve", "--config", str(config), "--state", str(folder)]
        running = Running(serve, f"http://{listen}/mcp/modern", folder / "log")
        stack.callback(running.stop)
        yield running


async def measure(folder: Path, *, calls: int, rounds: int = _ROUNDS) -> dict[Route, list[float]]:
    """Milliseconds of the gateway's CPU per call, a figure for each round."""
    found: dict[Route, list[float]] = {route: [] for route in ROUTES}
    with gateway(folder) as running:
        base = running.url.partition("/mcp")[0]
        for _round in range(rounds):
            for route, figures in found.items():
                caller = caller_of(base, route)
                await caller.open()
                await caller.call(_WARM_UP)
                before = cpu_seconds(running.pid)
                await caller.call(calls)
                figures.append((cpu_seconds(running.pid) - before) / calls * 1000)
                await caller.close()
    return found


def render_table(found: Mapping[Route, Sequence[float]]) -> str:
    lines = ["| client | server | way | CPU per call | of relayed |", "|---|---|---|---|---|"]
    for route, figures in found.items():
        shares = [figure / plain for figure, plain in zip(figures, found[route.relayed], strict=True) if plain]
        share = f"{statistics.median(shares):.1f}" if shares else ""
        lines.append(
            f"| {route.client} | {route.server} | {route.way} | {statistics.median(figures):.2f} ms | {share} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.eras", description=__doc__)
    parser.add_argument("--write", action="store_true", help="also put the table into docs/eras.md")
    parser.add_argument("--calls", type=int, default=500, help="calls of each kind in each of five rounds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = render_table(asyncio.run(measure(Path(folder), calls=options.calls)))
    print(table)
    if options.write:
        write_block(PAGE, table, MARKS)


if __name__ == "__main__":
    main()
