"""Objects that real servers drop without a word, and a declared `data` that is nobody's wrapper."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from handfast.core.call.exchange import RecordType
from tests.contracts.rig import serve
from tests.gateway.running import read_records
from tests.parts import Parts
from tests.real.gateways import wrap_command
from tests.real.servers import RealServer, call, refusal
from tests.real.sessions import LIST, check_refused


@pytest.mark.parametrize("server", ["memory", "filesystem", "everything", "time"])
def test_directly_every_server_drops_the_object_and_reports_success(
    parts: Parts, servers: Mapping[str, RealServer], server: str
) -> None:
    (outcome,) = parts.ts_client(servers[server].target, [servers[server].lossy])
    assert outcome["result"].get("isError", False) is False


@pytest.mark.requirement("000-3")
def test_a_refused_call_changes_nothing_at_the_server(
    parts: Parts, servers: Mapping[str, RealServer], tmp_path: Path
) -> None:
    memory = servers["memory"]
    engine = {"name": "engine", "entityType": "machine", "observations": []}
    read = call("read_graph")
    before, refused, after = parts.ts_client(
        wrap_command(tmp_path, memory.target),
        [read, call("create_entities", entities=[engine], options={"x": 1}), read],
    )
    assert refused["result"]["isError"] is True
    assert after == before
    (decision,) = read_records(tmp_path / "state", type="policy_decision")
    assert (decision.type, decision.tool, decision.rule) == (
        RecordType.POLICY_DECISION,
        "create_entities",
        "arguments.nested_wrapper",
    )


@pytest.mark.requirement("000-5")
@pytest.mark.parametrize("mode", ["warn", "strict"])
def test_the_object_is_refused_in_warn_and_in_strict(
    parts: Parts, servers: Mapping[str, RealServer], tmp_path: Path, mode: str
) -> None:
    server = servers["everything"]
    (outcome,) = parts.ts_client(wrap_command(tmp_path, server.target, "--input", mode), [server.lossy])
    check_refused(outcome, refusal(server))


@pytest.mark.requirement("000-18")
def test_a_tool_that_declares_data_is_called_with_it(parts: Parts, tmp_path: Path) -> None:
    text = "data:text/plain;base64,aGVsbG8="
    right = call("gzip-file-as-resource", name="a.gz", data=text, outputType="resource")
    # The wrong type for this declared field: the server's own words for it, not ours for a wrapper.
    wrong = call("gzip-file-as-resource", name="a.gz", data={"url": text})
    steps = [LIST, right, wrong]
    direct = parts.ts_client(parts.everything, steps, mode="legacy")
    entry = {"command": parts.everything[0], "args": parts.everything[1:]}
    with parts.everything_over_http() as url, serve({"mcpServers": {"a": entry, "b": {"url": url}}}, tmp_path) as base:
        targets = [wrap_command(tmp_path, parts.everything, "--name", "a"), f"{base}/mcp/a", f"{base}/mcp/b"]
        assert [parts.ts_client(target, steps, mode="legacy") for target in targets] == [direct] * 3
    decisions = read_records(tmp_path / "state", type="policy_decision")
    assert {(record.rule, record.status.value) for record in decisions} == {("arguments.schema", "warning")}
    assert len(decisions) == 3
