"""After every fault over every transport nothing is left: no task, no socket, no child, no memory."""

import asyncio
import gc
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from handfast.gateway.process.orphans import prepare_watch
from handfast.gateway.runtime import Runtime
from handfast.gateway.serving import address_of, bind, gateway
from handfast.gateway.settings import load_settings
from tests.contracts.rig import HttpGateway, Json, Route
from tests.faults.measured import children, open_sockets, resident_mb
from tests.faults.scene import LIMITS, OWN_CHILD, faults_of, upstream, write_faulty
from tests.gateway.running import eventually, send

SERVED: tuple[Route, ...] = ("stdio", "http-json", "http-sse")
EACH = [(route, name) for route in SERVED for name in faults_of(route)]
SWEEPERS = len(SERVED)  # one task for each server that ever had a session
GROWTH_MB = 24.0  # for a round of every fault, the threads of its clients included
LATEST_S = 30.0


@pytest.mark.timeout(300)  # half a minute for each round, and more beside other work
def test_nothing_is_left_of_any_fault(tmp_path: Path) -> None:
    with ExitStack() as stack:
        stub = write_faulty(tmp_path)
        servers = {route: upstream(stack, route, stub) for route in SERVED}
        document = {"mcpServers": servers, "limits": LIMITS, "listen": "127.0.0.1:0"}
        (tmp_path / "handfast.json").write_text(json.dumps(document))
        pool = stack.enter_context(ThreadPoolExecutor(len(EACH)))
        asyncio.run(suffer_rounds(tmp_path, pool))


async def suffer_rounds(folder: Path, pool: ThreadPoolExecutor) -> None:
    """The gateway runs in this process, so that its tasks can be counted; its clients run on threads."""
    settings = load_settings(folder / "handfast.json", environ={})
    listener = bind(settings)
    async with gateway(Runtime(settings, folder / "state"), listener):
        base = address_of(listener)
        await asyncio.to_thread(send, base, "GET", "/health")
        prepare_watch()  # stays for as long as this process runs
        tasks, sockets, processes = counts()
        memory: list[float] = []
        # What is left of a round is left of every round; allocators alone may take more once, in a large process.
        while len(memory) < 2 or (memory[-1] - memory[-2] >= GROWTH_MB and len(memory) < 4):
            ends = [asyncio.wrap_future(pool.submit(suffer, base, folder, *each)) for each in EACH]
            assert all(await asyncio.gather(*ends))
            await settled((tasks + SWEEPERS, sockets, processes))
            gc.collect()
            memory.append(resident_mb(os.getpid()))
        assert memory[-1] - memory[-2] < GROWTH_MB


def counts() -> tuple[int, int, int]:
    return len(asyncio.all_tasks()), open_sockets(os.getpid()), len(children(os.getpid()))


async def settled(most: tuple[int, int, int]) -> None:
    """Idle connections are kept for two seconds, so it takes a moment."""
    deadline = asyncio.get_running_loop().time() + LATEST_S
    while any(now > before for now, before in zip(counts(), most, strict=True)):
        assert asyncio.get_running_loop().time() < deadline, f"tasks, sockets, processes: {counts()}, before {most}"
        await asyncio.sleep(0.05)


def suffer(base: str, folder: Path, server: str, fault: str) -> Json:
    """A client with a child of its own calls the tool, reads an answer, and ends its session."""
    client = HttpGateway(base, folder / "state", server=server, is_modern=False)
    eventually(lambda: open_session(client), "a session", seconds=150)  # the server may be resting for a minute, twice
    answered = client.call(fault).message
    assert {"result", "error"} & answered.keys()
    return send(base, "DELETE", client.path, headers={"Mcp-Session-Id": client.session}).status in (200, 204, 404)


def open_session(client: HttpGateway) -> bool:
    if client.session is None:
        client.open(OWN_CHILD)
    return client.session is not None
