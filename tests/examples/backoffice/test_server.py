"""The back office as its users start it: real processes, the official client in both eras, stdio and HTTP."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Literal

import pytest
from httpx2 import AsyncClient
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from backoffice.server import main
from tests.demo import HANDFAST
from tests.examples.backoffice.calls import SCRIPT
from tests.examples.backoffice.offices import EXAMPLE, GUARDS, Json
from tests.examples.backoffice.records import read_records, require_whole_chain

Mode = Literal["legacy", "2026-07-28"]
MODES: tuple[Mode, ...] = ("legacy", "2026-07-28")


def command(folder: Path, *flags: str) -> list[str]:
    database, state = str(folder / "office.db"), str(folder / "own")
    return [sys.executable, str(EXAMPLE / "server.py"), "--db", database, "--state", state, *flags]


def wrapped(folder: Path, *flags: str) -> list[str]:
    modes = ["--input", "strict", "--output", "strict", "--name", "backoffice"]
    return [str(HANDFAST), "wrap", *modes, "--state", str(folder / "gateway"), "--", *command(folder, *flags)]


@asynccontextmanager
async def over_stdio(words: list[str], mode: Mode, *, actor: str = "ada") -> AsyncIterator[Client]:
    env = {**os.environ, "HANDFAST_ACTOR": actor}
    async with Client(StdioServerParameters(command=words[0], args=words[1:], env=env), mode=mode) as client:
        yield client


def payload_of(result: CallToolResult) -> Json:
    """What an answer says, which its text and its structured content say alike."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    structured: Json = result.structured_content or {}
    assert json.loads(block.text) == structured
    assert result.is_error == (structured["status"] == "error")
    return structured


async def play(client: Client) -> dict[str, str]:
    """How each tool ended that did not succeed."""
    failed = {}
    for call in SCRIPT:
        payload = payload_of(await client.call_tool(call.tool, call.arguments))
        if payload["status"] != "ok":
            failed[call.tool] = payload["message"]
    return failed


@pytest.mark.parametrize("mode", MODES)
def test_a_whole_session_over_stdio_calls_every_tool(mode: Mode, tmp_path: Path) -> None:
    async def session() -> None:
        async with over_stdio(command(tmp_path, "--all"), mode) as client:
            assert len((await client.list_tools()).tools) == 204
            assert await play(client) == {}

    asyncio.run(session())
    recorded = read_records(tmp_path / "own", "--type", "tool_call")
    assert [(record["tool"], record["actor"], record["status"]) for record in recorded] == [
        (call.tool, "ada", "success") for call in SCRIPT
    ]
    require_whole_chain(tmp_path / "own")


@pytest.mark.parametrize("mode", MODES)
def test_a_whole_session_through_handfast_leaves_no_warning_on_record(mode: Mode, tmp_path: Path) -> None:
    async def session() -> None:
        async with over_stdio(wrapped(tmp_path, "--all"), mode) as client:
            assert len((await client.list_tools()).tools) == 204
            assert await play(client) == {}
            # Failures of the tools' own are no violations of their contracts.
            for tool, arguments, code in (
                ("tasks_get", {"id": 99}, "not_found"),
                ("budget_account_close", {"id": "office", **GUARDS}, "conflict"),
            ):
                assert payload_of(await client.call_tool(tool, arguments))["domain_code"] == code

    asyncio.run(session())
    judged = read_records(tmp_path / "gateway", "--type", "tool_call")
    assert [(record["tool"], record["status"]) for record in judged] == [
        *((call.tool, "success") for call in SCRIPT),
        ("tasks_get", "error"),
        ("budget_account_close", "error"),
    ]
    assert read_records(tmp_path / "gateway", "--type", "policy_decision,diagnostic") == []
    assert read_records(tmp_path / "gateway", "--status", "warning,blocked") == []
    require_whole_chain(tmp_path / "gateway")


@pytest.mark.requirement("D18")
def test_over_stdio_the_operator_says_who_calls(tmp_path: Path) -> None:
    async def session(actor: str) -> Json:
        async with over_stdio(command(tmp_path), "2026-07-28", actor=actor) as client:
            return payload_of(await client.call_tool("tasks_delete", {"id": 1, **GUARDS}))

    nobody = asyncio.run(session(""))
    assert (nobody["domain_code"], nobody["details"]) == ("guardrail_violated", {"violation": "missing_actor"})
    assert asyncio.run(session("grace"))["status"] == "ok"
    (record,) = read_records(tmp_path / "own", "--type", "admin_operation")
    assert (record["actor"], record["details"]) == ("grace", {"stated_reason": "spring cleaning"})


# --- HTTP ------------------------------------------------------------------------------------------------------------


@contextmanager
def serving_http(folder: Path, *flags: str) -> Iterator[str]:
    with subprocess.Popen(
        command(folder, "--http", "0", *flags), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        try:
            (address,) = [word.rstrip(".") for word in words if word.startswith("http://")]
            yield address
        finally:
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
    assert "Traceback" not in said


@asynccontextmanager
async def over_http(address: str, mode: Mode, *, token: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.requirement("D18")
@pytest.mark.parametrize("mode", MODES)
def test_over_http_a_token_says_who_calls(mode: Mode, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps({"token-of-ada": "ada", "token-of-mary": "mary"}))

    async def approve(address: str, token: str) -> Json:
        async with over_http(address, mode, token=token) as client:
            return payload_of(await client.call_tool("approvals_approve", {"id": 1}))

    async def status_without(address: str) -> int:
        async with AsyncClient(timeout=30) as http:
            return (await http.post(address, headers={"Authorization": "Bearer guessed"}, json={})).status_code

    with serving_http(tmp_path, "--tokens", str(tokens)) as address:
        assert asyncio.run(status_without(address)) == 401
        assert asyncio.run(approve(address, "token-of-mary"))["code"] == "permission_error"  # she asked for it
        assert asyncio.run(approve(address, "token-of-ada"))["data"]["decided_by"] == "ada"
    recorded = read_records(tmp_path / "own", "--type", "tool_call")
    assert [(record["actor"], record["status"]) for record in recorded] == [("mary", "error"), ("ada", "success")]


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """As it is served with no more than a port."""
    with serving_http(tmp_path_factory.mktemp("open")) as address:
        yield address


def test_over_http_without_tokens_nobody_is_known(open_to_all: str) -> None:
    async def session() -> None:
        async with over_http(open_to_all, "2026-07-28", token="") as client:
            assert payload_of(await client.call_tool("tasks_list", {}))["status"] == "ok"
            refused = payload_of(await client.call_tool("tasks_delete", {"id": 1, **GUARDS}))
            assert refused["details"] == {"violation": "missing_actor"}

    asyncio.run(session())


def test_the_six_written_domains_are_what_is_served_by_itself(open_to_all: str) -> None:
    async def session() -> None:
        async with over_http(open_to_all, "2026-07-28", token="") as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert len(tools) == 44
            deleting = tools["tasks_delete"].annotations
            assert deleting is not None
            assert (deleting.read_only_hint, deleting.destructive_hint) == (False, True)

    asyncio.run(session())


@pytest.mark.parametrize("text", ["", "[]", '{"token": 7}', '{"token": ""}'])
def test_a_file_of_tokens_that_says_nothing_is_refused(text: str, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(text)
    with pytest.raises(SystemExit, match=r"\Abackoffice: .+\Z"):
        main(command(tmp_path, "--http", "0", "--tokens", str(tokens))[2:])


def test_a_start_that_is_refused_prints_one_line(tmp_path: Path) -> None:
    started = subprocess.run(
        command(tmp_path, "--http", "0", "--tokens", str(tmp_path / "nowhere")),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (started.returncode, started.stdout, started.stderr.count("\n")) == (1, "", 1)
    assert started.stderr.startswith("backoffice: ")
