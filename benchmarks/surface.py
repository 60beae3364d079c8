"""How much of an agent's context a server's tools take: the whole list, the compact one, and help for one action.

python -m benchmarks.surface [--write]    needs scripts/parts; --write puts the table into docs/compact.md
"""

import argparse
import asyncio
import json
import statistics
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.marked_block import write_block
from benchmarks.processes import ROOT
from handfast.gateway.runtime import Runtime
from handfast.gateway.servers import Servers
from handfast.gateway.settings import load_settings
from handfast.gateway.settings.blocks import Surface
from handfast.gateway.translate.backend import Backend, ask
from handfast.wire.members import member

PAGE = ROOT / "docs" / "compact.md"
MARKS = ("<!-- surface:begin -->", "<!-- surface:end -->")
_PARTS = ROOT / ".parts"
_NPM = _PARTS / "node" / "node_modules" / "@modelcontextprotocol"


@dataclass(frozen=True, slots=True)
class SurfaceRow:
    """Bytes of JSON, as a client gets them."""

    server: str
    tools: int
    full: int
    compact: int
    help: int  # for one action, the median


def commands(folder: Path) -> dict[str, list[str]]:
    """The real servers, each complete as it stands."""
    node = str(_PARTS / "node" / "node")
    return {
        "filesystem": [node, str(_NPM / "server-filesystem" / "dist" / "index.js"), str(folder)],
        "memory": ["env", f"MEMORY_FILE_PATH={folder / 'm'}", node, str(_NPM / "server-memory" / "dist" / "index.js")],
        "everything": [node, str(_NPM / "server-everything" / "dist" / "index.js")],
        "time": [str(_PARTS / "py" / "bin" / "python"), "-m", "mcp_server_time", "--local-timezone", "UTC"],
    }


async def measure(folder: Path) -> list[SurfaceRow]:
    return [await _measure_one(name, command, folder) for name, command in commands(folder).items()]


async def _measure_one(server: str, command: list[str], folder: Path) -> SurfaceRow:
    async with _asking(server, command, folder, Surface.FULL) as full:
        whole = await _listed(full)
    names = [tool["name"] for tool in json.loads(whole)]
    async with _asking(server, command, folder, Surface.COMPACT) as compact:
        short = await _listed(compact)
        helped = [await ask(compact, "tools/call", _help(server, name)) for name in names]
    sizes = [len(json.loads(answer.raw)["result"]["content"][0]["text"].encode()) for answer in helped]
    return SurfaceRow(server, len(names), len(whole), len(short), round(statistics.median(sizes)))


@asynccontextmanager
async def _asking(server: str, command: list[str], folder: Path, surface: Surface) -> AsyncIterator[Backend]:
    """The server as a client meets it behind handfast."""
    entry = {"command": command[0], "args": command[1:], "handfast": {"surface": surface.value}}
    config = folder / "handfast.json"
    config.write_text(json.dumps({"mcpServers": {server: entry}}))
    runtime = Runtime(load_settings(config, environ={}), folder / "state")
    upstreams = Servers(runtime)
    try:
        yield upstreams.backends()[server]
    finally:
        await upstreams.close()
        await runtime.close()


async def _listed(backend: Backend) -> bytes:
    listed = member((await ask(backend, "tools/list")).result(), "tools")
    assert listed is not None
    return listed


def _help(server: str, action: str) -> dict[str, object]:
    return {"name": server, "arguments": {"action": "help", "arguments": {"action": action}}}


def render_table(rows: list[SurfaceRow]) -> str:
    lines = ["| server | tools | full | compact | of full | help for one action |", "|---|---|---|---|---|---|"]
    total = SurfaceRow(
        "all of them",
        sum(row.tools for row in rows),
        sum(row.full for row in rows),
        sum(row.compact for row in rows),
        round(statistics.median(row.help for row in rows)),
    )
    for row in [*rows, total]:
        share = f"{100 * row.compact / row.full:.0f} %"
        lines.append(
            f"| {row.server} | {row.tools} | {_size(row.full)} | {_size(row.compact)} | {share} | {_size(row.help)} |"
        )
    return "\n".join(lines)


def _size(count: int) -> str:
    return f"{count:,} B, ~{count // 4:,} tokens"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.surface", description=__doc__)
    parser.add_argument("--write", action="store_true", help="also put the table into docs/compact.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # What a server is allowed to see is part of no list, so the folder's name does not count.
        table = render_table(asyncio.run(measure(Path(folder))))
    print(table)
    if options.write:
        write_block(PAGE, table, MARKS)


if __name__ == "__main__":
    main()
