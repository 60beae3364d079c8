"""What one hostile client does at full rate, a process of its own: `python -m benchmarks.attacks KIND BASE CORE`."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, Final  # Any: JSON
from urllib.parse import urlsplit

import uvloop

_AT_ONCE: Final = 8  # connections that one attack uses, where it does not open them for their own sake
_MEMBERS: Final = 100_000
_LEVELS: Final = 500_000
_LEGACY: Final = "2025-11-25"
_numbers = count(1)


def message(method: str, params: Any) -> bytes:  # Any: JSON
    return json.dumps({"jsonrpc": "2.0", "id": next(_numbers), "method": method, "params": params}).encode()


def call(arguments: Any, tool: str = "echo") -> bytes:  # Any: JSON
    return message("tools/call", {"name": tool, "arguments": arguments})


def initialize(capabilities: dict[str, Any] | None = None) -> bytes:
    info = {"name": "hostile", "version": "1"}
    return message("initialize", {"protocolVersion": _LEGACY, "capabilities": capabilities or {}, "clientInfo": info})


class Peer:
    """One connection, opened again as often as it is closed."""

    def __init__(self, base: str, path: str = "/mcp/hostile") -> None:
        parts = urlsplit(base)
        self._host, self._port, self._path = parts.hostname, parts.port, path
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.session = ""

    async def raw(self, data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        self._streams[1].write(data)
        await self._streams[1].drain()
        return self._streams

    def hang_up(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None

    async def post(self, body: bytes, more: str = "") -> tuple[str, bytes]:
        """The head and the body of the answer."""
        session = f"Mcp-Session-Id: {self.session}\r\n" if self.session else ""
        head = (
            f"POST {self._path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n{session}{more}\r\n"
        )
        try:
            reader, _ = await self.raw(head.encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            return answer, await self._body(reader, answer.lower())
        except (OSError, EOFError, asyncio.LimitOverrunError):
            self.hang_up()
            return "", b""

    async def _body(self, reader: asyncio.StreamReader, head: str) -> bytes:
        if "content-length:" in head:
            return await reader.readexactly(int(head.split("content-length:")[1].split("\r\n")[0]))
        if "chunked" not in head:
            return b""
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
        return body

    async def open(self, capabilities: dict[str, Any] | None = None) -> bool:
        self.session = ""
        head, _ = await self.post(initialize(capabilities))
        for line in head.split("\r\n"):
            if line.lower().startswith("mcp-session-id:"):
                self.session = line.partition(":")[2].strip()
        if self.session:
            await self.post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return bool(self.session)


Attack = Callable[[str], Awaitable[None]]


def again_and_again(body: Callable[[], bytes]) -> Attack:
    """The same kind of request on each connection, as fast as it is answered."""

    async def one(base: str) -> None:
        peer = Peer(base)
        await peer.open()
        while True:
            head, _ = await peer.post(body())
            if not head or " 404 " in head[:20]:
                await asyncio.sleep(0.01)
                await peer.open()

    async def attack(base: str) -> None:
        await asyncio.gather(*(one(base) for _ in range(_AT_ONCE)))

    return attack


def prepared(body: bytes) -> Callable[[], bytes]:
    return lambda: body


async def open_sessions(base: str) -> None:
    """A session after the other, each with a process of its own, and none of them ever ended."""
    while True:
        if not await Peer(base).open({"elicitation": {}, "roots": {}}):
            await asyncio.sleep(0.001)


async def hold_questions(base: str) -> None:
    """Calls with large arguments whose question nobody answers, by a client without a session."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        "io.modelcontextprotocol/clientInfo": {"name": "hostile", "version": "1"},
    }
    params = {"name": "echo", "arguments": {"text": "x" * 1_000_000}, "_meta": meta}
    named = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"

    async def one() -> None:
        peer = Peer(base)
        while True:
            head, _ = await peer.post(message("tools/call", params), named)
            if not head:
                await asyncio.sleep(0.01)

    await asyncio.gather(*(one() for _ in range(_AT_ONCE)))


async def begin_heads(base: str) -> None:
    """Connections that each begin a request and never end it."""
    peers: list[Peer] = []
    while True:
        peer = Peer(base)
        try:
            await peer.raw(b"POST /mcp/hostile HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Pad: " + b"x" * 1000)
            peers.append(peer)
        except OSError:
            await asyncio.sleep(0.01)
        if len(peers) > 5000:
            peers.pop(0).hang_up()


async def begin_bodies(base: str) -> None:
    """Connections that each send three of the four megabytes that they announced."""
    peers: list[Peer] = []
    while True:
        peer = Peer(base)
        head = b"POST /mcp/hostile HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        try:
            await peer.raw(head + b"Content-Length: 4000000\r\n\r\n" + b"x" * 3_000_000)
            peers.append(peer)
        except OSError:
            await asyncio.sleep(0.01)
        if len(peers) > 500:
            peers.pop(0).hang_up()


async def send_long_heads(base: str) -> None:
    """Heads without end, a megabyte at a time."""

    async def one() -> None:
        while True:
            peer = Peer(base)
            try:
                await peer.raw(b"POST /mcp/hostile HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Pad: ")
                for _ in range(200):
                    await peer.raw(b"x" * 1_000_000)
            except OSError:
                await asyncio.sleep(0.001)
            peer.hang_up()

    await asyncio.gather(*(one() for _ in range(_AT_ONCE)))


async def list_everything(base: str) -> None:
    """A client of all servers that lists, while one of them says that its lists have changed."""
    peer = Peer(base, "/mcp")
    while True:
        if not peer.session:
            await peer.open()
        for method in ("tools/list", "resources/list"):
            head, _ = await peer.post(message(method, {}))
            if not head:
                peer.session = ""
        await asyncio.sleep(0.05)


ATTACKS: Final[dict[str, tuple[str, Attack]]] = {  # by name: what its server is like, and what its client does
    "undeclared objects": ("calm", again_and_again(prepared(call({f"k{n}": {} for n in range(_MEMBERS)})))),
    "deep ping": (
        "calm",
        again_and_again(prepared(message("ping", {})[:-3] + b'{"a":' + b"[" * _LEVELS + b"]" * _LEVELS + b"}}")),
    ),
    "lone surrogates": (
        "calm",
        again_and_again(prepared(message("ping", {})[:-3] + b'{"a":"' + rb"\ud800x" * 200_000 + b'"}}')),
    ),
    "many tools": ("many-tools", list_everything),
    "many uris": ("many-uris", list_everything),
    "list storm": ("storm", list_everything),
    "half heads": ("calm", begin_heads),
    "half bodies": ("calm", begin_bodies),
    "long heads": ("calm", send_long_heads),
    "sessions": ("calm", open_sessions),
    "held questions": ("asks", hold_questions),
    "refused calls": ("calm", again_and_again(lambda: call({"text": 1}))),
    "unreadable bodies": ("calm", again_and_again(prepared(b"[1,2"))),
}


def main() -> None:
    name, base, core = sys.argv[1:]
    # It has a machine of its own, elsewhere; here it must not take the time of what is measured.
    if core:
        os.sched_setaffinity(0, {int(core)})
    elif hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(19)
    uvloop.run(_run(ATTACKS[name][1], base))


async def _run(attack: Attack, base: str) -> None:
    await attack(base)


if __name__ == "__main__":
    main()
