"""An ordinary call leaves nothing behind that only the garbage collector can free: that costs more than it looks."""

import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest
from benchmarks.callers import LEGACY, MODERN, HttpCaller
from benchmarks.processes import ROOT, Running, free_port

from benchmarks import traffic
from handfast.gateway.runtime import Runtime
from handfast.gateway.serving import bind, gateway
from handfast.gateway.settings import load_settings

CALLS = 30
_LEAN = {MODERN: ["-m", "benchmarks.servers.lean"], LEGACY: ["-m", "benchmarks.servers.lean", "--legacy"]}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """Processes of their own: what they leave behind is theirs."""
    folder = tmp_path_factory.mktemp("servers")
    with ExitStack() as stack:
        found: dict[str, object] = {}
        for era, lean in _LEAN.items():
            for kind, options in {"json": [], "sse": ["--sse"]}.items():
                port = free_port()
                url, command = f"http://127.0.0.1:{port}/mcp", [sys.executable, *lean, "--port", str(port), *options]
                stack.callback(Running(command, url, folder / f"{kind}-{era}.log").stop)
                found[f"{kind}-{era}"] = {"url": url}
            found[f"stdio-{era}"] = {"command": sys.executable, "args": lean, "cwd": str(ROOT)}
        yield found


@asynccontextmanager
async def serving(folder: Path, servers: dict[str, object]) -> AsyncIterator[str]:
    """The gateway in this process, where its garbage can be counted."""
    config = folder / "handfast.json"
    modes = {"input_validation": {"mode": "strict"}, "output_validation": {"mode": "strict"}}
    config.write_text(json.dumps({"mcpServers": servers, "listen": f"127.0.0.1:{free_port()}"} | modes))
    settings = load_settings(config, environ={})
    async with gateway(Runtime(settings, folder / "state"), bind(settings)):
        yield f"http://{settings.listen}"


async def garbage_of(caller: HttpCaller) -> int:
    """Objects in cycles that so many calls leave behind."""
    await caller.open()
    try:
        await caller.call(5)  # what is made once may leave something
        gc.collect()
        gc.disable()
        try:
            await caller.call(CALLS)
            return gc.collect()
        finally:
            gc.enable()
    finally:
        await caller.close()


@pytest.mark.parametrize("era", [MODERN, LEGACY])
@pytest.mark.parametrize("place", ["json", "sse", "stdio", "all"])
def test_a_call_leaves_nothing_to_the_garbage_collector(
    place: str, era: str, servers: dict[str, object], tmp_path: Path
) -> None:
    async def count() -> int:
        async with serving(tmp_path, servers) as base:
            if place == "all":
                return await garbage_of(HttpCaller(f"{base}/mcp", era, tool=f"json-{era}__{traffic.JUDGED}"))
            return await garbage_of(HttpCaller(f"{base}/mcp/{place}-{era}", era))

    # Sessions that listen for messages leave a few in their own time; a call that held on to itself would leave dozens.
    assert asyncio.run(count()) < 10 * CALLS
