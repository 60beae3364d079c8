"""The rules of the back office, kept by its services over a real database."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from backoffice.app_state import AppState
from backoffice.domain.agents import AgentStatus, Workload
from backoffice.domain.approvals import ApprovalStatus
from backoffice.domain.budget import EntryKind, Summary
from backoffice.domain.communication import ChannelKind
from backoffice.domain.entities import EntityCount, Operation, Row
from backoffice.domain.errors import CapabilityMissing, Conflict, Forbidden, NotFound
from backoffice.domain.organisation import MemberRole
from backoffice.domain.tasks import Priority, TaskStatus
from backoffice.seed import seed
from backoffice.services.tasks import TaskChanges
from tests.examples.backoffice.offices import DAWN, open_office

T = TypeVar("T")
Session = Callable[[AppState], Coroutine[Any, Any, T]]  # Any: what a coroutine sends and takes; nothing of ours


def in_services(folder: Path, session: Session[T]) -> T:
    """Run a session in a back office that has been seeded."""

    async def seeded(app: AppState) -> T:
        await seed(app)
        return await session(app)

    with open_office(folder) as app:
        return asyncio.run(seeded(app))


async def refused(work: Awaitable[object], kind: type[Exception]) -> str:
    with pytest.raises(kind) as objection:
        await work
    return str(objection.value)


# --- tasks and agents ------------------------------------------------------------------------------------------------


def test_a_task_goes_its_way_and_a_finished_one_stays_as_it_is(tmp_path: Path) -> None:
    async def session(app: AppState) -> None:
        task = await app.tasks.create(title="Sweep", by="ada")
        assert (task.status, task.assignee, task.created_by) == (TaskStatus.OPEN, None, "ada")
        await app.tasks.update(task.id, TaskChanges(priority=Priority.HIGH), by="ada")
        unchanged = await app.tasks.update(task.id, TaskChanges(priority=Priority.HIGH), by="ada")
        assert unchanged.priority is Priority.HIGH
        assert (await app.tasks.assign(task.id, "grace", by="mary")).status is TaskStatus.IN_PROGRESS
        done = await app.tasks.complete(task.id, by="grace")
        assert done.finished_at is not None
        for late in (
            app.tasks.complete(task.id, by="grace"),
            app.tasks.update(task.id, TaskChanges(title="Sweep again"), by="grace"),
            app.tasks.assign(task.id, "ada", by="grace"),
        ):
            await refused(late, Conflict)
        assert await app.tasks.get(task.id) == done
        events, total = await app.tasks.history(task.id, offset=0, limit=500)
        assert [(event.by, event.what) for event in events] == [
            ("ada", "created"),
            ("ada", "updated"),
            ("mary", "assigned to grace"),
            ("grace", "completed"),
        ]
        assert total == 4

    in_services(tmp_path, session)


def test_a_task_goes_to_agents_who_are_there_and_active(tmp_path: Path) -> None:
    async def session(app: AppState) -> None:
        await refused(app.tasks.assign(2, "nobody", by="ada"), NotFound)
        await app.agents.set_status("ada", AgentStatus.PAUSED)
        await refused(app.tasks.assign(2, "ada", by="ada"), Conflict)
        await app.agents.set_status("ada", AgentStatus.ACTIVE)
        await app.tasks.assign(2, "ada", by="ada")
        assert await app.agents.workload("ada") == Workload("ada", open=0, in_progress=1, done=0)
        await refused(app.agents.retire("ada"), Conflict)
        await app.tasks.complete(2, by="ada")
        assert (await app.agents.retire("ada")).status is AgentStatus.RETIRED
        await refused(app.agents.retire("ada"), Conflict)
        await refused(app.agents.set_status("ada", AgentStatus.ACTIVE), Conflict)
        await refused(app.agents.register("ada", role="again", skills=()), Conflict)

    in_services(tmp_path, session)


def test_a_number_is_never_given_out_twice(tmp_path: Path) -> None:
    async def session(app: AppState) -> None:
        deleted = await app.tasks.delete((await app.tasks.create(title="One", by="ada")).id)
        assert (await app.tasks.create(title="Another", by="ada")).id == deleted.id + 1
        await refused(app.tasks.get(deleted.id), NotFound)
        await refused(app.tasks.history(deleted.id, offset=0, limit=500), NotFound)

    in_services(tmp_path, session)


# --- money -----------------------------------------------------------------------------------------------------------


def test_an_account_never_goes_below_zero_and_closes_only_when_it_is_empty(tmp_path: Path) -> None:
    async def session(app: AppState) -> None:
        await refused(app.budget.open("office", title="Again", amount_cents=1, by="ada"), Conflict)
        await app.budget.open("travel", title="Travel", amount_cents=1000, by="ada")
        await refused(app.budget.spend("travel", amount_cents=1001, purpose="too much", by="ada"), Conflict)
        await refused(app.budget.adjust("travel", amount_cents=-1001, purpose="too much", by="ada"), Conflict)
        await app.budget.spend("travel", amount_cents=600, purpose="train", by="ada")
        await app.budget.refund("travel", amount_cents=100, purpose="late train", by="ada")
        assert (await app.budget.get("travel")).balance_cents == 500
        await refused(app.budget.close("travel"), Conflict)
        asked = await app.approvals.request(title="Bus", account="travel", amount_cents=1, by="ada")
        await app.budget.adjust("travel", amount_cents=-500, purpose="counted", by="mary")
        await refused(app.budget.close("travel"), Conflict)  # somebody still waits for its money
        await app.approvals.withdraw(asked.id, by="ada")
        assert (await app.budget.close("travel")).is_closed
        await refused(app.budget.refund("travel", amount_cents=1, purpose="too late", by="ada"), Conflict)
        await refused(app.approvals.request(title="Bus", account="travel", amount_cents=1, by="ada"), Conflict)
        entries, total = await app.budget.ledger(
            "travel", since=DAWN, until=DAWN + timedelta(days=1), offset=0, limit=500
        )
        assert [(entry.kind, entry.amount_cents) for entry in entries] == [
            (EntryKind.OPENING, 1000),
            (EntryKind.SPENDING, -600),
            (EntryKind.REFUND, 100),
            (EntryKind.ADJUSTMENT, -500),
        ]
        assert total == 4

    in_services(tmp_path, session)


def test_a_window_has_its_beginning_and_not_its_end(tmp_path: Path) -> None:
    async def session(app: AppState) -> None:
        first = await app.budget.spend("office", amount_cents=10, purpose="pen", by="ada")
        last = await app.budget.refund("office", amount_cents=4, purpose="pen", by="ada")
        entries, total = await app.budget.ledger("office", since=first.at, until=last.at, offset=0, limit=500)
        assert (entries, total) == ([first], 1)
        assert await app.budget.summary("office", since=first.at, until=last.at) == Summary(
            "office", first.at, last.at, 1, 10, 0
        )

    in_services(tmp_path, session)


def test_an_approval_is_decided_once_by_somebody_else(tmp_path: Path) -> None:
    async def session(app: AppState) -> None:
        await refused(app.approvals.approve(1, by="mary"), Forbidden)
        await refused(app.approvals.reject(1, comment="no", by="mary"), Forbidden)
        await refused(app.approvals.withdraw(1, by="ada"), Forbidden)
        approved = await app.approvals.approve(1, comment="They are old.", by="ada")
        assert (approved.status, approved.decided_by, approved.comment) == (
            ApprovalStatus.APPROVED,
            "ada",
            "They are old.",
        )
        for late in (
            app.approvals.approve(1, by="grace"),
            app.approvals.reject(1, comment="no", by="grace"),
            app.approvals.withdraw(1, by="mary"),
            app.approvals.delete(1),
        ):
            await refused(late, Conflict)
        assert (await app.budget.get("office")).balance_cents == 130_000

    in_services(tmp_path, session)


def test_an_approval_that_the_account_cannot_pay_stays_pending_and_moves_nothing(tmp_path: Path) -> None:
    async def session(app: AppState) -> None:
        await app.budget.spend("office", amount_cents=200_000, purpose="rent", by="ada")
        await refused(app.approvals.approve(1, by="ada"), Conflict)
        assert (await app.approvals.get(1)).status is ApprovalStatus.PENDING
        assert (await app.budget.get("office")).balance_cents == 50_000

    in_services(tmp_path, session)


def test_of_two_who_decide_at_once_one_is_too_late(tmp_path: Path) -> None:
    """Two servers on one file, each with a connection of its own."""

    async def both(app: AppState) -> list[object]:
        with open_office(tmp_path) as other:
            offices = [app, other] * 4
            approving = [office.approvals.approve(1, by=f"agent-{n}") for n, office in enumerate(offices)]
            return await asyncio.gather(*approving, return_exceptions=True)

    ends = in_services(tmp_path, both)
    assert sorted(type(end).__name__ for end in ends) == ["Approval", *["Conflict"] * 7]
    assert in_services(tmp_path, lambda app: app.budget.get("office")).balance_cents == 130_000


# --- teams and messages ----------------------------------------------------------------------------------------------


def test_a_team_has_one_lead_and_nobody_twice(tmp_path: Path) -> None:
    async def session(app: AppState) -> None:
        await refused(app.organisation.create(name="Operations"), Conflict)
        team = await app.organisation.create(name="Finance")
        await refused(app.organisation.rename(team.id, "Operations"), Conflict)
        assert (await app.organisation.rename(team.id, "Finance")).name == "Finance"
        await app.organisation.add_member(team.id, "ada", role=MemberRole.LEAD)
        await refused(app.organisation.add_member(team.id, "ada"), Conflict)
        await refused(app.organisation.add_member(team.id, "mary", role=MemberRole.LEAD), Conflict)
        await app.organisation.add_member(team.id, "mary")
        members, total = await app.organisation.members(team.id, offset=0, limit=500)
        assert ([(member.agent, member.role) for member in members], total) == (
            [("ada", MemberRole.LEAD), ("mary", MemberRole.MEMBER)],
            2,
        )
        assert (await app.organisation.remove_member(team.id, "ada")).member_count == 1
        await refused(app.organisation.remove_member(team.id, "ada"), NotFound)
        await app.agents.retire("grace")
        await refused(app.organisation.add_member(team.id, "grace"), Conflict)
        assert (await app.organisation.dissolve(team.id)).member_count == 1
        await refused(app.organisation.members(team.id, offset=0, limit=500), NotFound)

    in_services(tmp_path, session)


def test_a_board_takes_messages_back_and_mail_is_sent_on(tmp_path: Path) -> None:
    async def session(app: AppState) -> None:
        await refused(app.communication.recall(1, by="ada"), Forbidden)
        recalled = await app.communication.recall(1, by="mary")
        assert (recalled.body, recalled.is_recalled) == ("", True)
        await refused(app.communication.recall(1, by="mary"), Conflict)

        mail = await app.communication.open_channel(name="press", kind=ChannelKind.MAIL)
        await refused(app.communication.open_channel(name="press", kind=ChannelKind.BOARD), Conflict)
        sent = await app.communication.send(mail.id, body="We are open.\nCome in.", by="Ada, of the office")
        (spooled,) = (tmp_path / "office.mail").iterdir()
        assert spooled.name == f"{sent.id:08}.eml"
        assert b"From: Ada--of-the-office@backoffice.invalid\r\nSubject: press\r\n" in spooled.read_bytes()
        await refused(app.communication.recall(sent.id, by="Ada, of the office"), CapabilityMissing)
        await refused(app.communication.recall(99, by="ada"), NotFound)

    in_services(tmp_path, session)


def test_a_purge_takes_what_is_in_the_window(tmp_path: Path) -> None:
    async def session(app: AppState) -> None:
        sent = [await app.communication.send(1, body=f"Notice {n}", by="ada") for n in range(3)]
        assert await app.communication.purge(1, since=sent[0].sent_at, until=sent[2].sent_at) == 2
        left, total = await app.communication.messages(1, since=None, until=None, offset=0, limit=500)
        assert ([message.body for message in left], total) == (["The office is closed on Friday.", "Notice 2"], 2)

    in_services(tmp_path, session)


# --- described entities ----------------------------------------------------------------------------------------------


def test_a_row_is_changed_archived_restored_and_purged_by_the_same_rules_everywhere(tmp_path: Path) -> None:
    async def session(app: AppState) -> None:
        hosts = app.entities["infrastructure_hosts"]
        given: Row = {"name": "eu-2", "region": "eu-west", "cores": 4, "state": "up"}
        made = await hosts.create(given, by="ada")
        assert {name: made[name] for name in given} == given
        number = made["id"]
        assert isinstance(number, int)
        await refused(hosts.create(given, by="ada"), Conflict)
        await refused(hosts.update(number, {"name": "eu-1"}, revision=None, by="ada"), Conflict)
        await refused(hosts.update(number, {"cores": 8}, revision=7, by="ada"), Conflict)
        changed = await hosts.update(number, {"cores": 8, "state": "up"}, revision=1, by="ada")
        assert (changed["cores"], changed["revision"]) == (8, 2)
        assert await hosts.update(number, {"cores": 8}, revision=2, by="ada") == changed
        await refused(hosts.purge(number, by="ada"), Conflict)
        await refused(hosts.restore(number, by="ada"), Conflict)
        await hosts.archive(number, by="ada")
        await refused(hosts.archive(number, by="ada"), Conflict)
        await refused(hosts.update(number, {"cores": 2}, revision=None, by="ada"), Conflict)
        assert await hosts.count() == EntityCount(current=1, archived=1)
        await hosts.restore(number, by="ada")
        await hosts.archive(number, by="ada")
        await hosts.purge(number, by="mary")
        await refused(hosts.get(number), NotFound)
        events, _ = await hosts.history(number, offset=0, limit=500)
        assert [(event.what, event.by, event.fields) for event in events] == [
            (Operation.CREATE, "ada", ()),
            (Operation.UPDATE, "ada", ("cores",)),
            (Operation.ARCHIVE, "ada", ()),
            (Operation.RESTORE, "ada", ()),
            (Operation.ARCHIVE, "ada", ()),
            (Operation.PURGE, "mary", ()),
        ]
        await refused(hosts.history(99, offset=0, limit=500), NotFound)

    in_services(tmp_path, session)


def test_what_is_referred_to_exists_and_stays(tmp_path: Path) -> None:
    async def session(app: AppState) -> None:
        definitions, runs = app.entities["workflows_definitions"], app.entities["workflows_runs"]
        run: Row = {"name": "first", "definition_id": 1, "state": "waiting", "step": 0}
        await refused(runs.create(run, by="ada"), NotFound)
        await definitions.create({"name": "closing", "goal": "Close the month.", "steps": 3}, by="ada")
        await runs.create(run, by="ada")
        await definitions.archive(1, by="ada")
        await refused(definitions.purge(1, by="ada"), Conflict)
        await runs.archive(1, by="ada")
        await runs.purge(1, by="ada")
        await definitions.purge(1, by="ada")

    in_services(tmp_path, session)


def test_a_seed_falls_only_once(tmp_path: Path) -> None:
    async def again(app: AppState) -> tuple[bool, int]:
        return await seed(app), (await app.tasks.page(offset=0, limit=500))[1]

    assert in_services(tmp_path, again) == (False, 3)
    assert in_services(tmp_path, again) == (False, 3)
