"""Handlers that go wrong in a real server, with the official client in both eras: a code each, and the server lives.

What a handler may raise and what becomes of it is said in docs/toolkit.md. sys.exit() is an error like any other;
only KeyboardInterrupt ends the server, because it stands for an operator who wants that.
"""

import asyncio
import http.client
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, TextContent

from handfast.core.call.exchange import Record
from tests.gateway.running import eventually, read_records
from tests.toolkit.misbehaving import BLOCKING, FAULTS, SECRET, TEXTS, TIMEOUT_S, make_toolbox

Mode = Literal["legacy", "2026-07-28"]
Way = Literal["stdio", "http"]
EACH = [(way, mode) for way in ("stdio", "http") for mode in ("legacy", "2026-07-28")]
COMMAND = [sys.executable, "-m", "tests.toolkit.misbehaving"]

FINE = {"id": 1, "name": "", "score": 0.5, "more": None}
CALLS = {
    **{f"misbehave: {how}": ("misbehave", how, code) for how, (_, code) in FAULTS.items()},
    **{f"in a thread: {how}": ("misbehave_blocking", how, code) for how, (_, code) in BLOCKING.items()},
    **{f"by text: {how}": ("misbehave_in_text", how, code) for how, (_, code) in TEXTS.items()},
}


@dataclass(slots=True)
class Told:
    """What the client got for one fault, and how the server was afterwards."""

    result: CallToolResult
    after: dict[str, Any]
    is_fine_after: bool


@dataclass(slots=True)
class Seen:
    mode: Mode
    before: dict[str, Any]
    told: dict[str, Told] = field(default_factory=dict)
    log: str = ""
    records: list[Record] = field(default_factory=list)


def environment(state: Path) -> dict[str, str]:
    return {**os.environ, "HANDFAST_STATE": str(state), "PYTHONUNBUFFERED": "1"}


@contextmanager
def http_server(folder: Path) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    env = environment(folder / "state")
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen([*COMMAND, "http"], stdout=subprocess.PIPE, stderr=log, env=env) as process,
    ):
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(20)


@asynccontextmanager
async def connected(way: Way, mode: Mode, folder: Path) -> AsyncIterator[Client]:
    if way == "stdio":
        server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], way], env=environment(folder / "state"))
        with (folder / "log").open("w") as log:
            async with Client(stdio_client(server, errlog=log), mode=mode) as client:
                yield client
        return
    with http_server(folder) as (_, port):
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:
            yield client


async def vitals(client: Client) -> dict[str, Any]:
    found = (await client.call_tool("vitals", {})).structured_content
    assert isinstance(found, dict)
    return found


async def settled(client: Client, before: dict[str, Any], *, seconds: float = 10) -> dict[str, Any]:
    """The vitals once they are what they were, or as they are after a while."""
    async with asyncio.timeout(seconds + 10):
        for _ in range(int(seconds / 0.02)):
            now = await vitals(client)
            if now["tasks"] <= before["tasks"] and now["open_calls"] == 0:
                break
            await asyncio.sleep(0.02)  # an answer is out before the task that wrote it is gone
        return now


@pytest.fixture(scope="module", params=EACH, ids=lambda each: f"{each[0]}-{each[1]}")
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    way, mode = request.param
    folder = tmp_path_factory.mktemp("misbehaving")

    async def session() -> Seen:
        async with connected(way, mode, folder) as client:
            await client.call_tool("fine", {})
            found = Seen(mode, await vitals(client))
            for name, (tool, how, _) in CALLS.items():
                result = await client.call_tool(tool, {"how": how})
                fine = await client.call_tool("fine", {})
                after = await settled(client, found.before)
                found.told[name] = Told(result, after, fine.structured_content == FINE)
        return found

    found = asyncio.run(session())
    found.log = (folder / "log").read_text()
    found.records = read_records(folder / "state")
    return found


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.requirement("002-7")
@pytest.mark.requirement("D3")
@pytest.mark.parametrize("name", CALLS)
def test_each_fault_is_a_coded_error_and_the_next_call_is_answered(seen: Seen, name: str) -> None:
    told = seen.told[name]
    assert told.result.is_error
    assert told.result.structured_content is None
    assert (told.result.meta or {})["handfast/code"] == CALLS[name][2]
    assert told.is_fine_after
    assert len(text_of(told.result)) < 100_000


@pytest.mark.parametrize("name", CALLS)
def test_no_task_call_or_child_is_left_behind_by_a_fault(seen: Seen, name: str) -> None:
    before, after = seen.before, seen.told[name].after
    assert after["tasks"] <= before["tasks"]
    assert (after["open_calls"], after["children"]) == (0, before["children"])
    # Threads are kept for the next blocking tool; two may be at work, where one of them has been given up.
    assert after["threads"] <= before["threads"] + 3


@pytest.mark.requirement("002-7")
@pytest.mark.requirement("D17")
def test_the_secret_is_in_no_answer_no_log_line_and_no_record(seen: Seen) -> None:
    assert all(SECRET not in told.result.model_dump_json() for told in seen.told.values())
    assert SECRET not in seen.log
    assert SECRET not in repr(seen.records)


def test_each_failed_call_has_one_log_line_and_one_record_under_one_id(seen: Seen) -> None:
    failed = re.findall(r"^mcp\.server\.invoke\.failed: (\w+) failed with (\w+) \(request (\w+)\)$", seen.log, re.M)
    assert Counter((tool, code) for tool, code, _ in failed) == Counter(
        (tool, code) for tool, _, code in CALLS.values()
    )
    calls = [record for record in seen.records if record.type == "tool_call" and record.status != "success"]
    assert Counter(record.request_id for record in calls) == Counter(number for *_, number in failed)
    assert {record.status.value for record in calls} == {"error", "blocked"}


def test_the_log_says_where_a_handler_crashed(seen: Seen) -> None:
    assert re.search(r"^misbehave raised KeyError at \S+misbehaving\.py:\d+ in _raise", seen.log, re.M)
    assert re.search(r"^misbehave raised SystemExit at \S+misbehaving\.py:\d+ in _exit", seen.log, re.M)
    assert "Traceback" not in seen.log
    assert "never awaited" not in seen.log
    assert "never retrieved" not in seen.log


# --- calls that are given up -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("way", "mode"), EACH)
def test_a_call_that_its_client_cancels_ends_at_once_and_is_on_record(way: Way, mode: Mode, tmp_path: Path) -> None:
    async def session() -> tuple[dict[str, Any], dict[str, Any]]:
        async with connected(way, mode, tmp_path) as client:
            before = await vitals(client)
            for _ in range(5):
                waiting = asyncio.create_task(client.call_tool("wait", {}))
                async with asyncio.timeout(20):
                    while not (await vitals(client))["open_calls"]:
                        pass  # a busy machine takes its time to bring the call to the server
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
                await settled(client, before)
            assert not (await client.call_tool("fine", {})).is_error
            return before, await settled(client, before)

    before, after = asyncio.run(session())
    assert (after["open_calls"], after["threads"]) == (0, before["threads"])
    assert after["tasks"] <= before["tasks"]
    waited = [(record.type.value, record.status.value) for record in read_records(tmp_path / "state", tool="wait")]
    assert waited == [("tool_call", "cancelled")] * 5


HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
}


def modern_call(name: str, arguments: Any = None) -> bytes:
    params = {"name": name, "arguments": arguments or {}, "_meta": MODERN}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def test_a_client_that_hangs_up_in_mid_call_over_http_ends_its_call_and_no_other(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with http_server(tmp_path) as (_, port):
        for _ in range(3):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
            connection.request("POST", "/mcp", modern_call("wait"), HEADERS | {"Mcp-Name": "wait"})
            connection.close()

        async def look() -> dict[str, Any]:
            async with Client(f"http://127.0.0.1:{port}/mcp", mode="2026-07-28") as client:
                await settled(client, {"tasks": 0}, seconds=2)
                return await vitals(client)

        assert asyncio.run(look())["open_calls"] == 0
        ended = eventually(lambda: len(read_records(state, tool="wait")) == 3, "three calls on record")
        assert ended
    assert {record.status.value for record in read_records(state, tool="wait")} == {"cancelled"}


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_client_that_dies_in_mid_call_over_stdio_leaves_no_server_and_a_record(mode: Mode, tmp_path: Path) -> None:
    env = environment(tmp_path / "state")
    with subprocess.Popen([*COMMAND, "stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if mode == "legacy":
            opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            assert b"protocolVersion" in process.stdout.readline()
        call = json.loads(modern_call("wait"))
        if mode == "legacy":
            del call["params"]["_meta"]
        fine = json.loads(json.dumps(call).replace('"wait"', '"fine"')) | {"id": 2}
        process.stdin.write(json.dumps(call).encode() + b"\n" + json.dumps(fine).encode() + b"\n")
        process.stdin.flush()
        assert b'"id":2' in process.stdout.readline()
        process.stdin.close()
        assert process.wait(20) == 0
    statuses = {record.tool: record.status.value for record in read_records(tmp_path / "state")}
    assert statuses == {"fine": "success", "wait": "cancelled"}


# --- many, and large ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("way", "mode"), EACH)
def test_two_hundred_calls_at_once_of_which_half_fail_are_each_answered_rightly(
    way: Way, mode: Mode, tmp_path: Path
) -> None:
    faults = ["raises", "returns NaN", "hangs", "exits", "returns text"]

    async def session() -> tuple[list[str], dict[str, Any], dict[str, Any]]:
        async with connected(way, mode, tmp_path) as client:
            before = await vitals(client)

            async def one(number: int) -> str:
                if number % 2:
                    result = await client.call_tool("fine", {})
                    return "fine" if result.structured_content == FINE else "odd"
                result = await client.call_tool("misbehave", {"how": faults[number // 2 % 5]})
                return str((result.meta or {}).get("handfast/code"))

            told = await asyncio.gather(*(one(number) for number in range(200)))
            return list(told), before, await settled(client, before)

    told, before, after = asyncio.run(session())
    expected = [FAULTS[faults[number // 2 % 5]][1] if number % 2 == 0 else "fine" for number in range(200)]
    assert told == expected
    assert (after["open_calls"], after["threads"]) == (0, before["threads"])
    assert after["tasks"] <= before["tasks"]


@pytest.mark.parametrize(("tool", "how"), [("misbehave", "returns 50 MB"), ("misbehave_in_text", "50 MB")])
def test_five_results_of_50_mb_leave_no_more_memory_behind_than_two(tool: str, how: str, tmp_path: Path) -> None:
    async def session() -> list[float]:
        async with connected("stdio", "2026-07-28", tmp_path) as client:
            sizes = []
            for _ in range(5):
                result = await client.call_tool(tool, {"how": how})
                assert (result.meta or {})["handfast/code"] == "output_violation"
                sizes.append((await vitals(client))["resident_mb"])
            return sizes

    sizes = asyncio.run(session())
    assert max(sizes[2:]) < max(sizes[:2]) + 15  # two and a half a call; as a rule it is none at all


# --- what is not a handler's ---------------------------------------------------------------------------------------


INTERRUPTS = modern_call("misbehave", {"how": "interrupts"})


def test_keyboard_interrupt_is_the_operators_and_ends_the_server_over_stdio(tmp_path: Path) -> None:
    env = environment(tmp_path / "state")
    with subprocess.Popen([*COMMAND, "stdio"], stdin=subprocess.PIPE, env=env) as process:
        assert process.stdin is not None
        process.stdin.write(INTERRUPTS + b"\n")
        process.stdin.flush()
        assert process.wait(30) == 130
    is_stopped_on_record(tmp_path)


def test_keyboard_interrupt_is_the_operators_and_ends_the_server_over_http(tmp_path: Path) -> None:
    with http_server(tmp_path) as (process, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
        connection.request("POST", "/mcp", INTERRUPTS, HEADERS | {"Mcp-Name": "misbehave"})
        process.wait(30)
        connection.close()
    is_stopped_on_record(tmp_path)


def is_stopped_on_record(folder: Path) -> None:
    (record,) = read_records(folder / "state", tool="misbehave")
    assert (record.status, record.reason) == ("error", "The server was stopped.")


@pytest.mark.requirement("D18")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_an_actor_resolver_that_fails_is_told_to_nobody(mode: Mode, caplog: pytest.LogCaptureFixture) -> None:
    def resolve(_: object) -> None:
        raise PermissionError(SECRET)

    async def session() -> str:
        async with Client(make_toolbox(actor=resolve).build_server(), mode=mode) as client:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("fine", {})
            return str(refused.value)

    assert asyncio.run(session()) == "The server cannot tell who calls at the moment, so no call is made."
    assert SECRET not in caplog.text
    assert "The actor of a call is not known: PermissionError at " in caplog.text


def test_a_hung_handler_costs_its_timeout_and_no_more(tmp_path: Path) -> None:
    async def session() -> float:
        async with connected("stdio", "2026-07-28", tmp_path) as client:
            await client.call_tool("fine", {})
            loop = asyncio.get_running_loop()
            began = loop.time()
            await asyncio.gather(*(client.call_tool("misbehave", {"how": "hangs"}) for _ in range(20)))
            return loop.time() - began

    assert TIMEOUT_S <= asyncio.run(session()) < TIMEOUT_S + 5  # side by side, on however busy a machine
