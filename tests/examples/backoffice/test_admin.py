"""Admin tools of the back office: what they ask first, what they announce, and what is on record afterwards."""

import logging
from pathlib import Path

import pytest

from backoffice.domain.catalogue import CATALOGUE
from backoffice.domain.entities import Operation
from backoffice.handlers.entities import tool_name
from handfast.core.events import MCP_ADMIN_OP_EXECUTED
from handfast.toolkit.running.recording import open_recorder
from tests.examples.backoffice.calls import SCRIPT
from tests.examples.backoffice.offices import GUARDS, Json, Office, in_office
from tests.examples.backoffice.records import read_records, require_whole_chain

WRITTEN = {
    "tasks_delete",
    "agents_retire",
    "budget_adjust",
    "budget_account_close",
    "approvals_delete",
    "organisation_team_dissolve",
    "communication_channel_purge",
}
ADMIN = sorted(WRITTEN | {tool_name(entity, Operation.PURGE) for entity in CATALOGUE})
WRONG: Json = {"no such argument": {"wrapped": True}}


def announced(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """The tool and the actor of every admin operation that the log speaks of."""
    return [
        (record.tool_name, record.actor)  # type: ignore[attr-defined]  # fields of the event
        for record in caplog.records
        if getattr(record, "event", "") == MCP_ADMIN_OP_EXECUTED
    ]


@pytest.mark.requirement("003-9")
def test_every_admin_tool_asks_for_a_caller_a_confirmation_and_a_reason_before_it_looks_at_anything_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[tuple[Json, str, str]] = [
        ({**WRONG}, "", "missing_actor"),
        ({**WRONG, **GUARDS}, "", "missing_actor"),
        ({**WRONG, **GUARDS}, "   ", "missing_actor"),
        ({**WRONG, "actor": "ada", **GUARDS}, "", "missing_actor"),
        ({**WRONG}, "ada", "missing_confirm"),
        *(
            ({**WRONG, **GUARDS, "confirm": sham}, "ada", "missing_confirm")
            for sham in (False, 1, "true", None, [True])
        ),
        ({**WRONG, "confirm": True}, "ada", "missing_reason"),
        *(({**WRONG, **GUARDS, "reason": sham}, "ada", "missing_reason") for sham in ("", " \t\n", None, 7, ["why"])),
    ]

    async def session(office: Office) -> None:
        for tool in ADMIN:
            for arguments, actor, violation in asked:
                refused = await office.call(tool, arguments, actor=actor)
                assert (refused["domain_code"], refused["details"]) == (
                    "guardrail_violated",
                    {"violation": violation},
                ), (tool, arguments)
            assert await office.code(tool, {**WRONG, **GUARDS}) == "invalid_argument"

    with caplog.at_level(logging.INFO):
        in_office(tmp_path, session)
    assert announced(caplog) == []


@pytest.mark.requirement("003-10")
def test_every_admin_operation_is_announced_once_and_on_record(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def session(office: Office) -> None:
        for call in SCRIPT:
            await office.data(call.tool, call.arguments)

    recorder = open_recorder(tmp_path / "state")
    assert recorder is not None
    with caplog.at_level(logging.INFO):
        in_office(tmp_path, session, recorder=recorder)
    recorder.close()
    expected = [call.tool for call in SCRIPT if call.tool in ADMIN]
    assert sorted(expected) == ADMIN
    assert announced(caplog) == [(tool, "ada") for tool in expected]
    records = read_records(tmp_path / "state", "--type", "admin_operation")
    assert [(record["tool"], record["actor"], record["status"], record["details"]) for record in records] == [
        (tool, "ada", "success", {"stated_reason": "spring cleaning"}) for tool in expected
    ]
    calls = read_records(tmp_path / "state", "--type", "tool_call")
    assert [record["tool"] for record in calls] == [call.tool for call in SCRIPT]
    assert {record["request_id"] for record in records} < {record["request_id"] for record in calls}
    require_whole_chain(tmp_path / "state")


@pytest.mark.requirement("003-10")
def test_an_admin_operation_that_fails_is_neither_announced_nor_done(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failing: list[tuple[str, Json, str]] = [
        ("tasks_delete", {"id": 99}, "not_found"),
        ("tasks_delete", {"id": "1"}, "invalid_argument"),
        ("agents_retire", {"id": "mary"}, "conflict"),
        ("budget_adjust", {"account": "office", "amount_cents": -250_001}, "conflict"),
        ("budget_account_close", {"id": "office"}, "conflict"),
        ("approvals_delete", {"id": 99}, "not_found"),
        ("organisation_team_dissolve", {"id": 99}, "not_found"),
        ("communication_channel_purge", {"channel_id": 1, "since": "2027-01-01T00:00:00Z"}, "invalid_argument"),
        ("memory_notes_purge", {"id": 1}, "conflict"),
        ("infrastructure_hosts_purge", {"id": 99}, "not_found"),
    ]

    async def session(office: Office) -> None:
        for tool, arguments, code in failing:
            assert await office.code(tool, {**arguments, **GUARDS}) == code, tool
        assert (await office.app.agents.get("mary")).status == "active"
        assert (await office.app.budget.get("office")).balance_cents == 250_000

    recorder = open_recorder(tmp_path / "state")
    assert recorder is not None
    with caplog.at_level(logging.INFO):
        in_office(tmp_path, session, recorder=recorder)
    recorder.close()
    assert announced(caplog) == []
    assert read_records(tmp_path / "state", "--type", "admin_operation") == []
    calls = read_records(tmp_path / "state", "--type", "tool_call")
    assert [(record["tool"], record["status"]) for record in calls] == [
        (tool, "blocked" if code == "invalid_argument" else "error") for tool, _, code in failing
    ]


def test_the_reason_of_an_adjustment_is_its_purpose_in_the_ledger(tmp_path: Path) -> None:
    async def session(office: Office) -> Json:
        entry: Json = await office.data("budget_adjust", {"account": "office", "amount_cents": -1, **GUARDS})
        return entry

    entry = in_office(tmp_path, session, entities=())
    assert (entry["purpose"], entry["by"], entry["kind"]) == ("spring cleaning", "ada", "adjustment")
