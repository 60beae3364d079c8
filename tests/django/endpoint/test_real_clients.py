"""The official clients in every mode, against the project behind a WSGI and an ASGI server."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, MCPError

from tests.django.endpoint.live import WAYS, running_project
from tests.parts import Mode, Outcome, Parts

MODES: tuple[Mode, ...] = ("auto", "legacy", "2026-07-28")
AGREED = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
WRAPPED = {"data": {"email": "wrapped@example.com", "first_name": "Ada"}}
REFUSAL = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
    'Unwrap \'data\': send "email", "first_name" directly, not inside "data".\n'
    'Declared fields: ["email", "first_name", "last_name", "notes", "status", "password"].'
)


@pytest.fixture(scope="module", params=WAYS)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_project(request.param, tmp_path_factory.mktemp(request.param)) as address:
        yield address


@pytest.mark.requirement("000-13")
@pytest.mark.parametrize("mode", MODES)
def test_the_python_client_lists_creates_reads_back_and_is_refused(url: str, mode: Mode) -> None:
    async def drive() -> None:
        async with Client(url, mode=mode) as client:
            assert client.protocol_version == AGREED[mode]
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert {"contacts__create", "contacts__list", "echo"} <= set(names)
            person = {"email": f"py-{mode}@example.com", "first_name": "Ada"}
            made = await client.call_tool("contacts__create", person)
            assert made.structured_content is not None
            found = await client.call_tool("contacts__retrieve", {"id": made.structured_content["id"]})
            assert (found.is_error, found.structured_content["email"]) == (False, person["email"])
            with pytest.raises(MCPError) as refused:
                await client.call_tool("contacts__create", WRAPPED)
            assert (refused.value.error.code, refused.value.error.message) == (-32602, REFUSAL)
            again = await client.call_tool("contacts__create", person)
            assert again.is_error
            with pytest.raises(MCPError, match="There is no tool 'nope'"):
                await client.call_tool("nope", {})

    asyncio.run(drive())


@pytest.mark.parametrize("client", [*(f"ts-{mode}" for mode in MODES), "ts1"])
def test_the_typescript_clients_do_the_same(parts: Parts, url: str, client: str) -> None:
    mode: Any = client.removeprefix("ts-")
    person = {"email": f"{client}@example.com", "first_name": "Ada"}
    steps = [
        {"info": True},
        {"list": True},
        {"call": {"name": "contacts__create", "arguments": person}},
        {"call": {"name": "contacts__create", "arguments": WRAPPED}},
        {"call": {"name": "nope", "arguments": {}}},
    ]
    outcomes: list[Outcome] = (
        parts.ts_client(url, steps, sdk=1) if client == "ts1" else parts.ts_client(url, steps, mode=mode)
    )
    info, listed, made, refused, unknown = outcomes
    assert info["result"]["serverInfo"] == {"name": "live", "version": "1.2"}
    assert info["result"]["protocolVersion"] == AGREED.get(mode, "2025-11-25")
    assert "contacts__create" in [tool["name"] for tool in listed["result"]["tools"]]
    assert made["result"]["structuredContent"]["email"] == person["email"]
    assert (refused["error"]["code"], refused["error"]["message"].removeprefix("MCP error -32602: ")) == (
        -32602,
        REFUSAL,
    )
    assert unknown["error"]["code"] == -32602
