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
from benchmarks.marked_block import write_block
from benchmarks.processes import ROOT, BenchFailed, Running, cpu_seconds, free_port
from handfast.gateway.http_client import HttpClient, Response
from handfast.wire.eras import LEGACY_REVISION

PAGE = ROOT / "docs" / "eras.md"
MARKS = ("<!-- eras:begin -->", "<!-- eras:end -->")
_ROUNDS = 5
_WARM_UP = 20
_SECONDS = 30.0
_LIMIT = 1 << 20
_TOOL = traffic.JUDGED
_JSON = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]


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
    for client in ("legacy", "modern")
    for server in ("legacy", "modern")
]


class Caller:
    """One client of either era, call after call."""

    def __init__(self, base: str, route: Route) -> None:
        self._client = HttpClient(f"{base}/mcp" if route.is_combined else f"{base}/mcp/{route.server}")
        self._tool = f"{route.server}__{_TOOL}" if route.is_combined else _TOOL
        self._is_modern = route.client == "modern"
        self._headers = _JSON

    async def open(self) -> None:
        if self._is_modern:
            named = traffic.headers(_TOOL)[:-1]
            self._headers = [*named, (b"mcp-name", self._tool.encode())]
            return
        opening = {"protocolVersion": LEGACY_REVISION, "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
        message = {"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": opening}
        response, _ = await self._post(message)
        session = response.header(b"mcp-session-id")
        if session is None:
            raise BenchFailed("the gateway opened no session")
        self._headers = [*_JSON, (b"mcp-protocol-version", LEGACY_REVISION.encode()), (b"mcp-session-id", session)]
        message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self._post(message)

    async def call(self, calls: int) -> None:
        for number in range(calls):
            message = json.loads(traffic.call(_TOOL, number))
            message["params"]["name"] = self._tool
            if not self._is_modern:
                del message["params"]["_meta"]
            response, answer = await self._post(message)
            if response.status != 200 or len(answer) < traffic.least_bytes(_TOOL):
                raise BenchFailed(f"HTTP {response.status}: {answer[:200]!r}")

    async def _post(self, message: Mapping[str, object]) -> tuple[Response, bytes]:
        body = json.dumps(message).encode()
        response = await self._client.request("POST", self._headers, body, response_timeout=_SECONDS)
        return response, await response.read(_LIMIT)

    async def close(self) -> None:
        await self._client.close()


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
                caller = Caller(base, route)
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
