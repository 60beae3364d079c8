"""Servers of every kind as real processes, over stdio and HTTP, with the official client on the other side."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Literal

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from handfast.activity.query import EVERYTHING
from handfast.activity.sqlite import SqliteStore
from tests.parts import PYTHON, ROOT, free_port, wait_for_port

Mode = Literal["legacy", "auto", "2026-07-28"]
How = Literal["bare", "contract"]
MODES: tuple[Mode, ...] = ("legacy", "2026-07-28")


def command(which: str, how: How, *port: str) -> list[str]:
    """The low-level and the high-level server run here; what comes from elsewhere runs where it is installed."""
    python = sys.executable if which in ("high", "low") else str(PYTHON)
    return [python, "-m", "tests.toolkit.adapters.serve", which, how, *port]


def environment(folder: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join(str(part) for part in (ROOT / "src", ROOT))
    own = {"PYTHONPATH": path, "HANDFAST_STATE": str(folder), "HANDFAST_ACTOR": "ada", "TMPDIR": str(folder)}
    return {**os.environ, **own, "FASTMCP_LOG_LEVEL": "ERROR", **more}


@asynccontextmanager
async def over_stdio(which: str, how: How, folder: Path, mode: Mode = "auto", **more: str) -> AsyncIterator[Client]:
    program, *arguments = command(which, how)
    server = StdioServerParameters(
        command=program,
        args=arguments,
        env=environment(folder, **more),
        cwd=str(folder),
        encoding_error_handler="strict",
    )
    async with Client(server, mode=mode) as client:
        yield client


@contextmanager
def over_http(which: str, how: How, folder: Path, **more: str) -> Iterator[str]:
    """Give its address."""
    port = free_port()
    with subprocess.Popen(
        command(which, how, str(port)),
        env=environment(folder, **more),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            wait_for_port(port, process, seconds=60)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


Said = tuple[str, str]  # how it ended, and the text the agent reads


async def said(client: Client, tool: str, arguments: dict[str, object]) -> Said:
    try:
        result = await client.call_tool(tool, arguments)
    except MCPError as error:
        return str(error.error.code), error.error.message
    except RuntimeError as error:  # the official client's own verdict on a result: the agent would see nothing
        return "raised", str(error).partition(":")[0]
    return ("error" if result.is_error else "ok"), text_of(result)


def text_of(result: CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, TextContent)
    return block.text


def records(folder: Path) -> list[tuple[str, str, str, str, str]]:
    """What is on record, in the order it was written; the chain is whole."""
    store = SqliteStore.open(folder)
    try:
        return [
            (kept.record.type.value, kept.record.status.value, kept.record.tool, kept.record.rule, kept.record.actor)
            for kept in store.query(EVERYTHING, oldest_first=True)
        ]
    finally:
        store.close()
