"""Lists of the back office in pages: every row once, whatever the size of a page."""

from pathlib import Path

import pytest

from backoffice.domain.communication import ChannelKind
from backoffice.domain.entities import Row
from tests.examples.backoffice.calls import ALWAYS
from tests.examples.backoffice.offices import Json, Office, in_office

ROWS = 23
LISTS: dict[str, Json] = {
    "tasks_list": {},
    "tasks_history": {"id": 1},
    "agents_list": {},
    "budget_accounts_list": {},
    "budget_ledger": {"account": "office", **ALWAYS},
    "approvals_list": {},
    "organisation_teams_list": {},
    "organisation_members_list": {"team_id": 1},
    "communication_channels_list": {},
    "communication_messages_list": {"channel_id": 1, "since": ALWAYS["since"]},
    "memory_notes_list": {},
    "memory_notes_search": {"words": "note"},
    "memory_notes_history": {"id": 1},
}


async def fill(office: Office) -> None:
    """At least so many rows in every list."""
    app = office.app
    for n in range(ROWS):
        await app.agents.register(f"agent-{n}", role="clerk", skills=())
        await app.tasks.create(title=f"Task {n}", by="ada")
        await app.tasks.assign(1, f"agent-{n}", by="ada")
        await app.budget.open(f"account-{n}", title="One of many", amount_cents=1, by="ada")
        await app.budget.spend("office", amount_cents=1, purpose="stamp", by="ada")
        await app.approvals.request(title=f"Wish {n}", account="office", amount_cents=1, by="ada")
        await app.organisation.create(name=f"Team {n}")
        await app.organisation.add_member(1, f"agent-{n}")
        await app.communication.open_channel(name=f"channel {n}", kind=ChannelKind.BOARD)
        await app.communication.send(1, body=f"Notice {n}", by="ada")
        note: Row = {"name": f"Note {n}", "body": "A note.", "topic": "", "importance": n % 10}
        await app.entities["memory_notes"].create(note, by="ada")
        await app.entities["memory_notes"].update(1, {"importance": n % 10}, revision=None, by="ada")


def page_of(answer: Json) -> tuple[list[Json], Json]:
    """The rows, and what is said of them: beside the data in the explicit form, within it in the typed one."""
    if "pagination" in answer:
        return answer["data"], answer["pagination"]
    pagination = dict(answer["data"])
    return pagination.pop("items"), pagination


async def walk(office: Office, tool: str, limit: int) -> tuple[list[Json], set[int]]:
    """Every row in the order of the pages, and the totals that the pages spoke of."""
    rows: list[Json] = []
    totals: set[int] = set()
    while True:
        page, pagination = page_of(await office.call(tool, {**LISTS[tool], "offset": len(rows), "limit": limit}))
        assert pagination == {"total": pagination["total"], "offset": len(rows), "limit": limit}
        assert len(page) <= limit
        rows += page
        totals.add(pagination["total"])
        if len(page) < limit:
            return rows, totals


@pytest.mark.requirement("003-7")
def test_pages_of_every_size_walk_every_row_once(tmp_path: Path) -> None:
    async def session(office: Office) -> None:
        await fill(office)
        for tool in LISTS:
            whole, totals = await walk(office, tool, 500)
            assert len(whole) >= ROWS
            assert totals == {len(whole)}
            for limit in (1, 2, 7, len(whole) - 1, len(whole), len(whole) + 1):
                assert await walk(office, tool, limit) == (whole, {len(whole)}), (tool, limit)

    in_office(tmp_path, session)


@pytest.mark.requirement("003-7")
def test_a_page_beyond_the_end_is_empty_and_still_knows_the_total(tmp_path: Path) -> None:
    async def session(office: Office) -> None:
        for offset in (3, 4, 2**40, 2**80):
            answer = await office.call("tasks_list", {"offset": offset})
            assert answer == {"status": "ok", "data": [], "pagination": {"total": 3, "offset": offset, "limit": 50}}

    in_office(tmp_path, session, entities=())


def test_a_page_that_cannot_be_is_refused_by_every_list(tmp_path: Path) -> None:
    wrong: list[Json] = [{"limit": 0}, {"limit": 501}, {"limit": True}, {"limit": "7"}, {"offset": -1}, {"offset": 0.5}]

    async def session(office: Office) -> None:
        for tool, arguments in LISTS.items():
            for paging in wrong:
                assert await office.code(tool, {**arguments, **paging}) == "invalid_argument", (tool, paging)

    in_office(tmp_path, session)
