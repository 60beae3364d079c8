"""Dispatchers, help, pieces and old names through the official client over stdio, in both eras, directly and wrapped.

The client holds every structured content to the listed output schema and raises where it does not fit.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from handfast.activity.query import EVERYTHING
from handfast.activity.sqlite import SqliteStore
from handfast.toolkit.testing import assert_contract
from tests.demo import HANDFAST
from tests.toolkit.directory import Contact, contact, make_toolbox

Mode = Literal["legacy", "auto", "2026-07-28"]
MODES: tuple[Mode, ...] = ("legacy", "2026-07-28")
WRAPPED = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
    'Unwrap \'data\': send "email" directly, not inside "data".\n'
    'Declared fields: ["email", "first_name"].'
)
SERVER = [sys.executable, "-m", "tests.toolkit.directory"]


@asynccontextmanager
async def session(state: Path, mode: Mode, *, is_wrapped: bool) -> AsyncIterator[Client]:
    env = {**os.environ, "HANDFAST_STATE": str(state), "HANDFAST_ACTOR": "ada"}
    strict = [str(HANDFAST), "wrap", "--input", "strict", "--output", "strict", "--state", str(state / "wrap"), "--"]
    command = [*strict, *SERVER] if is_wrapped else SERVER
    async with Client(StdioServerParameters(command=command[0], args=command[1:], env=env), mode=mode) as client:
        yield client


def texts(result: CallToolResult) -> list[str]:
    assert all(isinstance(block, TextContent) for block in result.content)
    return [block.text for block in result.content if isinstance(block, TextContent)]


def records(state: Path) -> list[tuple[str, str, str, str]]:
    store = SqliteStore.open(state)
    try:
        found = [each.record for each in store.query(EVERYTHING, oldest_first=True)]
    finally:
        store.close()
    return [(record.type.value, record.status.value, record.tool, record.rule) for record in found]


async def dispatch(client: Client) -> None:
    overview = await client.call_tool("contacts", {"action": "help"})
    assert list((overview.structured_content or {})["actions"]) == ["create", "get", "delete", "list"]
    made = await client.call_tool("contacts", {"action": "create", "arguments": {"email": "a@b.c"}})
    assert (made.structured_content or {})["state_after"] == {"contacts": 1, "last_id": 1}
    refused = await client.call_tool("contacts", {"action": "create", "arguments": {"data": {"email": "a"}}})
    assert refused.is_error
    assert texts(refused) == [WRAPPED]
    unconfirmed = await client.call_tool("contacts", {"action": "delete", "arguments": {"id": 1}})
    assert (unconfirmed.meta or {})["handfast/details"] == {"violation": "missing_confirm"}
    guarded = {"id": 1, "confirm": True, "reason": "asked to"}
    deleted = await client.call_tool("contacts", {"action": "delete", "arguments": guarded})
    assert deleted.structured_content == {"state_after": {"contacts": 0, "last_id": None}}


async def walk(client: Client) -> None:
    """With what was sent before, so that the call also meets the input schema that is listed."""
    sent: dict[str, Any] = {"count": 90, "limit": 90}
    items: list[Any] = []
    for number in count(1):
        piece = await client.call_tool("page_contacts", sent)
        found: Any = piece.structured_content
        items += found["items"]
        assert found["piece"]["number"] == number
        token = found["piece"]["continuation_token"]
        if token is None:
            break
        assert texts(piece)[1].endswith(f'call again with the arguments {{"continuation_token":"{token}"}}.')
        sent["continuation_token"] = token
    assert items == [contact(number).model_dump() for number in range(90)]
    assert found["piece"]["of"] == number > 1


async def go_on_through_a_dispatcher(client: Client) -> None:
    first: Any = await client.call_tool("contacts", {"action": "list", "arguments": {"count": 90}})
    token = first.structured_content["result"]["piece"]["continuation_token"]
    second: Any = await client.call_tool("contacts", {"action": "list", "arguments": {"continuation_token": token}})
    assert second.structured_content["result"]["piece"]["number"] == 2


async def use_an_old_name(client: Client) -> None:
    told = await client.call_tool("everything", {"count": 1})
    assert told.structured_content == {"lines": {"é0": "xxxxxxxxxx"}}
    assert texts(told)[1].startswith("The tool 'everything' is now called 'report'")
    assert (told.meta or {})["handfast/deprecated"] == {"use": "report", "until": "2999-03-01"}


async def send_what_is_not_listed(client: Client) -> None:
    beside = await client.call_tool("contacts", {"action": "create", "data": {"email": "a"}})
    assert beside.is_error
    assert texts(beside) == [
        WRAPPED.replace("flat at the top level", 'inside "arguments"').replace("directly", 'inside "arguments"')
    ]
    explained = await client.call_tool("page_contacts", {"help": True})
    assert (explained.is_error, explained.structured_content) == (True, None)
    head, _, about = texts(explained)[0].partition("\n")
    assert head == "Nothing was run: this explains 'page_contacts'. Call it again without help."
    assert json.loads(about)["inputSchema"]["required"] == ["count"]
    narrowed = await client.call_tool("page_contacts", {"count": 9, "filters": {"id": 3}, "filter_keys": ["email"]})
    assert (narrowed.structured_content or {})["items"] == [{"email": "3@example.org"}]
    page = await client.call_tool("report", {"count": 1, "page": 2})
    assert texts(page)[0].startswith("Argument 'page' cannot be used here: the result of this tool is not a list.")


CALLS = [
    ("tool_call", "success", "contacts", "dispatch.help"),
    ("tool_call", "success", "create_contact", ""),
    ("tool_call", "blocked", "create_contact", "arguments.nested_wrapper"),
    ("tool_call", "blocked", "delete_contact", "access.missing_confirm"),
    ("tool_call", "success", "delete_contact", ""),
]


@pytest.mark.requirement("000-9")
@pytest.mark.requirement("000-10")
@pytest.mark.requirement("000-12")
@pytest.mark.requirement("000-17")
@pytest.mark.requirement("002-11")
@pytest.mark.parametrize("mode", MODES)
def test_a_whole_session(mode: Mode, tmp_path: Path) -> None:
    async def use() -> None:
        async with session(tmp_path, mode, is_wrapped=False) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert sorted(listed) == ["contacts", "everything", "page_contacts", "report"]
            assert (listed["everything"].description or "").startswith("Deprecated: use report instead.")
            for step in (dispatch, walk, go_on_through_a_dispatcher, use_an_old_name, send_what_is_not_listed):
                await step(client)

    asyncio.run(use())
    told = [each for each in records(tmp_path) if each[0] == "tool_call"]
    assert told[: len(CALLS)] == CALLS
    assert told[-4:] == [
        ("tool_call", "blocked", "contacts", "arguments.nested_wrapper"),
        ("tool_call", "success", "page_contacts", "tool.help"),
        ("tool_call", "success", "page_contacts", ""),
        ("tool_call", "blocked", "report", "arguments.protocol"),
    ]


@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
def test_all_of_it_keeps_its_contract(envelope: str) -> None:
    assert_contract(make_toolbox(envelope, piece_bytes=256), examples=20)


def test_a_tool_that_breaks_its_word_is_found_behind_a_dispatcher_too() -> None:
    tools = make_toolbox()

    @tools.read(in_pieces=True, piece_bytes=256, is_listed=False)
    async def forget() -> list[Contact]:
        """Forget what an item needs."""
        return [{"id": number} for number in range(100)]  # type: ignore[misc]  # that is the fault

    tools.dispatcher("faulty", "Faulty.", actions=["forget"])
    with pytest.raises(AssertionError, match=r"forget.*output_violation"):
        assert_contract(tools, examples=5)


@pytest.mark.parametrize("mode", MODES)
def test_all_that_is_listed_passes_a_strict_gateway_without_a_word(mode: Mode, tmp_path: Path) -> None:
    async def use() -> None:
        async with session(tmp_path, mode, is_wrapped=True) as client:
            await client.list_tools()
            for step in (dispatch, walk, go_on_through_a_dispatcher, use_an_old_name):
                await step(client)

    asyncio.run(use())
    assert [each for each in records(tmp_path) if each[0] == "tool_call"][: len(CALLS)] == CALLS
    told = records(tmp_path / "wrap")
    assert told
    assert [each for each in told if each[1] in ("warning", "blocked")] == []
