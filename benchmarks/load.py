"""The load generator, a process of its own: one job per line on stdin, one outcome per line on stdout."""

import asyncio
import json
import statistics
import sys
import time
from itertools import count
from typing import Any  # Any: jobs and outcomes are JSON

import uvloop

from benchmarks import traffic
from benchmarks.processes import cpu_seconds
from handfast.gateway.http.client import HttpClient

_LIMIT = 64 * 1024 * 1024
_WARM_UP = 5  # calls on a fresh pipe before it is measured
_ANSWER_SECONDS = 60.0


class WrongAnswer(Exception):
    """A call did not get the result it asked for; a run with one of these measures nothing."""


class Timings:
    """Call after call until enough were made or the time is up."""

    def __init__(self, calls: int, seconds: float) -> None:
        self._numbers = iter(range(calls))
        self._began = time.perf_counter()
        self._deadline = self._began + seconds
        self.times: list[float] = []

    def next_number(self) -> int | None:
        """The next call's, None when it is enough; at least one call is always made."""
        is_time = not self.times or time.perf_counter() < self._deadline
        return next(self._numbers, None) if is_time else None

    def outcome(self) -> dict[str, Any]:
        seconds = time.perf_counter() - self._began
        ordered = sorted(self.times)
        return {
            "calls": len(ordered),
            "seconds": seconds,
            "p50_ms": statistics.median(ordered) * 1000,
            "p99_ms": ordered[int(len(ordered) * 0.99)] * 1000,
        }


async def load_http(job: dict[str, Any]) -> dict[str, Any]:
    client = HttpClient(job["url"])
    tool = job["tool"]
    traffic.least_bytes(tool)  # known before the clock starts
    timings = Timings(job["calls"], job["seconds"])
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(job["clients"]):
                group.create_task(_call_on(client, tool, timings))
    finally:
        await client.close()
    return timings.outcome()


async def _call_on(client: HttpClient, tool: str, timings: Timings) -> None:
    headers, least = traffic.headers(tool), traffic.least_bytes(tool)
    # Taken apart once: the load generator shares two cores with what it measures.
    before, after = traffic.call(tool, 987_654_321).split(b"987654321", 1)
    while (number := timings.next_number()) is not None:
        began = time.perf_counter()
        body = b"%b%d%b" % (before, number, after)
        response = await client.request("POST", headers, body, response_timeout=_ANSWER_SECONDS)
        answer = await response.read(_LIMIT)
        timings.times.append(time.perf_counter() - began)
        if response.status != 200 or len(answer) < least:
            raise WrongAnswer(f"HTTP {response.status}: {answer[:200]!r}")


async def load_stdio(job: dict[str, Any]) -> dict[str, Any]:
    """One client on one pipe, the tools one after another; the outcome is by tool."""
    began = time.perf_counter()
    child = await asyncio.create_subprocess_exec(
        *job["command"],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_LIMIT,
    )
    numbers = count()
    try:
        await _ask(child, traffic.JUDGED, next(numbers))
        start_s = time.perf_counter() - began
        by_tool = {}
        for tool in job["tools"]:
            by_tool[tool] = await _call_on_pipe(child, tool, numbers, job)
    finally:
        await _end(child)
    return {"start_s": start_s, "tools": by_tool}


async def _call_on_pipe(
    child: asyncio.subprocess.Process, tool: str, numbers: "count[int]", job: dict[str, Any]
) -> dict[str, Any]:
    for _ in range(min(_WARM_UP, job["calls"])):
        await _ask(child, tool, next(numbers))
    cpu = cpu_seconds(child.pid)
    timings = Timings(job["calls"], job["seconds"])
    while timings.next_number() is not None:
        began = time.perf_counter()
        await _ask(child, tool, next(numbers))
        timings.times.append(time.perf_counter() - began)
    outcome = timings.outcome()
    return outcome | {"cpu_ms": (cpu_seconds(child.pid) - cpu) / outcome["calls"] * 1000}


async def _ask(child: asyncio.subprocess.Process, tool: str, number: int) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(traffic.call(tool, number) + b"\n")
    answer = await asyncio.wait_for(child.stdout.readline(), _ANSWER_SECONDS)
    if len(answer) < traffic.least_bytes(tool):
        raise WrongAnswer(f"on stdio: {answer[:200]!r}")


async def _end(child: asyncio.subprocess.Process) -> None:
    assert child.stdin is not None
    child.stdin.close()
    try:
        await asyncio.wait_for(child.wait(), 5)
    except TimeoutError:
        child.kill()
        await child.wait()


def main() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        work = load_stdio(job) if "command" in job else load_http(job)
        try:
            outcome = uvloop.run(work)
        except Exception as problem:  # noqa: BLE001 - the process's edge: the one that asked reports it
            while isinstance(problem, ExceptionGroup):
                problem = problem.exceptions[0]
            outcome = {"problem": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main()
