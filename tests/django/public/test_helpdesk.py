"""django-helpdesk: tickets are listed, opened and read back, with the field its people added, and never empty."""

import asyncio
import base64

import pytest
from mcp import Client, MCPError

from tests.django.public.running import Served

pytestmark = pytest.mark.parametrize(
    "served", [("helpdesk", "sqlite"), ("helpdesk", "postgresql")], indirect=True, ids=["sqlite", "postgresql"]
)

WHOLE = {"create", "destroy", "list", "partial_update", "retrieve", "update"}
RESOURCES = {
    "followups": WHOLE,
    "followups-attachments": WHOLE,
    "tickets": WHOLE,
    "user_tickets": {"list", "retrieve"},
    "users": {"create"},
}
TICKET = {"queue": 1, "title": "The printer burns", "description": "Again", "priority": 2, "custom_room": "A1"}
REFUSAL = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
    'Unwrap \'data\': send "queue", "title", "description", "priority", "custom_room" directly, not inside "data".\n'
    'Declared fields: ["queue", "title", "description", "resolution", "submitter_email", "assigned_to", "status", '
    '"on_hold", "priority", "due_date", "merged_to", "attachment", "custom_room"].'
)


def named(*actions: str) -> set[str]:
    return {f"helpdesk__api__{resource}__{each}" for resource, own in RESOURCES.items() for each in own & set(actions)}


async def shown(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


def test_all_of_its_api_is_tools_with_a_result_that_is_described(served: Served) -> None:
    async def drive() -> None:
        async with served.client() as client:
            assert await shown(client) == named(*WHOLE)
            assert all(tool.output_schema for tool in (await client.list_tools()).tools)

    asyncio.run(drive())
    assert {problem for problem, _ in served.problems} == {"FIELD_OPEN", "FIELDS_STORED", "LEFT_OUT"}


def test_callers_are_shown_what_they_may_use(served: Served) -> None:
    async def drive() -> None:
        async with served.client("read") as client:
            assert await shown(client) == named("list", "retrieve")
        async with served.client(None) as client:
            assert await shown(client) == set()

    asyncio.run(drive())


def test_a_ticket_is_listed_opened_read_back_and_answered(served: Served) -> None:
    async def drive() -> None:
        async with served.client() as client:
            before = await client.call_tool("helpdesk__api__tickets__list", {})
            made = await client.call_tool("helpdesk__api__tickets__create", TICKET)
            assert (before.is_error, made.is_error) == (False, False)
            ticket = made.structured_content
            assert {name: ticket[name] for name in TICKET} == TICKET
            found = await client.call_tool("helpdesk__api__tickets__retrieve", {"id": ticket["id"]})
            assert found.structured_content == ticket
            after = await client.call_tool("helpdesk__api__tickets__list", {})
            assert after.structured_content["results"] == [*before.structured_content["results"], ticket]
            file = {"filename": "a.txt", "content": base64.b64encode(b"hello").decode()}
            answer = {"ticket": ticket["id"], "user": "ada", "title": "Called", "attachments": [file]}
            answered = await client.call_tool("helpdesk__api__followups__create", answer)
            (stored,) = answered.structured_content["followupattachment_set"]
            assert {name: stored[name] for name in ("filename", "size")} == {"filename": "a.txt", "size": 5}

    asyncio.run(drive())


def test_tickets_are_narrowed_by_what_only_the_view_reads(served: Served) -> None:
    async def drive() -> None:
        async with served.client() as client:
            made = await client.call_tool("helpdesk__api__tickets__create", TICKET)
            key = made.structured_content["id"]
            closed = await client.call_tool("helpdesk__api__tickets__partial_update", {"id": key, "status": 4})
            assert not closed.is_error, closed.content
            found = await client.call_tool("helpdesk__api__tickets__list", {"status": 4})
            assert [ticket["id"] for ticket in found.structured_content["results"]] == [key]

    asyncio.run(drive())


def test_a_queue_is_named_by_what_identifies_it(served: Served) -> None:
    async def drive() -> None:
        async with served.client() as client:
            for queue in ("support", {"slug": "support"}, {"id": 1}):
                made = await client.call_tool("helpdesk__api__tickets__create", {**TICKET, "queue": queue})
                assert (made.is_error, made.structured_content["queue"]) == (False, 1)
            missing = await client.call_tool("helpdesk__api__tickets__create", {**TICKET, "queue": {"slug": "sales"}})
            assert missing.is_error

    asyncio.run(drive())


def test_a_wrapped_ticket_is_refused_and_none_is_opened(served: Served) -> None:
    async def drive() -> None:
        async with served.client() as client:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("helpdesk__api__tickets__create", {"data": TICKET})
            assert (refused.value.error.code, refused.value.error.message) == (-32602, REFUSAL)
            with pytest.raises(MCPError, match="Argument 'extra' is not a declared field"):
                await client.call_tool("helpdesk__api__tickets__create", {**TICKET, "extra": {"priority": 1}})

    before = served.count("helpdesk_ticket")
    asyncio.run(drive())
    assert served.count("helpdesk_ticket") == before


def test_what_the_help_desk_itself_asks_for_is_told_in_its_words(served: Served) -> None:
    async def drive() -> None:
        async with served.client() as client:
            told = {name: value for name, value in TICKET.items() if name != "priority"}
            refused = await client.call_tool("helpdesk__api__tickets__create", told)
            assert refused.is_error
            assert refused.content[0].text == (  # type: ignore[union-attr]  # a refusal is text
                "The API refused these arguments: priority: This field is required. Correct them and call again."
                " [invalid_input]"
            )

    asyncio.run(drive())
