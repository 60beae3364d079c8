"""Behind the bridge and at `/mcp` nothing is left either: of faults, clients that leave, sessions that are ended."""

import asyncio
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from handfast.gateway.runtime import Runtime
from handfast.gateway.serving import address_of, bind, gateway
from handfast.gateway.settings import load_settings
from tests.contracts.rig import Json
from tests.faults.crossings import LEGACY, MODERN, Crossing, CrossingClient
from tests.faults.measured import children, open_sockets
from tests.faults.scene import upstream
from tests.gateway.running import TEXT, OpenPost, eventually, read_records, send
from tests.stubs.run import Journal, answer, tool, write_stub

LATEST_S = 30.0
FAULTS = ("leaves", "hangs", "babbles")
ANSWERS = {
    "hangs": answer(TEXT, "silence"),
    "leaves": answer(TEXT, "close"),
    "babbles": answer(TEXT, "endless"),
}
AT_MCP = Crossing("combined", False, LEGACY, {}, is_combined=True)
PAIRS = {"old": Crossing("modern-client", True, LEGACY, {}), "new": Crossing("legacy-client", False, MODERN, {})}


def test_nothing_is_left_of_clients_that_leave_in_mid_call(tmp_path: Path) -> None:
    with ExitStack() as stack:
        settings: Json = {"mcpServers": {}, "limits": {"call_timeout_s": 1.0, "session_idle_s": 3600}}
        journals: dict[str, Journal] = {}
        for name, crossing in PAIRS.items():
            for route in ("stdio", "http-sse"):
                stub = write_stub(
                    tmp_path,
                    tools=[tool(each) for each in ANSWERS],
                    answers=ANSWERS,
                    name=f"{name}-{route}",
                    versions=crossing.versions,
                )
                journals[f"{name}-{route}"] = stub.journal
                settings["mcpServers"][f"{name}-{route}"] = upstream(stack, route, stub)
        (tmp_path / "handfast.json").write_text(json.dumps({**settings, "listen": "127.0.0.1:0"}))
        pool = stack.enter_context(ThreadPoolExecutor(16))
        asyncio.run(rounds(tmp_path, pool, journals))


async def rounds(folder: Path, pool: ThreadPoolExecutor, journals: dict[str, Journal]) -> None:
    """The first round warms up: shared processes and sweepers stay. A second one must leave nothing more."""
    settings = load_settings(folder / "handfast.json", environ={})
    listener = bind(settings)
    before = len(asyncio.all_tasks())
    async with gateway(Runtime(settings, folder / "state"), listener):
        base = address_of(listener)
        await one_round(base, folder, pool, journals)
        most = await steady_counts()
        await one_round(base, folder, pool, journals)
        await settled(most)
    assert len(asyncio.all_tasks()) == before
    calls = read_records(folder / "state", type="tool_call")
    assert len(calls) == len({record.request_id for record in calls}), "a call is on record twice"
    reached = sum(len(journal.calls(name)) for journal in journals.values() for name in ANSWERS)
    assert reached <= len(calls) <= 2 * len(journals) * (len(FAULTS) + 2)


async def one_round(base: str, folder: Path, pool: ThreadPoolExecutor, journals: dict[str, Journal]) -> None:
    works: list[Callable[[], None]] = []
    for server in journals:
        for crossing in (PAIRS[server.partition("-")[0]], AT_MCP):
            client = CrossingClient(base, folder / "state", crossing, server, len(works) + 1)
            faults = FAULTS if crossing is not AT_MCP else ()
            works.append(lambda client=client, faults=faults: live(client, faults))  # type: ignore[misc]  # its own defaults
    await asyncio.gather(*(asyncio.wrap_future(pool.submit(work)) for work in works))


def live(client: CrossingClient, faults: tuple[str, ...]) -> None:
    """A client that suffers each fault, then leaves in the middle of a call, and ends its session in mid-call."""
    client.enter()
    for fault in faults:
        assert "error" in client.call(fault).message
    post = OpenPost(client, json.dumps(client.render("tools/call", {"name": client.named("hangs")})).encode())
    eventually(lambda: under_way(client), "a call under way")
    if client.session is None:
        post.leave()
        return
    assert send(client.base, "DELETE", client.path, headers={"Mcp-Session-Id": client.session}).status == 200
    post.leave()


def under_way(client: CrossingClient) -> bool:
    report = json.loads(send(client.base, "GET", "/health").body)
    return any(server["in_progress"] for server in report["servers"].values())


async def steady_counts() -> tuple[int, int, int]:
    """What there is once nothing goes away any more."""
    last, since = counts(), asyncio.get_running_loop().time()
    while asyncio.get_running_loop().time() - since < 4.0:  # idle connections are kept for two seconds
        await asyncio.sleep(0.1)
        if counts() != last:
            last, since = counts(), asyncio.get_running_loop().time()
    return last


def counts() -> tuple[int, int, int]:
    return len(asyncio.all_tasks()), open_sockets(os.getpid()), len(children(os.getpid()))


async def settled(most: tuple[int, int, int]) -> None:
    deadline = asyncio.get_running_loop().time() + LATEST_S
    while any(now > before for now, before in zip(counts(), most, strict=True)):
        assert asyncio.get_running_loop().time() < deadline, f"tasks, sockets, processes: {counts()}, before {most}"
        await asyncio.sleep(0.05)
