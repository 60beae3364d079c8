"""scripts/soak mixed: callers of both eras with equal ids, servers that crash and restart, abandoned sessions."""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any  # Any: JSON

import uvloop

from benchmarks.processes import ROOT, BenchFailed, free_port, resident_mb
from handfast.activity.query import RecordFilter
from handfast.activity.sqlite import SqliteStore
from handfast.core.call.contract import LIST_UNAVAILABLE
from handfast.core.call.exchange import RecordType
from handfast.gateway.http.client import HttpClient, UpstreamFailed

_LIMIT = 8 * 1024 * 1024
_LEGACY, _MODERN = "2025-11-25", "2026-07-28"
_CALLERS = 24
_CALLS_A_SESSION = 40
_QUIET_SECONDS = 4.0  # idle connections are closed and a session's child is gone by then
_SESSION_IDLE_SECONDS = 10.0  # so that what is abandoned is level long before the end
_CHAOS_SECONDS = 7.0
_RELOAD_EVERY = 3  # of those
# Servers by name: over which transport, of which era, with events or without.
SERVERS = {"pipe_old": ("stdio", True, False), "pipe_new": ("stdio", False, False)}
SERVERS |= {"web_old": ("http", True, False), "web_new": ("http", False, True)}
DOORS = (*SERVERS, "")
_DECISIONS = ("arguments.", "result.", "contract.unlisted", "combined.refused")  # the rules that callers here break
# What callers do, and how often in a hundred times.
ACTS = {"echo": 62, "large": 5, "late": 10, "lie": 6, "wrong": 8, "unlisted": 5, "leave": 4}


@dataclass(frozen=True, slots=True)
class Level:
    """What the gateway takes at one moment, with nobody calling."""

    memory_mb: float
    descriptors: int
    processes: int
    tasks: int


@dataclass(frozen=True, slots=True)
class Outcome:
    seconds: float
    requests: int
    answers: dict[str, int]
    wrong: list[str]
    decisions: int
    recorded: int
    early: Level
    late: Level

    def problems(self) -> list[str]:
        found = list(dict.fromkeys(self.wrong))[:10]
        answered = sum(self.answers.values())
        if answered != self.requests:
            found.append(f"{self.requests} requests, {answered} answers")
        if self.recorded != self.decisions:
            found.append(f"{self.decisions} decisions were answered, {self.recorded} are on record")
        if self.answers.get("failed", 0) > self.requests / 10:
            found.append(f"{self.answers['failed']} of {self.requests} requests failed")
        if self.late.memory_mb > self.early.memory_mb * 1.15 + 4:
            found.append(f"memory grew from {self.early.memory_mb} to {self.late.memory_mb} MB")
        for name in ("descriptors", "processes", "tasks"):
            early, late = getattr(self.early, name), getattr(self.late, name)
            if late > early + 3:  # a child that a crash took is started when it is next asked for
                found.append(f"{name} grew from {early} to {late}")
        return found


class Stage:
    """The gateway and its HTTP servers, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._generation = 0
        self._ports = {name: free_port() for name, (transport, *_) in SERVERS.items() if transport == "http"}
        self._webs = {name: self._start_web(name) for name in self._ports}
        self._config = folder / "handfast.json"
        self._counts = folder / "tasks"
        self._write_config()
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        options = ["--config", str(self._config), "--listen", f"127.0.0.1:{port}", "--state", str(folder / "state")]
        command = [sys.executable, "-m", "benchmarks.servers.counted", str(self._counts), "serve", *options]
        self.gateway = self._start(command, "gateway.log")

    def _start(self, command: list[str], log: str) -> "subprocess.Popen[bytes]":
        with (self._folder / log).open("ab") as output:
            return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def _arguments(self, name: str) -> list[str]:
        transport, is_legacy, is_streaming = SERVERS[name]
        flags = ["--port", str(self._ports[name])] if transport == "http" else []
        flags += ["--legacy"] if is_legacy else []
        return ["-m", "benchmarks.servers.nonces", *flags, *(["--sse"] if is_streaming else [])]

    def _start_web(self, name: str) -> "subprocess.Popen[bytes]":
        return self._start([sys.executable, *self._arguments(name)], f"{name}.log")

    def _write_config(self) -> None:
        entries: dict[str, object] = {}
        for name, (transport, *_) in SERVERS.items():
            if transport == "http":
                entries[name] = {"url": f"http://127.0.0.1:{self._ports[name]}/mcp"}
            else:
                env = {"GENERATION": str(self._generation)}
                entries[name] = {"command": sys.executable, "args": self._arguments(name), "cwd": str(ROOT), "env": env}
        strict = {"mode": "strict"}
        limits = {"session_idle_s": _SESSION_IDLE_SECONDS}
        whole = {"mcpServers": entries, "input_validation": strict, "output_validation": strict, "limits": limits}
        self._config.write_text(json.dumps(whole))

    def reload(self) -> None:
        """Every stdio server gets another environment, so it is started again."""
        self._generation += 1
        self._write_config()
        self.gateway.send_signal(signal.SIGHUP)

    def kill_web(self, name: str) -> None:
        self._webs[name].kill()
        self._webs[name].wait()
        self._webs[name] = self._start_web(name)

    @property
    def state(self) -> Path:
        return self._folder / "state"

    async def level(self) -> Level:
        pid = self.gateway.pid
        self._counts.unlink(missing_ok=True)
        self.gateway.send_signal(signal.SIGUSR2)
        deadline = time.monotonic() + 10
        while not self._counts.exists():
            if time.monotonic() > deadline:
                raise BenchFailed(f"the gateway does not say how many tasks it has: {await self.last_words()}")
            await asyncio.sleep(0.05)
        children = sum(_parent(each) == pid for each in os.listdir("/proc") if each.isdigit())
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        return Level(round(resident_mb(pid), 1), descriptors, children, int(self._counts.read_text()))

    async def last_words(self) -> str:
        """Whether the gateway still runs, and the end of what it printed, with where it stands."""
        ended = self.gateway.poll()
        self.gateway.send_signal(signal.SIGUSR1)
        await asyncio.sleep(1)
        log = (self._folder / "gateway.log").read_text(errors="replace")
        return f"the gateway {'runs' if ended is None else f'ended with {ended}'} and said: {log[-3000:]}"

    def stop(self) -> None:
        for process in (self.gateway, *self._webs.values()):
            process.terminate()
        for process in (self.gateway, *self._webs.values()):
            process.wait(20)


def _parent(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


class Caller:
    """One client after another at one door: a session of forty calls, or as many requests without one."""

    def __init__(self, base: str, number: int, tally: "Tally") -> None:
        self._base = base
        self._random = random.Random(number)
        self._number = number
        self._tally = tally
        self._clients = {door: HttpClient(f"{base}/mcp/{door}".rstrip("/")) for door in DOORS}

    async def run(self, go: asyncio.Event, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await go.wait()  # a session that is opened while it is quiet would be counted, with its process
            door, is_modern = self._random.choice(DOORS), self._random.random() < 0.5
            headers = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]
            headers.append((b"mcp-protocol-version", (_MODERN if is_modern else _LEGACY).encode()))
            if not is_modern:
                session = await self._open(door, headers)
                if session is None:
                    await asyncio.sleep(0.1)
                    continue
                headers.append((b"mcp-session-id", session))
            for turn in range(1, _CALLS_A_SESSION + 1):
                await go.wait()
                if stop.is_set() or not await self._act(door, headers, turn, is_modern=is_modern):
                    break
            if not is_modern and self._random.random() < 0.5:  # the others are abandoned
                await self._quietly(door, "DELETE", headers[1:])

    async def _open(self, door: str, headers: list[tuple[bytes, bytes]]) -> bytes | None:
        # Every fourth can be asked, so it gets a process of its own.
        capabilities: dict[str, Any] = {"elicitation": {}} if self._random.random() < 0.25 else {}
        info = {"name": f"caller-{self._number}", "version": "1"}
        params = {"protocolVersion": _LEGACY, "capabilities": capabilities, "clientInfo": info}
        opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        try:
            response = await self._clients[door].request(
                "POST", headers, json.dumps(opening).encode(), response_timeout=60
            )
            await response.read(_LIMIT)
        except UpstreamFailed:
            return None
        return response.header(b"mcp-session-id")

    async def _quietly(self, door: str, method: str, headers: list[tuple[bytes, bytes]]) -> None:
        try:
            (await self._clients[door].request(method, headers, response_timeout=60)).abort()
        except UpstreamFailed:
            return

    async def _act(self, door: str, headers: list[tuple[bytes, bytes]], turn: int, *, is_modern: bool) -> bool:
        """One call. False where its session is over."""
        (act,) = self._random.choices(list(ACTS), list(ACTS.values()))
        nonce = token_hex(12)
        tool = {"wrong": "echo", "unlisted": "nowhere", "leave": "late"}.get(act, act)
        name = tool if door else f"{self._random.choice(list(SERVERS))}__{tool}"
        params: dict[str, Any] = {"name": name, "arguments": {"nonce": [nonce] if act == "wrong" else nonce}}
        if is_modern:
            params["_meta"] = _meta(self._number)
            headers = [*headers, (b"mcp-method", b"tools/call"), (b"mcp-name", name.encode())]
        body = json.dumps({"jsonrpc": "2.0", "id": turn, "method": "tools/call", "params": params}).encode()
        sending = asyncio.create_task(self._clients[door].request("POST", headers, body, response_timeout=90))
        if act == "leave":
            await asyncio.wait({sending}, timeout=0.05)
            sending.cancel()
            return True
        self._tally.requests += 1
        try:
            response = await sending
            text = await response.read(_LIMIT)
        except UpstreamFailed as problem:
            self._tally.wrong.append(f"no answer: {problem}")
            return False
        self._tally.take(act, turn, nonce, response.status, text)
        return response.status != 404

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


def _meta(number: int) -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": _MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": f"caller-{number}", "version": "1"},
    }


class Tally:
    """Every answer against what was asked."""

    def __init__(self) -> None:
        self.requests = 0
        self.answers: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.decisions = 0

    def take(self, act: str, turn: int, nonce: str, status: int, text: bytes) -> None:
        messages = [json.loads(part) for part in _messages(text)]
        answers = [each for each in messages if "method" not in each]
        if len(answers) != 1 or (answers[0].get("id") != turn and status == 200):
            self.wrong.append(f"{act}: {len(answers)} answers, status {status}")
        answer = answers[0] if answers else {}
        result = answer.get("result")
        kind = "failed"
        if result is not None and "structuredContent" in result:
            kind = "answered"
            if result["structuredContent"].get("nonce") != nonce or act in ("lie", "wrong", "unlisted"):
                self.wrong.append(f"{act}: another's answer, or one that should have been refused")
        elif LIST_UNAVAILABLE.message.encode() in text:
            kind = "failed"  # its server is being restarted, and those who leave early meet that unseen
        elif (act in ("lie", "wrong") and result is not None and result.get("isError")) or (
            act == "unlisted" and answer.get("error", {}).get("code") == -32602
        ):
            kind = "refused"
        self.answers[kind] += 1
        self.decisions += kind == "refused"


def _messages(text: bytes) -> list[bytes]:
    if text.startswith(b"{"):
        return [text]
    return [line[5:].strip() for line in text.split(b"\n") if line.startswith(b"data:") and line[5:].strip()]


async def disturb(stage: Stage, go: asyncio.Event) -> None:
    """Crashes and reloads, one after the other."""
    chance = random.Random(1)
    clients = {name: HttpClient(f"{stage.base}/mcp/{name}") for name in SERVERS}
    turn = 0
    while True:
        await asyncio.sleep(_CHAOS_SECONDS)
        await go.wait()
        turn += 1
        name = chance.choice(list(SERVERS))
        if turn % _RELOAD_EVERY == 0:
            stage.reload()
        elif SERVERS[name][0] == "http":
            stage.kill_web(name)
        else:
            await _kill_by_call(clients[name])


async def _kill_by_call(client: HttpClient) -> None:
    params = {"name": "die", "arguments": {"nonce": "x"}, "_meta": _meta(-1)}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]
    headers += [(b"mcp-protocol-version", _MODERN.encode()), (b"mcp-method", b"tools/call"), (b"mcp-name", b"die")]
    try:
        await (await client.request("POST", headers, body, response_timeout=60)).read(_LIMIT)
    except UpstreamFailed:
        return


def count_decisions(state: Path) -> int:
    """Calls that were refused or blocked, by their records; one record may stand for many."""
    store = SqliteStore.open_existing(state)
    try:
        kinds = (RecordType.TOOL_CALL, RecordType.POLICY_DECISION)
        records = [found.record for found in store.query(RecordFilter(types=kinds))]
        ours = [record for record in records if record.rule.startswith(_DECISIONS)]
        whole = sum(record.type is RecordType.TOOL_CALL and "count" not in record.details for record in ours)
        counts = [record.details.get("count", 0) for record in ours]
        return whole + sum(count for count in counts if isinstance(count, int))
    finally:
        store.close()


@contextmanager
def staged() -> Iterator[Stage]:
    folder = Path(tempfile.mkdtemp(prefix="mixed-soak-"))
    stage = Stage(folder)
    try:
        yield stage
    finally:
        stage.stop()
        shutil.rmtree(folder, ignore_errors=True)


async def wait_until_up(base: str) -> None:
    client = HttpClient(base)
    for _ in range(600):
        try:
            (await client.request("GET", [], target="/health", response_timeout=5)).abort()
            break
        except UpstreamFailed:
            await asyncio.sleep(0.05)
    await client.close()


async def carry_out(seconds: float, *, early_at: float, callers: int = _CALLERS) -> Outcome:
    """Raises: BenchFailed."""
    with staged() as stage:
        await wait_until_up(stage.base)
        tally, go, stop = Tally(), asyncio.Event(), asyncio.Event()
        go.set()
        crowd = [Caller(stage.base, number, tally) for number in range(callers)]
        work = [asyncio.create_task(caller.run(go, stop)) for caller in crowd]
        chaos = asyncio.create_task(disturb(stage, go))
        began = time.perf_counter()
        levels = []
        for phase in (early_at, seconds - early_at):
            deadline = time.perf_counter() + phase
            while (left := deadline - time.perf_counter()) > 0:
                await asyncio.sleep(min(left, 10.0))
                print(f"soak: {time.perf_counter() - began:.0f} s, {tally.requests:,} requests", file=sys.stderr)
                if stage.gateway.poll() is not None:
                    raise BenchFailed(await stage.last_words())
            go.clear()
            # A session ends up to half as long again after it is idle, and then the one behind it in the same way.
            await asyncio.sleep(_QUIET_SECONDS + 3 * _SESSION_IDLE_SECONDS)
            levels.append(await stage.level())
            if len(levels) == 2:
                stop.set()
            go.set()
        chaos.cancel()
        await asyncio.gather(*work)
        for caller in crowd:
            await caller.close()
        await asyncio.sleep(1)
        return Outcome(
            seconds=round(time.perf_counter() - began, 1),
            requests=tally.requests,
            answers=dict(tally.answers),
            wrong=tally.wrong,
            decisions=tally.decisions,
            recorded=count_decisions(stage.state),
            early=levels[0],
            late=levels[1],
        )


def render_table(outcome: Outcome) -> str:
    rows = [f"| {name} | {value:,} |" for name, value in sorted(outcome.answers.items())]
    rows += [f"| decisions answered | {outcome.decisions:,} |", f"| decisions on record | {outcome.recorded:,} |"]
    for name, early in asdict(outcome.early).items():
        rows.append(f"| {name}, early and at the end | {early:,}, {getattr(outcome.late, name):,} |")
    return "\n".join([f"| {outcome.seconds:.0f} s | {outcome.requests:,} requests |", "|---|---:|", *rows])


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak mixed", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (default: %(default)s)")
    parser.add_argument("--early", type=float, default=120.0, help="when the level is taken (default: %(default)s)")
    parser.add_argument("-o", "--output", choices=("markdown", "json"), default="markdown")
    options = parser.parse_args()
    try:
        outcome = uvloop.run(carry_out(options.seconds, early_at=options.early))
    except BenchFailed as problem:
        print(f"soak: {problem}", file=sys.stderr)
        return 1
    print(json.dumps(asdict(outcome)) if options.output == "json" else render_table(outcome))
    for text in outcome.problems():
        print(f"soak: {text}", file=sys.stderr)
    return 1 if outcome.problems() else 0


if __name__ == "__main__":
    sys.exit(main())
