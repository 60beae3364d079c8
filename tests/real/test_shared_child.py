"""Several clients at once on one shared stdio child: each gets its own answers, and there is one child for each era."""

import json
from functools import partial
from pathlib import Path

import pytest

from tests.contracts.rig import serve
from tests.gateway.running import at_once, read_records
from tests.parts import Outcome, Parts
from tests.real.clients import CLIENTS
from tests.real.servers import call

MANY = ("py-legacy", "ts-legacy", "ts1", "ts1", "ts1")


def ask(parts: Parts, base: str, client: str, names: list[str]) -> list[Outcome]:
    return CLIENTS[client].drive(parts, f"{base}/mcp/memory", [call("search_nodes", query=name) for name in names])


def started(state: Path) -> int:
    return len([record for record in read_records(state, type="server_state") if record.rule == "server.started"])


@pytest.mark.requirement("P1")
@pytest.mark.requirement("B3")
def test_clients_of_one_memory_get_their_own_answers(parts: Parts, tmp_path: Path) -> None:
    names = [f"node{number:02}" for number in range(40)]
    entities = [{"type": "entity", "name": name, "entityType": "n", "observations": [name]} for name in names]
    file = tmp_path / "memory.jsonl"
    file.write_text("".join(json.dumps(entity) + "\n" for entity in entities))
    command = parts.memory(file)
    with serve({"mcpServers": {"memory": {"command": command[0], "args": command[1:]}}}, tmp_path) as base:
        # Every client counts its ids from the start, so a mix-up would hand one the answer to another's question.
        outcomes = at_once(*(partial(ask, parts, base, client, names[turn::5]) for turn, client in enumerate(MANY)))
    for turn, answered in enumerate(outcomes):
        found = [outcome["result"]["structuredContent"]["entities"] for outcome in answered]
        assert [[entity["name"] for entity in entities] for entities in found] == [[n] for n in names[turn::5]]
    assert started(tmp_path / "state") == 1


@pytest.mark.requirement("P1")
def test_a_server_that_keeps_to_its_first_era_serves_clients_of_both(parts: Parts, tmp_path: Path) -> None:
    """mcp-server-time refuses the other era on a connection for good, so each era has a child of its own.

    A third was offered a handshake, to find out that there are two.
    """
    step = [{"info": True}, call("convert_time", source_timezone="UTC", time="12:30", target_timezone="Asia/Tokyo")]
    names = ("py-modern", "ts-legacy", "ts-auto", "ts1", "ts-modern")
    with serve({"mcpServers": {"time": {"command": parts.time[0], "args": parts.time[1:]}}}, tmp_path) as base:
        outcomes = [CLIENTS[name].drive(parts, f"{base}/mcp/time", step) for name in names]
    versions = [info["result"]["protocolVersion"] for info, _ in outcomes]
    assert versions == ["2026-07-28", "2025-11-25", "2026-07-28", "2025-11-25", "2026-07-28"]
    answers = [called["result"]["structuredContent"] for _, called in outcomes]
    assert answers == [answers[0]] * len(names)
    assert started(tmp_path / "state") == 3
