"""The tools of the example: who is shown which, what they say of themselves, and every one of them called."""

import asyncio
import json
import uuid

import pytest
from mcp import Client

from tests.django.connecting import MODES, Mode, connected
from tests.examples.contacts.asking import Failure, Refusal, ask, require
from tests.examples.contacts.running import Project, Served, User
from tests.examples.contacts.session import hold

RESOURCES = ("companies", "contacts", "dcim__device-types", "dcim__devices", "dcim__sites", "tags")
ACTIONS = ("list", "create", "retrieve", "update", "partial_update", "destroy")
ALL = {
    *RESOURCES,  # a dispatcher each
    *(f"{resource}__{action}" for resource in RESOURCES for action in ACTIONS),
    *("contacts__archive", "contacts__erase", "dcim__capacity"),
}
DECLARED = '["email", "first_name", "last_name", "status", "company", "tags", "phones", "notes"]'


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


def at(served: Served) -> str:
    return str(served.snippet["mcpServers"]["contacts"]["url"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("user", "missing"),
    [("admin", set()), ("agent", {"contacts__erase", *(f"{resource}__destroy" for resource in RESOURCES)})],
)
def test_each_user_is_shown_what_it_may_use(served: Served, mode: Mode, user: User, missing: set[str]) -> None:
    async def look() -> None:
        async with connected(at(served), mode, token=served.token(user)) as client:
            assert await names(client) == ALL - missing

    asyncio.run(look())


def test_the_server_says_who_it_is(served: Served) -> None:
    async def look() -> None:
        async with connected(at(served), "legacy", token=served.token("agent")) as client:
            assert client.server_info is not None
            assert client.server_info.name == "contacts"
            assert "can be named instead of numbered" in (client.instructions or "")

    asyncio.run(look())


@pytest.mark.parametrize("mode", MODES)
def test_every_tool_of_a_session_succeeds(project: Project, served: Served, mode: Mode) -> None:
    before = project.everything()

    async def talk() -> None:
        async with connected(at(served), mode, token=served.token("admin")) as client:
            assert await hold(client) == await names(client)

    asyncio.run(talk())
    after = project.everything()
    assert {table: len(rows) for table, rows in after.items()} == {table: len(rows) for table, rows in before.items()}


@pytest.mark.requirement("000-12")
@pytest.mark.parametrize("mode", MODES)
def test_a_dispatcher_drops_nothing_that_stands_beside_its_action(project: Project, served: Served, mode: Mode) -> None:
    before = project.everything()
    wrapped = {"action": "create", "data": {"email": "agent@example.com", "first_name": "Agent"}}

    async def talk() -> None:
        async with connected(at(served), mode, token=served.token("agent")) as client:
            refused = await ask(client, "contacts", wrapped)
            assert isinstance(refused, Refusal), refused
            assert refused.code == -32602
            assert refused.message.splitlines() == [
                "Argument 'data' is not a declared field and its value is a nested object.",
                'Likely cause: REST-style wrapper — send fields inside "arguments".',
                'Unwrap \'data\': send "email", "first_name" inside "arguments", not inside "data".',
                f"Declared fields: {DECLARED}.",
            ]

    asyncio.run(talk())
    assert project.everything() == before


@pytest.mark.requirement("000-20")
@pytest.mark.parametrize("mode", MODES)
def test_what_the_serializer_passes_over_is_named(served: Served, mode: Mode) -> None:
    async def talk() -> None:
        async with connected(at(served), mode, token=served.token("agent")) as client:
            result = await client.call_tool("contacts__create", {"first_name": "Extra", "bogus": 1, "more": ["x"]})
            assert result.is_error is False
            assert "Ignored arguments: bogus, more" in [getattr(block, "text", "") for block in result.content]

    asyncio.run(talk())


@pytest.mark.requirement("000-17")
@pytest.mark.parametrize("mode", MODES)
def test_arguments_of_the_protocol_never_reach_the_view(project: Project, served: Served, mode: Mode) -> None:
    """But one that a tool declares does: `page` and `page_size` are those of the project's own pages."""
    before = project.everything()
    some = {"id": str(uuid.UUID(before["contacts_contact"][0]["id"]))}

    async def talk() -> None:
        async with connected(at(served), mode, token=served.token("agent")) as client:
            explained = await ask(client, "contacts__create", {"first_name": "Nobody", "help": True})
            assert isinstance(explained, Failure)
            assert explained.text.startswith("Nothing was run: this explains 'contacts__create'.")
            plain = await require(client, "contacts__retrieve", some)
            assert await require(client, "contacts__retrieve", {**some, "mode": "full"}) == plain
            page = await require(client, "contacts__list", {"page": 2, "page_size": 1, "filter_keys": ["id"]})
            assert (len(page["results"]), list(page["results"][0])) == (1, ["id"])
            assert "page=3" in page["next"]
            refused = await ask(client, "contacts__retrieve", {**some, "page": 1})
            assert isinstance(refused, Refusal)
            assert refused.message.startswith("Argument 'page' cannot be used here:")

    asyncio.run(talk())
    assert project.everything() == before


@pytest.mark.requirement("000-19")
def test_no_schema_is_closed(served: Served) -> None:
    async def look() -> None:
        async with connected(at(served), "legacy", token=served.token("admin")) as client:
            schemas = {tool.name: json.dumps(tool.input_schema) for tool in (await client.list_tools()).tools}
            dispatchers = set(RESOURCES)  # which are written by hand, and take nothing beside their action
            closed = {name for name, text in schemas.items() if '"additionalProperties": false' in text}
            assert closed <= dispatchers

    asyncio.run(look())


@pytest.mark.parametrize("mode", MODES)
def test_erasing_asks_for_a_confirmation_and_a_reason(project: Project, served: Served, mode: Mode) -> None:
    before = project.everything()

    async def talk() -> None:
        async with connected(at(served), mode, token=served.token("admin")) as client:
            some = (await require(client, "contacts__list", {"page_size": 1}))["results"][0]["id"]
            for guards in ({}, {"confirm": True}, {"confirm": True, "reason": " "}, {"reason": "Asked to"}):
                result = await client.call_tool("contacts__erase", {"id": some, **guards})
                assert result.is_error is True

    asyncio.run(talk())
    assert project.everything() == before
