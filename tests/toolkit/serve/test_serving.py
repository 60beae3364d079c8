"""Tools served by the official SDK: real clients, both transports, both eras, and what is on record afterwards."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
import uvicorn
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    PaginatedRequestParams,
    Resource,
    TextContent,
)
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from handfast.activity.query import EVERYTHING
from handfast.activity.sqlite import SqliteStore
from handfast.activity.store import StoreError
from handfast.cli.main import main
from handfast.toolkit import ContractError, Toolbox
from tests.toolkit.contacts import SECRET, make_toolbox

Mode = Literal["legacy", "auto", "2026-07-28"]
MODES: tuple[Mode, ...] = ("legacy", "2026-07-28")


@asynccontextmanager
async def over_stdio(state: Path, mode: Mode) -> AsyncIterator[Client]:
    env = {**os.environ, "HANDFAST_STATE": str(state), "HANDFAST_ACTOR": "ada"}
    server = StdioServerParameters(command=sys.executable, args=["-m", "tests.toolkit.contacts"], env=env)
    async with Client(server, mode=mode) as client:
        yield client


@asynccontextmanager
async def over_http(state: Path, mode: Mode) -> AsyncIterator[Client]:
    async with serving(make_toolbox().asgi(state=str(state))) as url, Client(url, mode=mode) as client:
        yield client


@asynccontextmanager
async def serving(app: Starlette) -> AsyncIterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", ws="none"))
    running = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        await running


WAYS = {"stdio": over_stdio, "http": over_http}


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def records(state: Path) -> list[tuple[str, str, str, str, str]]:
    store = SqliteStore.open(state)
    try:
        return [
            (r.record.type.value, r.record.status.value, r.record.tool, r.record.rule, r.record.actor)
            for r in store.query(EVERYTHING, oldest_first=True)
        ]
    finally:
        store.close()


@pytest.mark.requirement("002-9")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
def test_a_whole_session_with_the_official_client(way: str, mode: Mode, tmp_path: Path) -> None:
    async def session() -> None:
        async with WAYS[way](tmp_path, mode) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert listed["create_contact"].output_schema is not None
            made = await client.call_tool("create_contact", {"email": "a@b.c", "address": {"city": "x"}})
            assert (made.is_error, made.structured_content) == (
                False,
                {"id": 1, "email": "a@b.c", "born": None, "score": 0.5},
            )
            wrapped = await client.call_tool("create_contact", {"data": {"email": "a"}})
            assert wrapped.is_error
            assert text_of(wrapped).startswith("Argument 'data' is not a declared field")
            assert wrapped.structured_content is None
            missing = await client.call_tool("get_contact", {"id": 9})
            assert missing.is_error
            assert (missing.meta or {})["handfast/code"] == "not_found"
            counted = await client.call_tool("count_contacts", {})
            assert counted.structured_content == {"result": 1}
            with pytest.raises(MCPError, match="There is no tool 'nope'"):
                await client.call_tool("nope", {})

    asyncio.run(session())
    actor = "ada" if way == "stdio" else ""
    assert records(tmp_path) == [
        ("tool_call", "success", "create_contact", "", actor),
        ("policy_decision", "blocked", "create_contact", "arguments.nested_wrapper", actor),
        ("tool_call", "blocked", "create_contact", "arguments.nested_wrapper", actor),
        ("tool_call", "error", "get_contact", "", actor),
        ("tool_call", "success", "count_contacts", "", actor),
        ("policy_decision", "blocked", "nope", "contract.unlisted", actor),
        ("tool_call", "blocked", "nope", "contract.unlisted", actor),
    ]


@pytest.mark.requirement("D18")
def test_over_http_the_environment_of_the_server_makes_nobody_an_actor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDFAST_ACTOR", "ada")

    async def session() -> Any:
        async with over_http(tmp_path, "2026-07-28") as client:
            return await client.call_tool("purge", {"id": 1, "confirm": True, "reason": "because"})

    refused = asyncio.run(session())
    assert refused.is_error
    assert refused.meta["handfast/details"] == {"violation": "missing_actor"}


@pytest.mark.parametrize("mode", MODES)
def test_progress_reaches_a_client_that_asks_for_it(mode: Mode, tmp_path: Path) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def session() -> None:
        async with over_stdio(tmp_path, mode) as client:
            await client.call_tool("count_contacts", {}, progress_callback=hear)

    asyncio.run(session())
    assert heard == [(1, 1, "counted")]


def test_a_cancelled_call_is_on_record_and_the_server_lives(tmp_path: Path) -> None:
    async def session() -> None:
        async with over_stdio(tmp_path, "2026-07-28") as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await client.call_tool("go_wrong", {"how": "hang"})
            assert not (await client.call_tool("count_contacts", {})).is_error

    asyncio.run(session())
    assert ("tool_call", "cancelled", "go_wrong", "", "ada") in records(tmp_path)


def test_a_state_folder_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    env = {**os.environ, "HANDFAST_STATE": str(blocked)}

    async def start() -> tuple[int | None, bytes]:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.toolkit.contacts",
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await process.communicate()
        return process.returncode, said

    code, said = asyncio.run(start())
    assert code == 1
    assert said.startswith(b"contacts: ")
    assert said.count(b"\n") == 1


class Tokens:
    """Implements the SDK's TokenVerifier for one token."""

    async def verify_token(self, token: str) -> AccessToken | None:
        if token != "good":
            return None
        return AccessToken(token=token, client_id="agents", scopes=[], subject="grace")


@pytest.mark.requirement("D18")
@pytest.mark.parametrize("mode", MODES)
def test_over_http_the_actor_is_whom_authentication_let_in(mode: Mode, tmp_path: Path) -> None:
    address = AnyHttpUrl("http://127.0.0.1/mcp")
    auth = AuthSettings(
        issuer_url=AnyHttpUrl("http://127.0.0.1"), resource_server_url=address, validate_token_resource=False
    )

    async def session() -> CallToolResult:
        app = make_toolbox().asgi(state=str(tmp_path), auth=auth, token_verifier=Tokens())
        async with (
            serving(app) as url,
            httpx2.AsyncClient(headers={"Authorization": "Bearer good"}) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            return await client.call_tool("purge", {"id": 1, "confirm": True, "reason": "because"})

    done = asyncio.run(session())
    assert (done.is_error, (done.structured_content or {})["result"]["by"]) == (False, "grace")
    assert ("admin_operation", "success", "purge", "", "grace") in records(tmp_path)


# --- the SDK's own server ----------------------------------------------------------------------------------------


async def list_resources(_context: Any, _params: Any) -> ListResourcesResult:
    return ListResourcesResult(resources=[Resource(uri="contacts://all", name="all")])


def with_resources(tools: Toolbox) -> Toolbox:
    tools.build_server().add_request_handler("resources/list", PaginatedRequestParams, list_resources)
    return tools


WRAPPED = {"data": {"email": "a"}}
ONE_REFUSAL = [
    ("policy_decision", "blocked", "create_contact", "arguments.nested_wrapper", ""),
    ("tool_call", "blocked", "create_contact", "arguments.nested_wrapper", ""),
]


@pytest.mark.requirement("002-9")
@pytest.mark.parametrize("mode", MODES)
def test_a_server_that_its_author_serves_himself_records(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDFAST_STATE", str(tmp_path))

    async def session() -> None:
        async with Client(make_toolbox().build_server(), mode=mode) as client:
            assert (await client.call_tool("create_contact", WRAPPED)).is_error

    asyncio.run(session())
    assert records(tmp_path) == ONE_REFUSAL


def test_a_server_that_its_author_serves_over_http_refuses_what_two_readers_read_differently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDFAST_STATE", str(tmp_path))
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
        b'{"name":"create_contact","arguments":{"email":"a","email":"b"}}}'
    )

    async def post() -> str:
        app = make_toolbox().build_server().streamable_http_app(json_response=True, stateless_http=True)
        async with serving(app) as url, httpx2.AsyncClient() as http:
            accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
            return (await http.post(url, content=body, headers=accepted)).text

    assert "The arguments are ambiguous" in asyncio.run(post())
    assert [each[:4] for each in records(tmp_path)] == [
        ("policy_decision", "blocked", "create_contact", "arguments.ambiguous"),
        ("tool_call", "blocked", "create_contact", "arguments.ambiguous"),
    ]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_added_to_the_server_is_served_over_http_and_in_memory(mode: Mode, tmp_path: Path) -> None:
    tools = with_resources(make_toolbox())

    async def session() -> None:
        async with serving(tools.asgi(state=str(tmp_path))) as url, Client(url, mode=mode) as client:
            assert [resource.name for resource in (await client.list_resources()).resources] == ["all"]
            assert (await client.call_tool("count_contacts", {})).structured_content == {"result": 0}
        async with Client(tools.build_server(), mode=mode) as client:
            assert [resource.name for resource in (await client.list_resources()).resources] == ["all"]

    asyncio.run(session())


RUNS = "from tests.toolkit.serve.test_serving import *; with_resources(make_toolbox()).run()"


@pytest.mark.parametrize("mode", MODES)
def test_what_is_added_to_the_server_is_served_over_stdio(mode: Mode, tmp_path: Path) -> None:
    env = {**os.environ, "HANDFAST_STATE": str(tmp_path)}

    async def session() -> None:
        server = StdioServerParameters(command=sys.executable, args=["-c", RUNS], env=env)
        async with Client(server, mode=mode) as client:
            assert [resource.name for resource in (await client.list_resources()).resources] == ["all"]
            assert (await client.call_tool("create_contact", WRAPPED)).is_error

    asyncio.run(session())
    assert [each[:4] for each in records(tmp_path)] == [each[:4] for each in ONE_REFUSAL]


@pytest.mark.requirement("002-9")
def test_a_handler_for_calls_that_nobody_would_judge_is_refused() -> None:
    server = make_toolbox().build_server()

    async def foreign(_context: Any, _params: Any) -> CallToolResult:
        raise AssertionError

    told = "'contacts' answers tools/call itself, so that every call is judged and recorded. Register the tool with"
    with pytest.raises(ContractError, match=told):
        server.add_request_handler("tools/call", CallToolRequestParams, foreign)


@pytest.mark.requirement("002-9")
@pytest.mark.parametrize("mode", MODES)
def test_calls_behind_a_middleware_of_the_author_are_judged_and_recorded(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDFAST_STATE", str(tmp_path))
    server = make_toolbox().build_server()
    seen: list[str] = []

    async def note(ctx: Any, call_next: Any) -> Any:
        seen.append(ctx.method)
        return await call_next(ctx)

    server.middleware.append(note)

    async def session() -> None:
        async with Client(server, mode=mode) as client:
            assert (await client.call_tool("create_contact", WRAPPED)).is_error

    asyncio.run(session())
    assert "tools/call" in seen
    assert records(tmp_path) == ONE_REFUSAL


# --- under another app -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_an_app_that_is_mounted_serves_and_records_though_nothing_runs_its_lifespan(mode: Mode, tmp_path: Path) -> None:
    app = Starlette(routes=[Mount("/api", make_toolbox().asgi(state=str(tmp_path)))])

    async def session() -> None:
        async with serving(app) as url:
            mounted = url.replace("/mcp", "/api/mcp")
            async with Client(mounted, mode=mode) as client, Client(mounted, mode=mode) as another:
                answers = await asyncio.gather(*(each.call_tool("count_contacts", {}) for each in (client, another)))
                assert [answer.structured_content for answer in answers] == [{"result": 0}] * 2

    asyncio.run(session())
    assert records(tmp_path) == [("tool_call", "success", "count_contacts", "", "")] * 2


def test_a_mounted_app_whose_lifespan_the_other_runs_ends_with_it(tmp_path: Path) -> None:
    inner = make_toolbox().asgi(state=str(tmp_path))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with inner.router.lifespan_context(inner):
            yield

    app = Starlette(routes=[Mount("/api", inner)], lifespan=lifespan)

    async def session() -> list[tuple[str, str, str, str, str]]:
        async with serving(app) as url, Client(url.replace("/mcp", "/api/mcp")) as client:
            await client.call_tool("count_contacts", {})
        return records(tmp_path)  # closed by now, though the loop still runs

    assert asyncio.run(session()) == [("tool_call", "success", "count_contacts", "", "")]


COUNT = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "count_contacts", "arguments": {}}}
PLAIN = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


def mounted(tmp_path: Path) -> Starlette:
    inner = make_toolbox().asgi(state=str(tmp_path), json_response=True, stateless_http=True)
    return Starlette(routes=[Mount("/api", inner)])


def test_a_mounted_app_serves_in_every_event_loop_of_a_test_client(tmp_path: Path) -> None:
    client = TestClient(mounted(tmp_path), base_url="http://127.0.0.1:8000")
    answers = [client.post("/api/mcp", headers=PLAIN, json=COUNT) for _ in range(3)]  # each has a loop of its own
    assert [answer.json()["result"]["structuredContent"] for answer in answers] == [{"result": 0}] * 3
    assert records(tmp_path) == [("tool_call", "success", "count_contacts", "", "")] * 3


def test_a_mounted_app_serves_in_one_session_of_a_test_client_after_another(tmp_path: Path) -> None:
    app = mounted(tmp_path)
    for _ in range(2):
        with TestClient(app, base_url="http://127.0.0.1:8000") as client:
            assert [client.post("/api/mcp", headers=PLAIN, json=COUNT).status_code for _ in range(2)] == [200, 200]
    assert records(tmp_path) == [("tool_call", "success", "count_contacts", "", "")] * 4


def test_an_app_whose_lifespan_has_ended_begins_again(tmp_path: Path) -> None:
    app = make_toolbox().asgi(state=str(tmp_path), json_response=True, stateless_http=True)
    for _ in range(2):
        with TestClient(app, base_url="http://127.0.0.1:8000") as client:
            assert client.post("/mcp", headers=PLAIN, json=COUNT).status_code == 200
    assert len(records(tmp_path)) == 2


def test_a_mounted_app_that_could_not_begin_tries_again(tmp_path: Path) -> None:
    app = mounted(tmp_path / "state")
    (tmp_path / "state").write_text("no folder")
    client = TestClient(app, base_url="http://127.0.0.1:8000")
    with pytest.raises(StoreError):
        client.post("/api/mcp", headers=PLAIN, json=COUNT)
    (tmp_path / "state").unlink()
    assert client.post("/api/mcp", headers=PLAIN, json=COUNT).status_code == 200


# --- failures ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("002-9")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
def test_a_model_reads_the_code_of_a_failure_in_its_text(way: str, mode: Mode, tmp_path: Path) -> None:
    async def session() -> list[str]:
        async with WAYS[way](tmp_path, mode) as client:
            calls: list[tuple[str, Any]] = [
                ("get_contact", {"id": 9}),
                ("get_contact", {"id": "x"}),
                ("create_contact", WRAPPED),
            ]
            return [text_of(await client.call_tool(*call)) for call in calls]

    failed, *refused = asyncio.run(session())
    assert failed.endswith(" [not_found]")
    assert not any("[invalid_input]" in text for text in refused), "refused arguments are worded alike everywhere"


def test_the_request_id_that_an_agent_reads_leads_the_operator_to_the_exception(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def session() -> str:
        async with over_stdio(tmp_path, "2026-07-28") as client:
            return text_of(await client.call_tool("go_wrong", {"how": "raise"}))

    told = asyncio.run(session())
    assert SECRET not in told
    found = re.search(r"The request id is (\w+)\. \[internal_error\]$", told)
    assert found is not None
    assert main(["activity", "show", found[1], "--state", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert '"KeyError"' in shown
    assert re.search(r"contacts\.py:\d+ in _go_wrong", shown)
    assert SECRET not in shown
