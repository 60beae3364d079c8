"""A server of the SDK in this process, spoken to in JSON-RPC messages: nothing is listed or checked on the way."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from tests.contracts.rig import MODERN_META

Json = Any  # Any: decoded JSON


class Wire:
    """One client's end of it."""

    def __init__(
        self,
        sending: MemoryObjectSendStream[SessionMessage | Exception],
        receiving: MemoryObjectReceiveStream[SessionMessage],
        *,
        is_modern: bool,
    ) -> None:
        self._sending = sending
        self._receiving = receiving
        self._is_modern = is_modern
        self._ids = count(1)
        self._answers: dict[Json, Json] = {}
        self.aside: list[Json] = []  # what came without being asked for

    async def send(self, message: bytes) -> None:
        await self._sending.send(SessionMessage(jsonrpc_message_adapter.validate_json(message)))

    async def exchange(self, message: bytes) -> Json:
        """Send the exact text of a request; the answer to it."""
        await self.send(message)
        number = json.loads(message)["id"]
        while number not in self._answers:
            await self._receive()
        return self._answers.pop(number)

    async def heard(self, method: str) -> Json:
        """The first notification of this kind that has come or comes."""
        while not (found := [aside for aside in self.aside if aside["method"] == method]):
            await self._receive()
        return found[0]

    async def _receive(self) -> None:
        message = (await self._receiving.receive()).message.model_dump(by_alias=True, exclude_none=True)
        if "method" in message:
            self.aside.append(message)
        else:
            self._answers[message["id"]] = message

    async def request(self, method: str, **params: Json) -> Json:
        """The result, or the error."""
        own = {"_meta": MODERN_META} if self._is_modern else {}
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": {**own, **params}}
        answer = await self.exchange(json.dumps(message).encode())
        return answer.get("result") or answer["error"]

    async def call(self, tool: str, arguments: Json = None, **params: Json) -> Json:
        return await self.request("tools/call", name=tool, arguments=arguments or {}, **params)

    async def open(self) -> None:
        if self._is_modern:
            return
        who = {"name": "wire", "version": "1"}
        await self.request("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=who)
        await self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')


@asynccontextmanager
async def wired(server: MCPServer[Any] | Server[Any], *, is_modern: bool = True) -> AsyncIterator[Wire]:
    lowlevel = server._lowlevel_server if isinstance(server, MCPServer) else server
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](1)
    async with anyio.create_task_group() as group, to_server, from_server:
        group.start_soon(lowlevel.run, incoming, outgoing, lowlevel.create_initialization_options())
        wire = Wire(to_server, from_server, is_modern=is_modern)
        await wire.open()
        yield wire
        to_server.close()  # the client leaves; the server ends by itself
