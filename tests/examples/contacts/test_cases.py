"""The cases that the contract was written after, on both databases, in both eras, directly and through dispatchers."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from mcp import Client

from tests.django.connecting import MODES, Mode, connected
from tests.examples.contacts.asking import DOORS, Door, Failure, Json, Refusal, ask, require
from tests.examples.contacts.running import Project, Served, User

T = TypeVar("T")
DECLARED = '["email", "first_name", "last_name", "status", "company", "tags", "phones", "notes"]'
pytestmark = [pytest.mark.parametrize("mode", MODES), pytest.mark.parametrize("door", DOORS)]


def talk(served: Served, mode: Mode, conversation: Callable[[Client], Awaitable[T]], *, user: User = "agent") -> T:
    async def held() -> T:
        async with connected(f"{served.url}/mcp/", mode, token=served.token(user)) as client:
            return await conversation(client)

    return asyncio.run(held())


def refusal(key: str, fields: str, declared: str = DECLARED) -> Refusal:
    return Refusal(
        -32602,
        f"Argument '{key}' is not a declared field and its value is a nested object.\n"
        "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
        f"Unwrap '{key}': send {fields} directly, not inside \"{key}\".\n"
        f"Declared fields: {declared}.",
    )


def new_email() -> str:
    return f"{uuid.uuid4().hex[:12]}@example.com"


def stored(project: Project, key: str) -> Json:
    (row,) = [row for row in project.rows("contacts_contact") if row["id"] == uuid.UUID(key).hex]
    return row


# --- one record ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T1")
@pytest.mark.requirement("000-20")
def test_flat_fields_are_stored_as_they_are_sent(project: Project, served: Served, mode: Mode, door: Door) -> None:
    sent = {"email": new_email(), "first_name": "Agent", "last_name": "Smith", "notes": "Met at the fair"}
    made = talk(served, mode, lambda client: require(client, "contacts__create", sent, door=door))
    assert {name: made[name] for name in sent} == sent
    row = stored(project, made["id"])
    assert {name: row[name] for name in sent} == sent
    assert (row["status"], row["company_id"], row["archived_at"]) == ("lead", None, None)


@pytest.mark.requirement("T2")
@pytest.mark.requirement("000-1")
@pytest.mark.requirement("000-3")
@pytest.mark.requirement("000-13")
@pytest.mark.parametrize("key", ["data", "payload", "contact"])
def test_a_wrapped_payload_is_refused_and_nothing_is_stored(
    project: Project, served: Served, mode: Mode, door: Door, key: str
) -> None:
    before = project.everything()
    sent = {key: {"email": new_email(), "first_name": "Agent"}}
    answer = talk(served, mode, lambda client: ask(client, "contacts__create", sent, door=door))
    assert answer == refusal(key, '"email", "first_name"')
    assert project.everything() == before


@pytest.mark.requirement("000-2")
def test_flat_fields_beside_a_wrapper_are_refused_together(
    project: Project, served: Served, mode: Mode, door: Door
) -> None:
    before = project.everything()
    sent = {"email": new_email(), "first_name": "Agent", "data": {"notes": "nested field"}}
    answer = talk(served, mode, lambda client: ask(client, "contacts__create", sent, door=door))
    assert answer == refusal("data", '"notes"')
    assert project.everything() == before


@pytest.mark.requirement("000-7")
def test_a_reader_refuses_a_wrapper_too(served: Served, mode: Mode, door: Door) -> None:
    answer = talk(served, mode, lambda client: ask(client, "contacts__retrieve", {"data": {"id": "1"}}, door=door))
    assert answer == refusal("data", '"id"', '["id"]')


def test_a_wrapped_change_changes_nothing(project: Project, served: Served, mode: Mode, door: Door) -> None:
    known = project.rows("contacts_contact")[0]["id"]
    before = project.everything()
    sent = {"id": str(uuid.UUID(known)), "data": {"notes": "lost"}}
    for tool in ("contacts__update", "contacts__partial_update"):
        answer = talk(served, mode, lambda client, tool=tool: ask(client, tool, sent, door=door))  # type: ignore[misc]  # bound in this turn
        assert isinstance(answer, Refusal), answer
        assert answer.message.startswith("Argument 'data' is not a declared field and its value is a nested object.\n")
    assert project.everything() == before


# --- many records ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T3")
@pytest.mark.requirement("000-16")
@pytest.mark.parametrize("key", ["objects", "data", "items", "_items", "body"])
def test_a_list_creates_a_row_for_each_item(project: Project, served: Served, mode: Mode, door: Door, key: str) -> None:
    items = [{"email": new_email(), "first_name": "One"}, {"email": new_email(), "notes": "two"}]
    before = len(project.rows("contacts_contact"))
    talk(served, mode, lambda client: require(client, "contacts__create", {key: items}, door=door))
    rows = {row["email"]: row for row in project.rows("contacts_contact")}
    assert [(rows[item["email"]]["first_name"], rows[item["email"]]["notes"]) for item in items] == [
        ("One", ""),
        ("", "two"),
    ]
    assert len(project.rows("contacts_contact")) == before + 2


@pytest.mark.parametrize("key", ["objects", "data"])
def test_wrapped_items_are_refused_and_the_table_is_unchanged(
    project: Project, served: Served, mode: Mode, door: Door, key: str
) -> None:
    before = project.everything()
    items = [{"email": new_email()}, {"data": {"email": new_email(), "first_name": "Agent"}}]
    answer = talk(served, mode, lambda client: ask(client, "contacts__create", {key: items}, door=door))
    assert answer == refusal(f"{key}[1].data", '"email", "first_name"')
    assert project.everything() == before


def test_one_bad_item_undoes_the_others(project: Project, served: Served, mode: Mode, door: Door) -> None:
    before = project.everything()
    taken = next(row["email"] for row in before["contacts_contact"] if row["email"])
    items = [{"email": new_email()}, {"email": taken}]
    answer = talk(served, mode, lambda client: ask(client, "contacts__create", {"objects": items}, door=door))
    assert answer == Failure(
        "Nothing was stored: 1 of 2 objects refused. objects[1].email: contact with this email already exists."
        " Correct them and send all of them again. [invalid_input]"
    )
    assert project.everything() == before


# --- relations -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T4")
@pytest.mark.requirement("000-15")
@pytest.mark.parametrize("site", [{"name": "hq-1"}, "hq-1", {"id": 1}], ids=str)
def test_a_device_is_stored_at_the_site_that_is_named(
    project: Project, served: Served, mode: Mode, door: Door, site: object
) -> None:
    (hq,) = [row["id"] for row in project.rows("dcim_site") if row["name"] == "hq-1"]
    named = {"id": hq} if site == {"id": 1} else site
    sent = {"name": f"sw-{uuid.uuid4().hex[:8]}", "site": named, "device_type": {"model": "EX4300"}}
    made = talk(served, mode, lambda client: require(client, "dcim__devices__create", sent, door=door))
    (row,) = [row for row in project.rows("dcim_device") if row["name"] == sent["name"]]
    assert (row["id"], row["site_id"]) == (made["id"], hq)


MISSING = "no site was found by 'name'"
SEVERAL = "2 device types were found by 'model'; send what only one of them has, such as its id"


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"site": {"name": "hq-9"}}, f"site: {MISSING}"),
        ({"site": "hq-9"}, f"site: {MISSING}"),
        ({"device_type": {"model": "SMT2200"}}, f"device_type: {SEVERAL}"),
        ({"site": "hq-9", "device_type": {"model": "SMT2200"}}, f"site: {MISSING}; device_type: {SEVERAL}"),
    ],
    ids=["missing", "missing by its name alone", "ambiguous", "both"],
)
def test_a_relation_that_leads_to_no_one_row_says_which_and_why(
    project: Project, served: Served, mode: Mode, door: Door, named: Json, said: str
) -> None:
    before = project.everything()
    sent = {"name": "sw-9", "site": "hq-1", "device_type": {"model": "EX4300"}} | named
    answer = talk(served, mode, lambda client: ask(client, "dcim__devices__create", sent, door=door))
    assert answer == Failure(
        f"Some arguments name no row that can be used: {said}. Correct them and call again. [invalid_input]"
    )
    assert project.everything() == before


def test_a_contact_gets_its_company_and_its_tags_by_name(
    project: Project, served: Served, mode: Mode, door: Door
) -> None:
    sent = {"email": new_email(), "company": {"name": "Orbit & Co"}, "tags": ["vip", {"name": "press"}]}
    made = talk(served, mode, lambda client: require(client, "contacts__create", sent, door=door))
    assert made["company_name"] == "Orbit & Co"
    names = {row["id"]: row["name"] for row in project.rows("contacts_tag")}
    kept = [
        row["tag_id"] for row in project.rows("contacts_contact_tags") if row["contact_id"] == uuid.UUID(made["id"]).hex
    ]
    assert sorted(names[tag] for tag in kept) == ["press", "vip"]
