"""What callers of the back office are told when a rule stands in the way: the same codes from both forms."""

import logging
import sqlite3
from pathlib import Path
from types import MappingProxyType

import pytest

from backoffice.domain.catalogue import CATALOGUE
from backoffice.handlers.agents import AGENT_HANDLERS, AGENT_TOOLS
from backoffice.handlers.communication import COMMUNICATION_HANDLERS, COMMUNICATION_TOOLS
from backoffice.handlers.entities import handlers_of
from backoffice.handlers.tasks import TASK_HANDLERS, TASK_TOOLS
from backoffice.handlers.toolbox import explicit_handlers, explicit_tools
from backoffice.persistence import database
from handfast.core.events import MCP_HANDLER_CAPABILITY_GAP
from handfast.toolkit import build_handler_map
from tests.examples.backoffice.offices import GUARDS, Json, Office, in_office

# Tool, arguments, caller, and the code: of tools with a model, of tools that read each field, of typed tools.
REFUSED: list[tuple[str, Json, str, str]] = [
    ("tasks_get", {"id": 99}, "ada", "not_found"),
    ("tasks_get", {"id": 0}, "ada", "invalid_argument"),
    ("tasks_get", {"id": 2**63}, "ada", "invalid_argument"),
    ("tasks_get", {"data": {"id": 1}}, "ada", "invalid_argument"),
    ("tasks_get", {"id": 1, "verbose": True}, "ada", "invalid_argument"),
    ("tasks_create", {"title": " "}, "ada", "invalid_argument"),
    ("tasks_create", {"title": "Sweep", "due": "soon"}, "ada", "invalid_argument"),
    ("tasks_assign", {"id": 1, "agent": "nobody"}, "ada", "not_found"),
    ("tasks_history", {"id": 99}, "ada", "not_found"),
    ("agents_get", {"id": "nobody"}, "ada", "not_found"),
    ("agents_get", {"id": " "}, "ada", "invalid_argument"),
    ("agents_list", {"status": "asleep"}, "ada", "invalid_argument"),
    ("agents_register", {"id": "ada", "role": "again"}, "ada", "conflict"),
    ("agents_register", {"id": "Ada Lovelace", "role": "analyst"}, "ada", "invalid_argument"),
    ("agents_register", {"id": "joan", "role": "clerk", "skills": ["files", " "]}, "ada", "invalid_argument"),
    ("agents_set_status", {"id": "ada", "status": "retired"}, "ada", "invalid_argument"),
    ("communication_messages_list", {"channel_id": 1, "since": "2026-01-01"}, "ada", "invalid_argument"),
    ("communication_messages_list", {"channel_id": 1, "since": "2026-01-01T00:00:00"}, "ada", "invalid_argument"),
    ("communication_messages_list", {"channel_id": 9, "since": "2026-01-01T00:00:00Z"}, "ada", "not_found"),
    (
        "communication_messages_list",
        {"channel_id": 1, "since": "2026-01-02T00:00:00Z", "until": "2026-01-02T01:00:00+01:00"},
        "ada",
        "invalid_argument",
    ),
    ("communication_channel_open", {"name": "notices", "kind": "board"}, "ada", "conflict"),
    ("communication_channel_open", {"name": "news", "kind": "pigeon"}, "ada", "invalid_argument"),
    ("communication_message_recall", {"message_id": 1}, "ada", "guardrail_violated"),
    ("budget_spend", {"account": "office", "amount_cents": 250_001, "purpose": "chairs"}, "ada", "conflict"),
    ("budget_spend", {"account": "office", "amount_cents": 0, "purpose": "chairs"}, "ada", "invalid_argument"),
    ("budget_spend", {"account": "office", "amount_cents": "5", "purpose": "chairs"}, "ada", "invalid_argument"),
    ("budget_spend", {"account": "office", "amount_cents": 5, "purpose": "chairs"}, "", "guardrail_violated"),
    (
        "budget_summary",
        {"account": "office", "since": "2026-01-02T00:00:00Z", "until": "2026-01-02T00:00:00Z"},
        "ada",
        "invalid_argument",
    ),
    ("approvals_approve", {"id": 1}, "mary", "guardrail_violated"),
    ("approvals_approve", {"id": 1}, "", "guardrail_violated"),
    ("approvals_withdraw", {"id": 1}, "ada", "guardrail_violated"),
    ("approvals_reject", {"id": 1, "comment": ""}, "ada", "invalid_argument"),
    ("organisation_team_create", {"name": "Operations"}, "ada", "conflict"),
    ("organisation_member_add", {"team_id": 1, "agent": "ada", "role": "lead"}, "ada", "conflict"),
    ("memory_notes_create", {"name": "Auditors", "body": "Again."}, "ada", "conflict"),
    ("memory_notes_update", {"id": 1, "revision": 7, "topic": "other"}, "ada", "conflict"),
]


def test_a_rule_that_stands_in_the_way_has_its_code_and_says_what_to_do(tmp_path: Path) -> None:
    async def session(office: Office) -> None:
        for tool, arguments, actor, code in REFUSED:
            answer = await office.call(tool, arguments, actor=actor)
            assert (answer["status"], answer.get("domain_code"), answer.get("tool")) == ("error", code, tool), arguments
            assert code == "invalid_argument" or answer["message"].count(". ") >= 1, answer["message"]

    in_office(tmp_path, session)


def test_an_approval_is_given_once_and_the_second_one_changes_nothing(tmp_path: Path) -> None:
    async def session(office: Office) -> None:
        approved = await office.data("approvals_approve", {"id": 1}, actor="ada")
        again = await office.call("approvals_approve", {"id": 1}, actor="grace")
        assert again == {
            "status": "error",
            "error_type": "ConflictError",
            "domain_code": "conflict",
            "message": "The approval is decided already, and only once. Request another one.",
            "tool": "approvals_approve",
            "code": "conflict",
            "recoverable": True,
        }
        assert await office.data("approvals_get", {"id": 1}) == approved
        assert (await office.data("budget_account_get", {"id": "office"}))["balance_cents"] == 130_000

    in_office(tmp_path, session, entities=())


@pytest.mark.requirement("003-5")
def test_a_backend_that_cannot_do_it_is_a_capability_gap_and_no_failure_of_the_tool(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def session(office: Office) -> Json:
        await office.data("communication_channel_open", {"name": "press", "kind": "mail"})
        mail = await office.data("communication_message_send", {"channel_id": 2, "body": "We are open."})
        return await office.call("communication_message_recall", {"message_id": mail["id"]})

    with caplog.at_level(logging.INFO):
        answer = in_office(tmp_path, session, entities=())
    assert (answer["domain_code"], answer["code"], answer["recoverable"]) == ("not_supported", "not_supported", False)
    assert "mail that was sent cannot be taken back" in answer["message"]
    gaps = [record for record in caplog.records if getattr(record, "event", "") == MCP_HANDLER_CAPABILITY_GAP]
    assert [(gap.levelname, gap.tool_name) for gap in gaps] == [("INFO", "communication_message_recall")]  # type: ignore[attr-defined]  # a field of the event


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("tasks_create", {"title": "Sweep"}),
        ("organisation_team_create", {"name": "Finance"}),
    ],
)
def test_a_database_that_another_process_holds_is_unavailable_and_may_be_asked_again(
    tool: str, arguments: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)

    async def session(office: Office) -> None:
        other = sqlite3.connect(tmp_path / "office.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            answer = await office.call(tool, arguments)
        finally:
            other.close()
        assert (answer["code"], answer["domain_code"], answer["recoverable"]) == (
            "unavailable",
            "handler_failure",
            True,
        )
        await office.data(tool, arguments)

    in_office(tmp_path, session, entities=())


def test_what_a_task_is_put_down_to_is_the_caller_and_never_an_argument(tmp_path: Path) -> None:
    async def session(office: Office) -> list[str]:
        known = await office.data("tasks_create", {"title": "Sweep"}, actor="grace")
        nobody = await office.data("tasks_create", {"title": "Sweep"}, actor="")
        assert await office.code("tasks_create", {"title": "Sweep", "created_by": "mary"}) == "invalid_argument"
        return [known["created_by"], nobody["created_by"]]

    assert in_office(tmp_path, session, entities=()) == ["grace", "mcp-anonymous"]


@pytest.mark.requirement("003-3")
def test_values_reach_the_service_as_what_they_are(tmp_path: Path) -> None:
    async def session(office: Office) -> None:
        task = await office.data("tasks_create", {"title": "Sweep", "due": "2027-02-01", "priority": "high"})
        assert (task["due"], task["priority"]) == ("2027-02-01", "high")
        stored = await office.app.tasks.get(task["id"])
        assert stored.due is not None
        assert (stored.due.year, stored.priority.name) == (2027, "HIGH")
        noon = {"name": "Standup", "starts_at": "2027-02-01T12:00:00+02:00"}
        meeting = await office.data("coordination_meetings_create", noon)
        assert meeting["starts_at"] == "2027-02-01T10:00:00Z"

    in_office(tmp_path, session)


@pytest.mark.requirement("003-12")
def test_maps_of_handlers_cannot_be_changed_and_no_name_is_lost_between_them() -> None:
    maps = {"tasks": TASK_HANDLERS, "agents": AGENT_HANDLERS, "communication": COMMUNICATION_HANDLERS}
    everything = explicit_handlers(CATALOGUE)
    for handlers in (*maps.values(), handlers_of(CATALOGUE), everything):
        assert isinstance(handlers, MappingProxyType)
    for domain, tools in (("tasks", TASK_TOOLS), ("agents", AGENT_TOOLS), ("communication", COMMUNICATION_TOOLS)):
        assert {tool.name for tool in tools} == maps[domain].keys()
    assert {tool.name for tool in explicit_tools(CATALOGUE)} == everything.keys()
    assert len(everything) == 180
    with pytest.raises(ValueError, match="tasks_get"):
        build_handler_map(everything, {"tasks_get": TASK_HANDLERS["tasks_get"]})


def test_an_admin_handler_asks_for_itself_even_where_nobody_asked_before_it(tmp_path: Path) -> None:
    """A handler may be called by its owner, past the registry; what it guards stays guarded."""

    async def session(office: Office) -> None:
        for name, handlers in (("tasks_delete", TASK_HANDLERS), ("memory_notes_purge", handlers_of(CATALOGUE))):
            answer = await handlers[name](app_state=office.app, arguments={"id": 1, **GUARDS}, actor=None)
            assert '"guardrail_violated"' in answer
        assert (await office.app.tasks.get(1)).id == 1

    in_office(tmp_path, session, entities=())
