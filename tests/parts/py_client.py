"""The official Python client and FastMCP's, headless: steps in, JSON lines out. Run by .parts/py/bin/python.

python py_client.py [--sdk mcp|fastmcp] [--mode auto|legacy|2026-07-28] URL | --stdio COMMAND ARGS...
Steps, a JSON list on stdin, one line out for each: {"info": true}, {"list": true}, {"pages": true}, {"ping": true},
{"call": {"name": ..., "arguments": ...}}, {"watch": <the same, with its progress>}, {"cancel": <the same, cancelled
once it reports progress>}, {"resources": true}, {"read": URI}, {"prompts": true}, {"prompt": {"name": ...,
"arguments": ...}}, {"complete": {"prompt": ..., "argument": {"name": ..., "value": ...}}}.
Without a target, a list of whole sessions, one line out for each: {"target": URL or command line, "mode": ...,
"answers": whether the client can be asked for input and for sampling, "steps": [...]}.
"""

import argparse
import asyncio
import json
import os
import sys
from typing import Any  # steps and results are JSON

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    PromptReference,
    TextContent,
)

Json = dict[str, Any]  # Any: as above
SESSION_SECONDS = 45.0  # one that hangs costs only itself
ANSWER = "An answer."


def plain(model: Any) -> Any:  # Any: a model of the SDK, and JSON
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def fill_in(schema: Json) -> Json:
    """The form of an elicitation with every required field filled in."""
    values = {"string": "Ada", "boolean": True, "integer": 1, "number": 1}
    return {name: values[schema["properties"][name]["type"]] for name in schema.get("required", [])}


class Official:
    """`mcp.Client`."""

    def __init__(self, target: str | list[str], *, mode: str, answers: bool) -> None:
        self.asked: list[Json] = []
        handlers = {"sampling_callback": self._sample, "elicitation_callback": self._elicit} if answers else {}
        self.client = self._open(target, mode, handlers)

    def _open(self, target: str | list[str], mode: str, handlers: Json) -> Any:  # Any: a client
        server: object = target
        if not isinstance(target, str):
            server = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
        return Client(server, mode=mode, **handlers)

    async def _sample(self, _context: object, params: Any) -> CreateMessageResult:  # Any: the SDK's params
        self.asked.append({"sampling": plain(params)})
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text=ANSWER), model="none")

    async def _elicit(self, _context: object, params: Any) -> ElicitResult:  # Any: as above
        self.asked.append({"elicitation": plain(params)})
        return ElicitResult(action="accept", content=fill_in(params.requested_schema))

    async def call(self, name: str, arguments: Json | None = None, **more: Any) -> Any:  # Any: the SDK's
        return await self.client.call_tool(name, arguments, **more)

    async def list_page(self, cursor: str | None) -> Any:  # Any: as above
        return await self.client.list_tools(cursor=cursor)

    async def ping(self) -> Json:
        return plain(await self.client.send_ping())  # type: ignore[no-any-return]  # JSON

    async def other(self, kind: str, what: Any) -> Any:  # Any: JSON, and a model of the SDK
        client = self.client
        if kind == "resources":
            return await client.list_resources()
        if kind == "read":
            return await client.read_resource(what)
        if kind == "prompts":
            return await client.list_prompts()
        if kind == "prompt":
            return await client.get_prompt(what["name"], what.get("arguments"))
        return await client.complete(PromptReference(name=what["prompt"]), what["argument"])


class Fastmcp(Official):
    """`fastmcp.Client`, by the methods that give whole results."""

    def _open(self, target: str | list[str], mode: str, handlers: Json) -> Any:  # Any: a client
        # Only here: importing fastmcp takes a second.
        from fastmcp import Client as FastClient  # type: ignore[import-not-found]  # lives in .parts only
        from fastmcp.client.transports import StdioTransport  # type: ignore[import-not-found]  # lives in .parts only

        server: object = target
        if not isinstance(target, str):
            server = StdioTransport(target[0], target[1:], env=dict(os.environ), keep_alive=False)
        if handlers:
            handlers = {"sampling_handler": self._sample_text, "elicitation_handler": self._elicit_form}
        return FastClient(server, mode=mode, **handlers)

    async def _sample_text(self, _messages: object, params: Any, _context: object) -> str:  # Any: the SDK's params
        self.asked.append({"sampling": plain(params)})
        return ANSWER

    async def _elicit_form(self, _message: str, _type: object, params: Any, _context: object) -> Json:  # Any: as above
        self.asked.append({"elicitation": plain(params)})
        return fill_in(params.requested_schema)

    async def call(self, name: str, arguments: Json | None = None, **more: Any) -> Any:  # Any: the SDK's
        if "progress_callback" in more:
            more = {"progress_handler": more["progress_callback"]}
        return await self.client.call_tool_mcp(name, arguments or {}, **more)

    async def list_page(self, cursor: str | None) -> Any:  # Any: as above
        return await self.client.list_tools_mcp(cursor=cursor)

    async def ping(self) -> Json:
        await self.client.ping()
        return {}

    async def other(self, kind: str, what: Any) -> Any:  # Any: JSON, and a model of the SDK
        client = self.client
        if kind == "resources":
            return await client.list_resources_mcp()
        if kind == "read":
            return await client.read_resource_mcp(what)
        if kind == "prompts":
            return await client.list_prompts_mcp()
        if kind == "prompt":
            return await client.get_prompt_mcp(what["name"], what.get("arguments"))
        return await client.complete_mcp(PromptReference(name=what["prompt"]), what["argument"])


CLIENTS: dict[str, type[Official]] = {"mcp": Official, "fastmcp": Fastmcp}


async def take(session: Official, step: Json) -> Any:  # Any: JSON
    ((kind, what),) = step.items()
    if kind == "info":
        info = session.client.server_info
        return {
            "serverInfo": None if info is None else plain(info),
            "protocolVersion": session.client.protocol_version,
        }
    if kind == "list":
        return plain(await session.list_page(None))
    if kind == "pages":
        return await follow_pages(session)
    if kind == "call":
        return plain(await session.call(**what))
    if kind == "watch":
        return await watch(session, what)
    if kind == "cancel":
        return await cancel(session, what)
    if kind == "ping":
        return await session.ping()
    return plain(await session.other(kind, what))


async def follow_pages(session: Official) -> list[Any]:  # Any: JSON
    pages = [plain(await session.list_page(None))]
    while "nextCursor" in pages[-1]:
        pages.append(plain(await session.list_page(pages[-1]["nextCursor"])))
    return pages


async def watch(session: Official, what: Json) -> Json:
    seen: list[list[object]] = []

    async def on_progress(*progress: object) -> None:
        seen.append(list(progress))

    return {"result": plain(await session.call(**what, progress_callback=on_progress)), "progress": seen}


async def cancel(session: Official, what: Json) -> Json:
    with anyio.CancelScope() as scope:

        async def on_progress(*_progress: object) -> None:
            scope.cancel()

        await session.call(**what, progress_callback=on_progress)
    return {"cancelled": scope.cancelled_caught}


async def outcome_of(session: Official, step: Json) -> Json:
    session.asked.clear()
    try:
        found: Json = {"result": await take(session, step)}
    except Exception as error:  # noqa: BLE001 - whatever the client raises is the step's outcome
        found = failure(error)
    return {**found, "asked": list(session.asked)} if session.asked else found


def show(line: object) -> None:
    print(json.dumps(line), flush=True)


def failure(error: BaseException) -> Json:
    """The innermost error: task groups wrap it, once per level."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    code = error.error.code if isinstance(error, MCPError) else type(error).__name__
    return {"error": {"code": code, "message": str(error)}}


async def drive_session(sdk: str, wanted: Json) -> list[Json]:
    """All outcomes of one session; one that did not connect, or broke off, ends with an error of its own."""
    outcomes: list[Json] = []
    try:
        async with asyncio.timeout(SESSION_SECONDS):
            session = CLIENTS[sdk](wanted["target"], mode=wanted["mode"], answers=wanted["answers"])
            async with session.client:
                for step in wanted["steps"]:
                    outcomes.append(await outcome_of(session, step))  # noqa: PERF401 - kept if a later one hangs
    except Exception as error:  # noqa: BLE001 - it did not connect, or not close: that is the outcome
        outcomes.append(failure(error))
    return outcomes


async def drive_steps(options: argparse.Namespace, steps: list[Json]) -> None:
    session = CLIENTS[options.sdk](options.stdio or options.url, mode=options.mode, answers=False)
    async with session.client:
        for step in steps:
            show(await outcome_of(session, step))


async def drive_sessions(sdk: str, sessions: list[Json]) -> None:
    for wanted in sessions:
        show(await drive_session(sdk, wanted))


def read_command_line() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sdk", default="mcp", choices=sorted(CLIENTS))
    parser.add_argument("--mode", default="auto")
    parser.add_argument("--stdio", nargs=argparse.REMAINDER)
    parser.add_argument("url", nargs="?")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        options, wanted = read_command_line(), json.load(sys.stdin)
        if options.stdio or options.url:
            asyncio.run(drive_steps(options, wanted))
        else:
            asyncio.run(drive_sessions(options.sdk, wanted))
    except Exception as error:  # noqa: BLE001 - it did not connect: that is the outcome
        show(failure(error))
        sys.exit(1)
