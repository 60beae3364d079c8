"""All 204 tools of the back office: what each publishes, and that each does its work."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from backoffice.domain.catalogue import CATALOGUE
from backoffice.domain.entities import Entity, Field, Kind, Operation
from backoffice.handlers.entities import tool_name
from backoffice.handlers.toolbox import build_toolbox
from handfast.core.events import (
    MCP_HANDLER_CAPABILITY_GAP,
    MCP_HANDLER_NOT_IMPLEMENTED,
    MCP_HANDLER_SERVICE_FALLBACK,
    MCP_SERVER_INVOKE_FAILED,
)
from handfast.toolkit import Kind as ToolKind
from handfast.toolkit import ToolSpec
from tests.examples.backoffice.calls import SCRIPT, sample_fields
from tests.examples.backoffice.offices import GUARDS, Json, Office, in_office, open_office

WRITTEN_DOMAINS = {"tasks", "agents", "budget", "approvals", "organisation", "communication"}
DESCRIBED_DOMAINS = {"meta", "analytics", "coordination", "quality", "signals", "workflows", "integrations"}
DOMAINS = WRITTEN_DOMAINS | DESCRIBED_DOMAINS | {"infrastructure", "memory"}


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> list[ToolSpec]:
    """All tools; to make them takes most of a second."""
    with open_office(tmp_path_factory.mktemp("office")) as app:
        return build_toolbox(app, entities=CATALOGUE).list_registered()


def domains_of(specs: list[ToolSpec]) -> set[str]:
    return {spec.name.partition("_")[0] for spec in specs}


# --- what is published -----------------------------------------------------------------------------------------------


def test_there_are_44_tools_in_6_domains_and_204_in_15_with_the_described_ones(
    registered: list[ToolSpec], tmp_path: Path
) -> None:
    with open_office(tmp_path) as app:
        written = build_toolbox(app, entities=()).list_registered()
    assert (len(written), domains_of(written)) == (44, WRITTEN_DOMAINS)
    assert (len(registered), domains_of(registered)) == (204, DOMAINS)


@pytest.mark.requirement("003-2")
def test_both_forms_stand_in_one_registry(registered: list[ToolSpec]) -> None:
    forms = Counter("typed" if spec.returns else "model" if spec.args_model else "written" for spec in registered)
    # A count takes no arguments, so the 16 of them have no model.
    assert forms == {"typed": 24, "model": 8 + 9 * 16, "written": 12 + 16}


@pytest.mark.requirement("003-1")
def test_annotations_follow_from_what_a_tool_may_do_and_only_admin_tools_destroy(
    registered: list[ToolSpec],
) -> None:
    specs = registered
    assert Counter(spec.kind for spec in specs) == {ToolKind.READ: 97, ToolKind.WRITE: 84, ToolKind.ADMIN: 23}
    hints = {spec.kind: (spec.annotations["readOnlyHint"], spec.annotations["destructiveHint"]) for spec in specs}
    assert hints == {ToolKind.READ: (True, False), ToolKind.WRITE: (False, False), ToolKind.ADMIN: (False, True)}
    asks = {spec.name for spec in specs if {"confirm", "reason"} <= set(spec.input_schema.get("required", ()))}
    assert asks == {spec.name for spec in specs if spec.kind is ToolKind.ADMIN}


def subschemas(schema: Any) -> Iterator[Json]:  # Any: JSON
    if isinstance(schema, dict):
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from subschemas(inner)


def test_every_argument_is_described_and_no_object_takes_more_than_it_says(registered: list[ToolSpec]) -> None:
    for spec in registered:
        assert spec.description[-1] == "."
        objects = [part for part in subschemas(dict(spec.input_schema)) if part.get("type") == "object"]
        assert [part for part in objects if part.get("additionalProperties") is not False] == [], spec.name
        bare = [name for name, part in spec.input_schema["properties"].items() if not part.get("description")]
        assert bare == [], f"{spec.name} does not say what these are"


def test_every_tool_promises_what_it_answers_with(tmp_path: Path) -> None:
    async def session(office: Office) -> None:
        for tool in office.tools.registry.published():
            jsonschema_rs.meta.validate(tool["inputSchema"])
            jsonschema_rs.meta.validate(tool["outputSchema"])
            promised = tool["outputSchema"]["oneOf"][0]["properties"]["data"]
            assert promised.get("type") in ("object", "array") or "$ref" in promised, tool["name"]

    in_office(tmp_path, session)


# --- what is done ----------------------------------------------------------------------------------------------------


def test_the_script_calls_every_tool(registered: list[ToolSpec]) -> None:
    assert {call.tool for call in SCRIPT} == {spec.name for spec in registered}


@pytest.mark.requirement("003-15")
def test_all_204_tools_answer_and_none_with_a_fallback(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def session(office: Office) -> dict[str, Json]:
        published = {tool["name"]: tool["outputSchema"] for tool in office.tools.registry.published()}
        answers = {}
        for call in SCRIPT:
            answer = await office.call(call.tool, call.arguments)
            jsonschema_rs.validate(published[call.tool], json.loads(json.dumps(answer)))
            answers[call.tool] = answer
        return answers

    with caplog.at_level(logging.DEBUG):
        answers = in_office(tmp_path, session)
    assert len(answers) == 204
    assert {name: answer for name, answer in answers.items() if answer["status"] != "ok"} == {}
    assert [name for name, answer in answers.items() if answer["data"] in (None, [], {})] == []
    events = Counter(getattr(record, "event", "") for record in caplog.records)
    unwanted = (MCP_HANDLER_SERVICE_FALLBACK, MCP_HANDLER_NOT_IMPLEMENTED, MCP_HANDLER_CAPABILITY_GAP)
    assert {event: events[event] for event in (*unwanted, MCP_SERVER_INVOKE_FAILED)} == dict.fromkeys(
        (*unwanted, MCP_SERVER_INVOKE_FAILED), 0
    )


@pytest.mark.parametrize("entity", CATALOGUE, ids=lambda entity: entity.table)
def test_the_ten_tools_of_an_entity_work_on_one_table(entity: Entity, tmp_path: Path) -> None:
    async def session(office: Office) -> None:
        async def call(operation: Operation, **arguments: object) -> Any:  # Any: JSON
            return await office.data(tool_name(entity, operation), arguments)

        seeded = await call(Operation.COUNT)
        fields = sample_fields(entity)
        made = await call(Operation.CREATE, name="Zebra crossing", **fields)
        row = made["id"]
        assert {name: made[name] for name in fields} == fields
        assert await call(Operation.GET, id=row) == made
        assert (await call(Operation.LIST))[-1] == made
        assert await call(Operation.SEARCH, words="bra cross") == [made]
        changed = await call(Operation.UPDATE, id=row, name="Pelican crossing")
        assert {**changed, "updated_at": ""} == {**made, "name": "Pelican crossing", "revision": 2, "updated_at": ""}
        assert await call(Operation.SEARCH, words="Zebra") == []
        await call(Operation.ARCHIVE, id=row)
        assert await call(Operation.COUNT) == {"current": seeded["current"], "archived": 1}
        assert [archived["id"] for archived in await call(Operation.LIST, archived=True)] == [row]
        assert await office.code(tool_name(entity, Operation.UPDATE), {"id": row, "name": "Toad"}) == "conflict"
        await call(Operation.RESTORE, id=row)
        assert await office.code(tool_name(entity, Operation.PURGE), {"id": row, **GUARDS}) == "conflict"
        await call(Operation.ARCHIVE, id=row)
        await call(Operation.PURGE, id=row, **GUARDS)
        assert await office.code(tool_name(entity, Operation.GET), {"id": row}) == "not_found"
        assert [event["what"] for event in await call(Operation.HISTORY, id=row)] == [
            "create",
            "update",
            "archive",
            "restore",
            "archive",
            "purge",
        ]

    in_office(tmp_path, session, entities=(entity,))


@pytest.mark.parametrize("entity", CATALOGUE, ids=lambda entity: entity.table)
def test_a_field_takes_what_it_is_described_as_and_nothing_else(entity: Entity, tmp_path: Path) -> None:
    async def session(office: Office) -> None:
        create = tool_name(entity, Operation.CREATE)
        for field in entity.fields:
            for value in wrong_values(field):
                arguments = {"name": "One", **sample_fields(entity), field.name: value}
                assert await office.code(create, arguments) == "invalid_argument", (field.name, value)
        assert await office.app.entities[entity.table].search("One", offset=0, limit=1) == ([], 0)

    in_office(tmp_path, session, entities=(entity,))


def wrong_values(field: Field) -> list[object]:
    return {
        Kind.TEXT: [7, ["a"], "a" * 10_001],
        Kind.CHOICE: ["neither", 1, ""],
        Kind.WHOLE: [field.minimum - 1, field.maximum + 1, "1", True, 1.5],
        Kind.FLAG: [1, "true"],
        Kind.MOMENT: ["tomorrow", "2026-01-01T00:00:00", 7],
        Kind.REFERENCE: [0, -1, "1", True, 2**63],
    }[field.kind]


def test_what_a_row_refers_to_must_exist(tmp_path: Path) -> None:
    async def session(office: Office) -> None:
        assert await office.code("workflows_runs_create", {"name": "First", "definition_id": 7}) == "not_found"
        definition = await office.data("workflows_definitions_create", {"name": "Closing", "goal": "Close."})
        run = await office.data("workflows_runs_create", {"name": "First", "definition_id": definition["id"]})
        assert run["definition_id"] == definition["id"]
        assert await office.code("workflows_runs_update", {"id": run["id"], "definition_id": 7}) == "not_found"

    in_office(tmp_path, session)


def test_handlers_run_side_by_side(tmp_path: Path) -> None:
    async def session(office: Office) -> list[int]:
        made = await asyncio.gather(*(office.data("tasks_create", {"title": f"Task {n}"}) for n in range(50)))
        return sorted(task["id"] for task in made)

    assert in_office(tmp_path, session) == list(range(4, 54))


def test_every_default_that_is_published_is_one_that_its_own_schema_takes(registered: list[ToolSpec]) -> None:
    refused = [
        f"{spec.name}.{name}"
        for spec in registered
        for name, part in spec.input_schema.get("properties", {}).items()
        if "default" in part
        and not jsonschema_rs.validator_for({**part, "$defs": spec.input_schema.get("$defs", {})}).is_valid(
            part["default"]
        )
    ]
    assert refused == []
