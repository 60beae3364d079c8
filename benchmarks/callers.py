"""A client of either era that calls one tool again and again, over HTTP or on the pipes of a process that it starts."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final  # Any: decoded JSON

from benchmarks import traffic
from benchmarks.processes import ROOT, BenchFailed
from handfast.gateway.http.client import HttpClient, Response, UpstreamFailed
from handfast.wire.eras import LEGACY_REVISION

LEGACY, MODERN = "legacy", "modern"
_TOOL: Final = traffic.JUDGED
_SECONDS: Final = 120.0  # the first call under callgrind may take a minute
_LIMIT: Final = 1 << 20
_JSON: Final = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]
_OPENING: Final = {
    "protocolVersion": LEGACY_REVISION,
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def _initialize() -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": _OPENING}


def _call(tool: str, era: str, number: int) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(traffic.call(_TOOL, number))
    message["params"]["name"] = tool
    if era == LEGACY:
        del message["params"]["_meta"]
    return message


_INITIALIZED: Final = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class HttpCaller:
    """One client on a connection of its own."""

    def __init__(self, url: str, era: str, *, tool: str = _TOOL, token: str = "") -> None:
        self._client = HttpClient(url)
        self._tool = tool
        self._era = era
        self._signed = [(b"authorization", f"Bearer {token}".encode())] if token else []
        self._headers = _JSON

    async def open(self) -> None:
        if self._era == MODERN:
            named = traffic.headers(_TOOL)[:-1]
            self._headers = [*named, (b"mcp-name", self._tool.encode())]
            return
        response, _ = await self._post(_initialize())
        session = response.header(b"mcp-session-id")
        if session is None:
            raise BenchFailed("the gateway opened no session")
        self._headers = [*_JSON, (b"mcp-protocol-version", LEGACY_REVISION.encode()), (b"mcp-session-id", session)]
        await self._post(_INITIALIZED)

    async def call(self, calls: int) -> None:
        for number in range(calls):
            response, answer = await self._post(_call(self._tool, self._era, number))
            if response.status != 200 or len(answer) < traffic.least_bytes(_TOOL):
                raise BenchFailed(f"HTTP {response.status}: {answer[:200]!r}")

    async def _post(self, message: Mapping[str, object]) -> tuple[Response, bytes]:
        body = json.dumps(message).encode()
        try:
            headers = [*self._headers, *self._signed]
            response = await self._client.request("POST", headers, body, response_timeout=_SECONDS)
            return response, await response.read(_LIMIT)
        except UpstreamFailed as problem:
            raise BenchFailed(str(problem)) from None

    async def close(self) -> None:
        await self._client.close()


class PipeCaller:
    """One client and the process that it talks to; one call at a time."""

    def __init__(
        self, command: Sequence[str], era: str, *, log: Path, environ: Mapping[str, str] | None = None
    ) -> None:
        self._command = command
        self._era = era
        self._log = log
        self._environ = environ
        self._numbers = count()
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def open(self) -> None:
        pipe = asyncio.subprocess.PIPE
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=pipe, stdout=pipe, stderr=log, cwd=ROOT, env=self._environ, limit=_LIMIT
            )
        if self._era == LEGACY:
            self._write(_initialize())
            await self._read(b'"protocolVersion"')
            self._write(_INITIALIZED)

    async def call(self, calls: int) -> None:
        for _ in range(calls):
            self._write(_call(_TOOL, self._era, next(self._numbers)))
            await self._read(b'"structuredContent"')

    def _write(self, message: Mapping[str, object]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self, sign: bytes) -> None:
        """An answer that shows this sign of being the one that was asked for."""
        assert self._process is not None
        assert self._process.stdout is not None
        answer = await asyncio.wait_for(self._process.stdout.readline(), _SECONDS)
        if sign not in answer:
            raise BenchFailed(f"on stdio: {answer[:200]!r}; it said: {self._log.read_text()[-800:]}")

    async def close(self) -> None:
        """Ended as a client ends it: by closing its input."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 30)
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
