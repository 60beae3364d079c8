"""A server in the modern form, as a Backend: it stands for what is behind handfast, and does what its tools say.

Tools: `echo`, `ask` (rounds of questions, then what was answered), `report` (progress and a log line), `hang`, `flood`,
`touch` (everything changes). What it was asked is in `seen`, what was cancelled in `cancelled`.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from handfast.gateway.translate.backend import Requester
from handfast.wire.message import Message, read_message

Json = Any  # Any: decoded JSON
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
DISCOVERY = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "logging": {},
        "extensions": {"io.example/x": {}},
    },
    "instructions": "Be kind.",
    "ttlMs": 0,
    "cacheScope": "private",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "scripted", "version": "7"}},
}
ELICITATION = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "How many?",
        "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    },
}
SAMPLING = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "Hm?"}}], "maxTokens": 10},
}
ROOTS = {"method": "roots/list"}


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    raw: bytes
    id: object
    method: str
    params: Json
    caller: str
    actor: str
    headers: list[tuple[bytes, bytes]]

    @property
    def meta(self) -> Json:
        return self.params["_meta"]


@dataclass(slots=True)
class Call:
    message: Message
    params: Json
    origin: Requester

    @property
    def arguments(self) -> Json:
        return self.params.get("arguments") or {}

    def notify(self, method: str, params: Json) -> None:
        self.origin.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())


Tool = Callable[["ScriptedServer", Call], Coroutine[Any, Any, Json]]  # Any: a coroutine's send types


class ScriptedServer:
    def __init__(self, tools: Mapping[str, Tool] | None = None, *, discovery: Json = None) -> None:
        self.tools = {**TOOLS, **(tools or {})}
        self.discovery = discovery or DISCOVERY
        self.seen: list[Seen] = []
        self.cancelled: list[str] = []
        self.on_cancelled: Callable[[str], None] = lambda _what: None
        self.listeners: dict[object, tuple[Call, asyncio.Event]] = {}
        self.may_greet = asyncio.Event()
        self.may_greet.set()
        self.refuses_to_listen: Json = None  # an error to answer with
        self.grants: Callable[[Json], Json] = lambda wanted: wanted

    async def request(self, message: Message, origin: Requester) -> Message:
        whole = json.loads(message.raw)
        params = whole.get("params", {})
        assert message.method is not None
        self.seen.append(
            Seen(
                message.raw,
                message.id,
                message.method,
                params,
                origin.caller.name,
                origin.caller.actor,
                list(origin.params or ()),
            )
        )
        try:
            result = await self._result(Call(message, params, origin))
        except asyncio.CancelledError:
            self.cancelled.append(params.get("name") or message.method)
            self.on_cancelled(self.cancelled[-1])
            raise
        if isinstance(result, bytes):
            return read_message(result.replace(b"ID", json.dumps(message.id).encode()))
        answer = {"error": result["error"]} if "error" in result else {"result": {"resultType": "complete", **result}}
        return read_message(json.dumps({"jsonrpc": "2.0", "id": message.id, **answer}).encode())

    async def _result(self, call: Call) -> Json:
        method = call.message.method
        if method == "server/discover":
            await self.may_greet.wait()
            return self.discovery
        if method == "tools/list":
            return {
                "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools],
                "ttlMs": 0,
                "cacheScope": "private",
            }
        if method == "subscriptions/listen":
            return await self._listen(call)
        if method == "tools/call":
            return await self.tools[call.params["name"]](self, call)
        return {"error": {"code": -32601, "message": "There is no such method."}}

    async def _listen(self, call: Call) -> Json:
        if self.refuses_to_listen is not None:
            return {"error": self.refuses_to_listen}
        ended = asyncio.Event()
        meta = {"_meta": {SUBSCRIPTION: call.message.id}}
        granted = self.grants(call.params["notifications"])
        call.notify("notifications/subscriptions/acknowledged", {"notifications": granted, **meta})
        key = object()
        self.listeners[key] = call, ended
        try:
            await ended.wait()
        finally:
            del self.listeners[key]
        return meta

    def publish(self) -> None:
        """Everything that anybody listens for has changed."""
        for call, _ended in list(self.listeners.values()):
            wanted, meta = call.params["notifications"], {"_meta": {SUBSCRIPTION: call.message.id}}
            for flag, kind in (("toolsListChanged", "tools"), ("resourcesListChanged", "resources")):
                if wanted.get(flag):
                    call.notify(f"notifications/{kind}/list_changed", meta)
            for uri in wanted.get("resourceSubscriptions", ()):
                call.notify("notifications/resources/updated", {"uri": uri, **meta})

    def asked(self, method: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.method == method]


def text(value: Json) -> Json:
    return {"content": [{"type": "text", "text": json.dumps(value)}]}


async def _echo(_server: ScriptedServer, call: Call) -> Json:
    return text(call.arguments)


async def _ask(_server: ScriptedServer, call: Call) -> Json:
    """`rounds` is a list of inputRequests; null asks to be called again with nothing but the state."""
    past = json.loads(call.params.get("requestState", "[]"))
    if "requestState" in call.params:
        past.append(call.params.get("inputResponses"))
    rounds = call.arguments["rounds"]
    if len(past) == len(rounds):
        return text(past)
    asked = {"resultType": "input_required", "requestState": json.dumps(past)}
    return asked if rounds[len(past)] is None else {**asked, "inputRequests": rounds[len(past)]}


async def _report(_server: ScriptedServer, call: Call) -> Json:
    meta = call.params["_meta"]
    if "progressToken" in meta:
        call.notify("notifications/progress", {"progressToken": meta["progressToken"], "progress": 1, "total": 2})
    if LOG_LEVEL in meta:
        call.notify("notifications/message", {"level": meta[LOG_LEVEL], "data": "noted"})
    return text(None)


async def _hang(_server: ScriptedServer, call: Call) -> Json:
    for count in range(call.arguments.get("say", 0)):
        call.notify("notifications/message", {"level": "info", "data": count})
    await asyncio.Event().wait()


async def _flood(server: ScriptedServer, call: Call) -> Json:
    """More than anybody may leave unread: until it is stopped, it never waits for its client."""
    while True:
        call.notify("notifications/message", {"level": "info", "data": "x" * 100_000})
        await asyncio.sleep(0)


async def _touch(server: ScriptedServer, _call: Call) -> Json:
    server.publish()
    return text(len(server.listeners))


TOOLS: Mapping[str, Tool] = {
    "echo": _echo,
    "ask": _ask,
    "report": _report,
    "hang": _hang,
    "flood": _flood,
    "touch": _touch,
}
