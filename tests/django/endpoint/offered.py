"""Tools behind the protocol's half of the endpoint, without Django: one that works, and one for each way to fail."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcp.types import TextContent

from handfast.core.call.exchange import RecordingFailed
from handfast.toolkit import Answer, Reply, ToolError, ToolRegistry, read_tool
from handfast.toolkit.protocol.methods import Offer
from handfast.toolkit.running.slow_lanes import run_here
from handfast.toolkit.writing.status_envelope import ok

Json = dict[str, Any]  # Any: JSON

NUMBERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}
SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"], "additionalProperties": False}
NOTHING: Json = {"type": "object", "properties": {}, "additionalProperties": False}
WEIGHT: Json = {"type": "object", "properties": {"grams": {"type": "number"}}, "additionalProperties": False}
MARKED = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "additionalProperties": False,
}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def add(*, app_state: Any, arguments: Json, actor: Any = None) -> str:
    return ok({"sum": arguments["a"] + arguments.get("b", 0)})


async def fail(*, app_state: Any, arguments: Json, actor: Any = None) -> Any:
    raise ToolError("conflict", "It is taken. Choose another.")


async def show(*, app_state: Any, arguments: Json, actor: Any = None) -> Any:
    return Reply({"sum": 3}, TextContent(type="text", text="Look at this."))


async def weigh(*, app_state: Any, arguments: Json, actor: Any = None) -> str:
    return ok({"grams": 5.9722e27})


def registry() -> ToolRegistry:
    tools = ToolRegistry("demo", timeout_s=None, in_threads=True)
    tools.add(read_tool("add", "Add.", input_schema=NUMBERS, output_schema=SUM, handler=add))
    tools.add(read_tool("fail", "Fail.", input_schema=NUMBERS, output_schema=SUM, handler=fail))
    tools.add(read_tool("show", "Show.", input_schema=NUMBERS, output_schema=SUM, handler=show))
    tools.add(read_tool("marked", "Repeated.", input_schema=MARKED, output_schema=SUM, handler=show))
    tools.add(read_tool("weigh", "Weigh.", input_schema=NOTHING, output_schema=WEIGHT, handler=weigh))
    return tools


class Reports:
    """What was reported, in place of a log."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []

    def __call__(self, error: Exception) -> str:
        self.errors.append(error)
        return "the-id"


def offer(**changes: Any) -> Offer:  # Any: fields of an Offer
    tools = registry()

    def call(name: str, arguments: bytes | None) -> Answer:
        if name == "crash":
            raise RuntimeError("a secret")
        if name == "unrecorded":
            raise RecordingFailed
        return run_here(tools.dispatch(name, arguments))

    made = Offer(
        name="demo",
        version="1",
        instructions="",
        refuses_by_protocol=True,
        list_tools=tools.published,
        call=call,
        mirrored={"marked": json.dumps(MARKED).encode()}.get,
        report=Reports(),
    )
    return replace(made, **changes)


def body(method: str, params: Mapping[str, Any] | None = None, **more: Any) -> bytes:  # Any: JSON
    message: Json = {"jsonrpc": "2.0", "id": 1, "method": method, **more}
    if params is not None:
        message["params"] = params
    return json.dumps(message).encode()


def modern(method: str, params: Mapping[str, Any] | None = None) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """A sound modern request: its body, and its headers."""
    headers = [(b"mcp-protocol-version", b"2026-07-28"), (b"mcp-method", method.encode())]
    if params is not None and "name" in params:
        headers.append((b"mcp-name", str(params["name"]).encode()))
    return body(method, {**(params or {}), "_meta": MODERN}), headers
