"""One call of each of the 204 tools, all by ada, in an order in which each finds what it works on."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from backoffice.domain.catalogue import CATALOGUE
from backoffice.domain.entities import Entity, Kind, Operation
from backoffice.domain.entities import Field as Described
from backoffice.handlers.entities import tool_name
from tests.examples.backoffice.offices import GUARDS, Json

ALWAYS = {"since": "2026-01-01T00:00:00Z", "until": "2030-01-01T00:00:00+01:00"}


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    tool: str
    arguments: Json = field(default_factory=dict)


WRITTEN = [
    ScriptedCall("tasks_list", {"status": "open"}),
    ScriptedCall("tasks_create", {"title": "Sweep the floor", "priority": "low", "due": "2027-02-01"}),
    ScriptedCall("tasks_get", {"id": 4}),
    ScriptedCall("tasks_update", {"id": 4, "notes": "Also under the shelves."}),
    ScriptedCall("tasks_assign", {"id": 4, "agent": "grace"}),
    ScriptedCall("tasks_complete", {"id": 4}),
    ScriptedCall("tasks_history", {"id": 4}),
    ScriptedCall("tasks_delete", {"id": 3, **GUARDS}),
    ScriptedCall("agents_list", {"skill": "reviews"}),
    ScriptedCall("agents_register", {"id": "joan", "role": "clerk", "skills": ["files", "files"]}),
    ScriptedCall("agents_get", {"id": "joan"}),
    ScriptedCall("agents_workload", {"id": "grace"}),
    ScriptedCall("agents_set_status", {"id": "joan", "status": "paused"}),
    ScriptedCall("agents_retire", {"id": "joan", **GUARDS}),
    ScriptedCall("budget_account_open", {"id": "travel", "title": "Travel", "amount_cents": 1000}),
    ScriptedCall("budget_accounts_list"),
    ScriptedCall("budget_account_get", {"id": "travel"}),
    ScriptedCall("budget_spend", {"account": "travel", "amount_cents": 700, "purpose": "train"}),
    ScriptedCall("budget_refund", {"account": "travel", "amount_cents": 100, "purpose": "late train"}),
    ScriptedCall("budget_ledger", {"account": "travel", **ALWAYS}),
    ScriptedCall("budget_summary", {"account": "travel", **ALWAYS}),
    ScriptedCall("budget_adjust", {"account": "travel", "amount_cents": -400, **GUARDS}),
    ScriptedCall("budget_account_close", {"id": "travel", **GUARDS}),
    ScriptedCall("approvals_list", {"status": "pending"}),
    ScriptedCall("approvals_get", {"id": 1}),
    ScriptedCall("approvals_approve", {"id": 1, "comment": "They are old."}),
    ScriptedCall("approvals_reject", {"id": 2, "comment": "There is rain enough."}),
    ScriptedCall("approvals_request", {"title": "A lamp", "account": "office", "amount_cents": 4000}),
    ScriptedCall("approvals_withdraw", {"id": 3}),
    ScriptedCall("approvals_delete", {"id": 2, **GUARDS}),
    ScriptedCall("organisation_teams_list"),
    ScriptedCall("organisation_team_create", {"name": "Finance", "purpose": "Counts."}),
    ScriptedCall("organisation_team_get", {"id": 2}),
    ScriptedCall("organisation_team_rename", {"id": 2, "name": "Accounts"}),
    ScriptedCall("organisation_member_add", {"team_id": 2, "agent": "ada", "role": "lead"}),
    ScriptedCall("organisation_members_list", {"team_id": 2}),
    ScriptedCall("organisation_member_remove", {"team_id": 2, "agent": "ada"}),
    ScriptedCall("organisation_team_dissolve", {"id": 2, **GUARDS}),
    ScriptedCall("communication_channels_list"),
    ScriptedCall("communication_channel_open", {"name": "press", "kind": "mail"}),
    ScriptedCall("communication_message_send", {"channel_id": 1, "body": "We are open again."}),
    ScriptedCall("communication_messages_list", {"channel_id": 1, "since": ALWAYS["since"]}),
    ScriptedCall("communication_message_recall", {"message_id": 2}),
    ScriptedCall("communication_channel_purge", {"channel_id": 1, **ALWAYS, **GUARDS}),
]


def described(entity: Entity) -> Iterator[ScriptedCall]:
    """One call of each tool of an entity; the row they are about is the first one that the script makes."""
    number = 2 if entity.table in ("infrastructure_hosts", "memory_notes") else 1  # these two have a seed
    about = {"id": number}
    arguments: dict[Operation, Json] = {
        Operation.CREATE: {"name": "Sample", **sample_fields(entity)},
        Operation.LIST: {},
        Operation.GET: about,
        Operation.SEARCH: {"words": "SAMPL"},
        Operation.COUNT: {},
        Operation.UPDATE: {**about, "name": "Renamed", "revision": 1},
        Operation.HISTORY: about,
        Operation.ARCHIVE: about,
        Operation.RESTORE: about,
    }
    for operation, given in arguments.items():
        yield ScriptedCall(tool_name(entity, operation), given)
    yield ScriptedCall(tool_name(entity, Operation.ARCHIVE), about)
    yield ScriptedCall(tool_name(entity, Operation.PURGE), {**about, **GUARDS})


def sample_fields(entity: Entity) -> Json:
    """A value for every field that can have one by itself."""
    return {field.name: _sample(field) for field in entity.fields if field.kind is not Kind.REFERENCE}


def _sample(field: Described) -> object:
    match field.kind:
        case Kind.CHOICE:
            return field.choices[-1]
        case Kind.WHOLE:
            return field.maximum
        case Kind.FLAG:
            return not field.default
        case Kind.MOMENT:
            return "2027-05-01T10:00:00Z"
        case _:
            return f"A {field.name}."


SCRIPT = [*WRITTEN, *(call for entity in CATALOGUE for call in described(entity))]
