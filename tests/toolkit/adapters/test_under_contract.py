"""One line around servers of every kind: their faults before it, what agents and operators see after it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolRequestParams

from handfast.core.call.policy import Mode
from handfast.toolkit import ContractError, Toolbox, under_contract
from handfast.toolkit.adapters.sdk_server import SdkContractMiddleware
from tests.parts import Parts
from tests.toolkit.adapters.faulty_sdk import answer, high, low
from tests.toolkit.adapters.shop import Shop, listed
from tests.toolkit.adapters.stage import MODES, Said, over_http, over_stdio, records, said
from tests.toolkit.adapters.stage import Mode as Era
from tests.toolkit.adapters.wire import wired
from tests.toolkit.records import Kept

KINDS = ("high", "low", "fast")
DECLARED = 'Declared fields: ["email", "first_name", "stars"].'


def unfit(what: str) -> str:
    return f"The arguments do not fit what the tool declares: {what}. Correct them and call again.\n{DECLARED}"


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    (
        {"data": {"email": "a", "first_name": "b"}},
        "arguments.nested_wrapper",
        "Argument 'data' is not a declared field and its value is a nested object.\n"
        "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
        'Unwrap \'data\': send "email", "first_name" directly, not inside "data".\n' + DECLARED,
    ),
    (
        {"email": "a", "bogus": 1},
        "arguments.unknown",
        f"Argument 'bogus' is not a declared field. Remove it and call again.\n{DECLARED}",
    ),
    (
        {"email": "a", "stars": "3"},
        "arguments.schema",
        unfit("stars: must be an integer, not a string"),
    ),
    (
        {},
        "arguments.schema",
        unfit("must have the property 'email' (a string)"),
    ),
]
BLOCKED = (
    "The result of 'rate' was blocked: the structured content does not match the declared output schema: score: must "
    "be a number, not {}. The tool did run; do not repeat the call unless that is safe. Report this to the operator, "
    "who finds it under `handfast activity list --status blocked`."
)
INVALID = ("raised", "Invalid structured content returned by tool rate")


async def bare_session(client: Client) -> dict[str, int]:
    """How many contacts there are after each call that should have been refused."""
    counts = {}
    for arguments, rule, _text in REFUSED[:3]:
        await said(client, "create_contact", arguments)
        counts[rule] = await count(client)
    assert await said(client, "rate", {}) == INVALID
    return counts


async def count(client: Client) -> int:
    result = (await client.call_tool("count_contacts", {})).structured_content
    assert isinstance(result, dict)
    return int(result["result"])


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("high", {"arguments.nested_wrapper": 0, "arguments.unknown": 1, "arguments.schema": 2}),
        ("low", {"arguments.nested_wrapper": 1, "arguments.unknown": 2, "arguments.schema": 3}),
        ("fast", {"arguments.nested_wrapper": 0, "arguments.unknown": 0, "arguments.schema": 1}),
    ],
)
def test_without_it_bad_calls_are_carried_out_and_bad_results_are_sent(
    kind: str, stored: dict[str, int], tmp_path: Path, parts: Parts
) -> None:
    async def session() -> dict[str, int]:
        async with over_stdio(kind, "bare", tmp_path) as client:
            return await bare_session(client)

    assert asyncio.run(session()) == stored


async def held_session(client: Client, kind: str) -> None:
    made = await client.call_tool("create_contact", {"email": "a@b.c"})
    assert (made.is_error, made.structured_content) == (False, {"id": 1, "email": "a@b.c"})
    for arguments, _rule, text in REFUSED:
        refused = await client.call_tool("create_contact", arguments)
        assert (await said(client, "create_contact", arguments)) == ("error", text)
        assert refused.structured_content is None
    assert await count(client) == 1
    assert await said(client, "rate", {}) == ("error", BLOCKED.format("null" if kind == "high" else "a string"))
    assert (await said(client, "fail", {}))[1] == "out of order"
    unknown: Said = ("-32602", "There is no tool 'nope'. Call tools/list for the tools there are.")
    assert await said(client, "nope", {}) == unknown


def on_record(actor: str) -> list[tuple[str, str, str, str, str]]:
    decisions = [
        (kind, "blocked", "create_contact", rule, actor)
        for _arguments, rule, _text in REFUSED
        for kind in ("policy_decision", "tool_call") * 2
    ]
    return [
        ("tool_call", "success", "create_contact", "", actor),
        *decisions,
        ("tool_call", "success", "count_contacts", "", actor),
        ("policy_decision", "blocked", "rate", "result.schema", actor),
        ("tool_call", "blocked", "rate", "result.schema", actor),
        ("tool_call", "error", "fail", "", actor),
        ("policy_decision", "blocked", "nope", "contract.unlisted", actor),
        ("tool_call", "blocked", "nope", "contract.unlisted", actor),
    ]


@pytest.mark.requirement("000-8")
@pytest.mark.requirement("D21")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_under_it_a_session_over_stdio_is_held_to_the_contract(
    kind: str, mode: Era, tmp_path: Path, parts: Parts
) -> None:
    async def session() -> None:
        async with over_stdio(kind, "contract", tmp_path, mode) as client:
            await held_session(client, kind)

    asyncio.run(session())
    assert records(tmp_path) == on_record("ada")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_under_it_a_session_over_http_is_held_to_the_contract(
    kind: str, mode: Era, tmp_path: Path, parts: Parts
) -> None:
    async def session(url: str) -> None:
        async with Client(url, mode=mode) as client:
            await held_session(client, kind)

    with over_http(kind, "contract", tmp_path) as url:
        asyncio.run(session(url))
    assert records(tmp_path) == on_record("")  # nobody is authenticated, whatever the server's environment says


# --- the choices -------------------------------------------------------------------------------------------------


def call(server: Any, tool: str, arguments: dict[str, Any]) -> Said:
    async def session() -> Said:
        async with Client(server) as client:
            return await said(client, tool, arguments)

    return asyncio.run(session())


def test_the_same_server_is_given_back() -> None:
    for server in (high(), low()):
        assert under_contract(server, recorder=Kept()) is server


@pytest.mark.requirement("D2")
def test_warn_lets_pass_what_breaks_a_schema_and_notes_it_but_still_refuses_what_is_not_declared() -> None:
    kept = Kept()
    server = under_contract(low(), input="warn", output=Mode.WARN, recorder=kept)
    assert call(server, "create_contact", {"email": 1}) == ("ok", "done")
    assert call(server, "create_contact", {"email": "a", "bogus": 1})[0] == "error"
    assert call(server, "rate", {}) == INVALID
    assert kept.told() == [
        ("policy_decision", "warning", "create_contact", "arguments.schema"),
        ("tool_call", "success", "create_contact", ""),
        ("policy_decision", "blocked", "create_contact", "arguments.unknown"),
        ("tool_call", "blocked", "create_contact", "arguments.unknown"),
        ("policy_decision", "warning", "rate", "result.schema"),
        ("tool_call", "success", "rate", ""),
    ]


def test_off_judges_nothing_and_asks_for_no_list() -> None:
    kept = Kept()
    shop = Shop([listed("buy", "n")])
    under_contract(shop.server, input="off", output="off", recorder=kept)

    async def session() -> Any:
        async with wired(shop.server) as wire:
            return await wire.call("buy", {"data": {"n": 1}})

    assert asyncio.run(session())["structuredContent"] == {"data": {"n": 1}}
    assert kept.told() == [("tool_call", "success", "buy", "")]
    assert shop.lists == 0


def test_unknown_arguments_and_lenient_scalars_are_as_in_the_settings() -> None:
    server = under_contract(low(), unknown_arguments="reject_objects", lenient_scalars=True, recorder=Kept())
    assert call(server, "create_contact", {"email": "a", "bogus": 1, "stars": "3"}) == ("ok", "done")
    assert call(server, "create_contact", {"email": "a", "bogus": {}})[0] == "error"


@pytest.mark.requirement("D4")
def test_an_author_who_leaves_the_schema_open_is_believed() -> None:
    async def list_tools(_context: Any, _params: Any) -> Any:
        opened = {"type": "object", "properties": {"a": {}}, "additionalProperties": True}
        tools = [{"name": "open", "inputSchema": opened}, {"name": "any", "inputSchema": {"type": "object"}}]
        return {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "public"}

    async def call_tool(_context: Any, params: CallToolRequestParams) -> Any:
        return answer(params.arguments)

    server: Server[Any] = Server("open", on_list_tools=list_tools, on_call_tool=call_tool)
    under_contract(server, recorder=Kept())
    assert call(server, "open", {"b": {"c": 1}}) == ("ok", "done")
    assert call(server, "any", {"b": {"c": 1}}) == ("ok", "done")


# --- what its author is told -------------------------------------------------------------------------------------


def test_once_is_enough() -> None:
    server = under_contract(high(), recorder=Kept())
    with pytest.raises(ContractError, match=r"^This server is under the contract already\. Call under_contract once"):
        under_contract(server)
    assert sum(isinstance(each, SdkContractMiddleware) for each in server.middleware) == 1


@pytest.mark.parametrize("thing", [Toolbox("t"), object(), "server", MCPServer])
def test_what_is_no_server_of_these_kinds_is_refused_with_those_that_are(thing: object) -> None:
    name = type(thing).__name__
    with pytest.raises(ContractError) as refused:
        under_contract(thing)
    assert str(refused.value) == (
        "under_contract knows MCPServer and lowlevel.Server of mcp 2 and FastMCP of fastmcp 4, and not a "
        f"{name}. Hand it the server object itself; a Toolbox keeps its contract without it."
    )


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ({"input": "loose"}, "input must be one of 'off', 'warn', 'strict'."),
        ({"output": "loose"}, "output must be one of 'off', 'warn', 'strict'."),
        ({"unknown_arguments": "no"}, "unknown_arguments must be one of 'schema', 'reject_objects', 'reject_all'."),
    ],
)
def test_a_word_that_is_no_choice_is_refused_with_the_choices(choice: dict[str, Any], told: str) -> None:
    server = high()
    with pytest.raises(ContractError) as refused:
        under_contract(server, **choice)
    assert str(refused.value) == told
    assert not any(isinstance(each, SdkContractMiddleware) for each in server.middleware)
