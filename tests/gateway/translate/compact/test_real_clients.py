"""Real clients of both eras with real compact servers: one tool is listed, and all of them can be used through it."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # Any: JSON

import pytest

from tests.gateway.running import read_records
from tests.gateway.translate.clients.fronted import fronted
from tests.parts import Outcome, Parts
from tests.real.clients import CLIENTS, Wanted, hold_sessions

ADA = {"name": "ada", "entityType": "person", "observations": ["writes programs"]}
REFUSED = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
    'Unwrap \'data\': send "entities" directly, not inside "data".\n'
    'Declared fields: ["entities"].'
)
BESIDE = REFUSED.replace("flat at the top level", 'inside "arguments"').replace("directly", 'inside "arguments"')


def call(**arguments: Any) -> dict[str, Any]:  # Any: JSON
    return {"call": {"name": "up", "arguments": arguments}}


MEMORY_STEPS = [
    {"list": True},
    call(action="help", arguments={"action": "create_entities"}),
    call(action="create_entities", arguments={"entities": [ADA]}),
    call(action="create_entities", arguments={"data": {"entities": [{**ADA, "name": "bob"}]}}),
    call(action="create_entities", data={"entities": [{**ADA, "name": "eve"}]}),
    call(action="read_graph"),
]
FIELDS = {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"}
TIME_STEPS = [
    {"list": True},
    call(action="convert_time", arguments=FIELDS),
    call(action="convert_times", arguments=FIELDS),
]


@dataclass(frozen=True, slots=True)
class Held:
    """The sessions of every client: with a memory of its own, and with one clock for all."""

    folder: Path
    outcomes: dict[tuple[str, str], list[Outcome]]


@pytest.fixture(scope="module")
def held(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Held:
    folder = tmp_path_factory.mktemp("compact")
    wanted = {}
    with ExitStack() as stack:
        clock = stack.enter_context(compact(parts.time, folder))
        for name, client in CLIENTS.items():
            own = folder / name
            own.mkdir()
            memory = stack.enter_context(compact(parts.memory(own / "memory.jsonl"), own))
            wanted["memory", name] = Wanted(client, memory, MEMORY_STEPS)
            wanted["time", name] = Wanted(client, clock, TIME_STEPS)
        return Held(folder, hold_sessions(parts, wanted))


@contextmanager
def compact(command: list[str], folder: Path) -> Iterator[str]:
    entry = {"command": command[0], "args": command[1:], "handfast": {"surface": "compact"}}
    with fronted(entry, folder) as running:
        yield f"{running.base}/mcp/both"


@pytest.mark.requirement("000-10")
@pytest.mark.requirement("000-12")
@pytest.mark.parametrize("client", CLIENTS)
def test_a_compact_memory_keeps_what_is_sent_right_and_nothing_else(held: Held, client: str) -> None:
    listed, explained, made, wrapped, beside, graph = held.outcomes["memory", client]
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["up"]
    assert json.loads(explained["result"]["content"][0]["text"])["inputSchema"]["required"] == ["entities"]
    assert made["result"]["structuredContent"] == {"entities": [ADA]}
    for refused, text in ((wrapped, REFUSED), (beside, BESIDE)):
        assert refused["result"]["isError"] is True
        assert refused["result"]["content"] == [{"type": "text", "text": text}]
    assert graph["result"]["structuredContent"] == {"entities": [ADA], "relations": []}
    assert json.loads((held.folder / client / "memory.jsonl").read_text()) == {"type": "entity", **ADA}
    assert [record.tool for record in read_records(held.folder / client / "state", type="tool_call")] == [
        "up",  # help
        "create_entities",
        "create_entities",
        "up",
        "read_graph",
    ]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_compact_server_of_both_eras_serves_clients_of_each(held: Held, client: str) -> None:
    listed, converted, unknown = held.outcomes["time", client]
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["up"]
    assert "21:30" in converted["result"]["content"][0]["text"]
    assert unknown["result"]["content"][0]["text"] == (
        'There is no action of this name. Nearest: convert_time. Send {"action": "help"} for the list.'
    )
