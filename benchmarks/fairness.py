"""scripts/fairness: one client's 20 calls a second beside the worst that another client and its server can do."""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import uvloop

from benchmarks import traffic
from benchmarks.attacks import ATTACKS
from benchmarks.marked_block import write_block
from benchmarks.processes import ROOT, BenchFailed, Running, free_port, resident_mb
from handfast.gateway.http.client import HttpClient, UpstreamFailed

PAGE = ROOT / "docs" / "performance.md"
MARKS = ("<!-- fairness:begin -->", "<!-- fairness:end -->")
_RATE = 20
_LIMIT = 1024 * 1024
_ANSWER_SECONDS = 60.0
_WARM_SECONDS = 1.0
MOST_SLOWER = 3.0  # p99 beside an attack, as a ratio of p99 alone
MOST_MEMORY = 2.0  # the most memory during an attack, as a ratio of the memory at rest


@dataclass(frozen=True, slots=True)
class Seen:
    """What the honest client saw in one run, and what the gateway took meanwhile."""

    p99_ms: float
    errors: int
    rest_mb: float
    most_mb: float


@dataclass(frozen=True, slots=True)
class Fairness:
    """The medians over all rounds for one attack."""

    attack: str
    alone_p99_ms: float
    p99_ms: float
    slower: float
    errors: int
    rest_mb: float
    most_mb: float
    memory: float

    @property
    def is_fair(self) -> bool:
        return self.slower <= MOST_SLOWER and self.memory <= MOST_MEMORY and not self.errors


@contextmanager
def gateway(kind: str, web: str, core: str) -> Iterator[Running]:
    """`handfast serve` in strict in front of an honest server and a hostile one, which shares the attacker's core."""
    folder = Path(tempfile.mkdtemp(prefix="fairness-"))
    command = [sys.executable, str(ROOT / "benchmarks/servers/hostile.py"), kind]
    if core:
        command = ["taskset", "--cpu-list", core, *command]
    hostile = {"command": command[0], "args": command[1:]}
    strict = {"mode": "strict"}
    settings = {
        "mcpServers": {"web": {"url": web}, "hostile": hostile},
        "input_validation": strict,
        "output_validation": strict,
    }
    config = folder / "handfast.json"
    config.write_text(json.dumps(settings))
    port = free_port()
    options = ["--config", str(config), "--listen", f"127.0.0.1:{port}", "--state", str(folder / "state")]
    command = [sys.executable, "-m", "handfast.cli.main", "serve", *options]
    running = Running(command, f"http://127.0.0.1:{port}/mcp/web", folder / "gateway.log")
    try:
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


def set_core_aside() -> str:
    """Leave one core to the attacker and its server, and share the others: this measures the gateway, no scheduler.

    Without it the kernel's work for a client that sends megabytes, which no priority interrupts, delays the honest
    client too, while an attacker elsewhere would have a kernel of its own; and so does each start of an interpreter,
    for which the kernel would choose the core that has least to do. Nothing where there is only one core.
    """
    if not hasattr(os, "sched_setaffinity") or shutil.which("taskset") is None:
        return ""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        return ""
    os.sched_setaffinity(0, cores[:-1])
    return str(cores[-1])


@contextmanager
def attacked(attack: str | None, base: str, core: str) -> Iterator[None]:
    if attack is None:
        yield
        return
    command = [sys.executable, "-m", "benchmarks.attacks", attack, base, core]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        time.sleep(_WARM_SECONDS)
        yield
        if process.poll() is not None:
            assert process.stderr is not None
            raise BenchFailed(f"the attack {attack!r} ended early: {process.stderr.read()[-400:].decode()}")
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


class Honest:
    """A client that calls at an even pace, whatever its calls take."""

    def __init__(self, url: str) -> None:
        self._client = HttpClient(url)
        self.times: list[float] = []
        self.errors = 0

    async def call_for(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.TaskGroup() as group:
            for number in range(int(seconds * _RATE)):
                await asyncio.sleep(max(0.0, began + number / _RATE - loop.time()))
                group.create_task(self._call(number))
        await self._client.close()

    async def _call(self, number: int) -> None:
        began = time.perf_counter()
        try:
            body, headers = traffic.call(traffic.JUDGED, number), traffic.headers(traffic.JUDGED)
            response = await self._client.request("POST", headers, body, response_timeout=_ANSWER_SECONDS)
            answer = await response.read(_LIMIT)
            self.errors += response.status != 200 or len(answer) < traffic.least_bytes(traffic.JUDGED)
        except UpstreamFailed:
            self.errors += 1
        self.times.append(time.perf_counter() - began)

    @property
    def p99_ms(self) -> float:
        ordered = sorted(self.times)
        return ordered[int(len(ordered) * 0.99)] * 1000


async def watch_memory(pid: int, seen: list[float]) -> None:
    while True:
        seen.append(resident_mb(pid))
        await asyncio.sleep(0.1)


def measure(attack: str | None, kind: str, web: str, seconds: float, core: str) -> Seen:
    with gateway(kind, web, core) as running:
        uvloop.run(Honest(running.url).call_for(_WARM_SECONDS))
        rest_mb = resident_mb(running.pid)
        memory = [rest_mb]
        honest = Honest(running.url)

        async def both() -> None:
            watching = asyncio.create_task(watch_memory(running.pid, memory))
            await honest.call_for(seconds)
            watching.cancel()

        with attacked(attack, running.url.rpartition("/mcp/")[0], core):
            uvloop.run(both())
        return Seen(honest.p99_ms, honest.errors, rest_mb, max(memory))


def summarize(attack: str, alone: Sequence[Seen], beside: Sequence[Seen]) -> Fairness:
    return Fairness(
        attack=attack,
        alone_p99_ms=round(statistics.median(seen.p99_ms for seen in alone), 1),
        p99_ms=round(statistics.median(seen.p99_ms for seen in beside), 1),
        slower=round(statistics.median(b.p99_ms / a.p99_ms for a, b in zip(alone, beside, strict=True)), 2),
        errors=sum(seen.errors for seen in beside),
        rest_mb=round(statistics.median(seen.rest_mb for seen in beside), 1),
        most_mb=round(max(seen.most_mb for seen in beside), 1),
        memory=round(max(seen.most_mb / seen.rest_mb for seen in beside), 2),
    )


def carry_out(attacks: Sequence[str], rounds: int, seconds: float) -> list[Fairness]:
    """The rounds interleaved, so that a busy moment of the machine meets all alike. Raises: BenchFailed."""
    core = set_core_aside()
    folder = Path(tempfile.mkdtemp(prefix="fairness-web-"))
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.servers.lean", "--port", str(port)]
    web = Running(command, f"http://127.0.0.1:{port}/mcp", folder / "web.log")
    alone: list[Seen] = []
    beside: dict[str, list[Seen]] = {attack: [] for attack in attacks}
    try:
        for number in range(rounds):
            alone.append(measure(None, "calm", web.url, seconds, core))
            for attack in attacks:
                kind, _ = ATTACKS[attack]
                beside[attack].append(measure(attack, kind, web.url, seconds, core))
                seen = beside[attack][-1]
                print(
                    f"round {number + 1}, {attack}: p99 {seen.p99_ms:.1f} ms against {alone[-1].p99_ms:.1f},"
                    f" {seen.most_mb:.0f} MB against {seen.rest_mb:.0f}, {seen.errors} errors",
                    file=sys.stderr,
                    flush=True,
                )
    finally:
        web.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return [summarize(attack, alone, seen) for attack, seen in beside.items()]


def render_table(figures: Sequence[Fairness]) -> str:
    head = "| beside | p99 alone, ms | p99, ms | slower | errors | memory at rest, MB | at most | ratio |"
    rows = [
        f"| {each.attack} | {each.alone_p99_ms} | {each.p99_ms} | {each.slower} | {each.errors}"
        f" | {each.rest_mb} | {each.most_mb} | {each.memory} |"
        for each in figures
    ]
    return "\n".join([head, "|---|" + "---:|" * 7, *rows])


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fairness", description=__doc__)
    parser.add_argument("--only", action="append", choices=sorted(ATTACKS), help="one attack; may be repeated")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of calls in each (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="also put the table into docs/performance.md")
    parser.add_argument("-o", "--output", choices=("markdown", "json"), default="markdown")
    options = parser.parse_args()
    try:
        figures = carry_out(options.only or list(ATTACKS), options.rounds, options.seconds)
    except BenchFailed as problem:
        print(f"fairness: {problem}", file=sys.stderr)
        return 1
    print(json.dumps([asdict(each) for each in figures]) if options.output == "json" else render_table(figures))
    if options.write:
        write_block(PAGE, render_table(figures), MARKS)
    unfair = [each.attack for each in figures if not each.is_fair]
    if unfair:
        print(f"fairness: not held beside {', '.join(unfair)}", file=sys.stderr)
    return 1 if unfair else 0


if __name__ == "__main__":
    sys.exit(main())
