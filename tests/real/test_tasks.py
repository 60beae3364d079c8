"""Tasks of 2025-11-25 between a real server and a real client: nothing is lost, and every result is on record."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.contracts.judged import TOTAL, WRONG, WRONG_REASON, blocked_text, structured
from tests.contracts.rig import serve
from tests.gateway.running import eventually, read_records
from tests.parts import Outcome, Parts
from tests.real.gateways import wrap_command
from tests.real.servers import RealServer
from tests.stubs.run import answer, tool, write_stub

RESEARCH = {"task": {"name": "simulate-research-query", "arguments": {"topic": "handshakes"}}}


def heard(outcome: Outcome) -> list[tuple[str, str]]:
    """Each message of a task, without its ids and times: what it is and what it says."""
    return [(message["type"], message.get("task", {}).get("status", "")) for message in outcome["result"]]


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("route", ["wrap", "stdio", "http"])
def test_a_real_task_ends_as_it_does_without_us_and_is_on_record_twice(
    parts: Parts, servers: Mapping[str, RealServer], tmp_path: Path, route: str
) -> None:
    server = servers["everything"]
    entry = {"command": server.target[0], "args": server.target[1:]}
    with parts.everything_over_http() as url, serve({"mcpServers": {"a": entry, "b": {"url": url}}}, tmp_path) as base:
        targets = {"wrap": wrap_command(tmp_path, server.target), "stdio": f"{base}/mcp/a", "http": f"{base}/mcp/b"}
        (outcome,) = parts.ts_client(targets[route], [RESEARCH], sdk=1)
    messages = heard(outcome)
    assert messages[0] == ("taskCreated", "working")
    assert messages[-2:] == [("taskStatus", "completed"), ("result", "")]
    assert outcome["result"][-1]["result"]["content"][0]["text"].startswith("# Research Report: handshakes")
    state, name = tmp_path / "state", "simulate-research-query"
    eventually(lambda: len(read_records(state, type="tool_call", tool=name)) == 2, "both records")
    began, ended = read_records(state, type="tool_call", tool=name)
    assert [(r.status, r.details["task"]) for r in (began, ended)] == [("success", "created"), ("success", "result")]
    assert began.request_id == ended.request_id
    assert (ended.duration_ms or 0) > 3_000  # four stages of a second each


@pytest.mark.requirement("P2")
def test_a_real_client_takes_a_blocked_result_for_words_to_its_model(parts: Parts, tmp_path: Path) -> None:
    task = (
        '{"taskId":"1","status":"%s","createdAt":"2026-11-01T10:00:00Z","lastUpdatedAt":"2026-11-01T10:00:00Z","ttl":1}'
    )
    asked = {"tasks/get": answer(task % "completed"), "tasks/result": answer(structured(WRONG))}
    calls = {"sum": answer('{"task":%s}' % (task % "working"))}
    stub = write_stub(tmp_path, tools=[tool("sum", None, TOTAL)], answers=calls, methods=asked)
    wrapped = wrap_command(tmp_path, stub.command, "--output", "strict")
    _, outcome = parts.ts_client(wrapped, [{"list": True}, {"task": {"name": "sum", "arguments": {}}}], sdk=1)
    assert heard(outcome)[-1] == ("result", "")
    result = outcome["result"][-1]["result"]
    assert result["content"] == [{"type": "text", "text": blocked_text("sum", WRONG_REASON)}]
    assert result["isError"] is True
