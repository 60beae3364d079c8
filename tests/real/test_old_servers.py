"""Servers on SDKs of 2024 and 2025: what a modern client says first ends them, and yet the first list has them."""

import time
from pathlib import Path

import pytest

from tests.gateway.running import read_records, running
from tests.parts import Mode, Parts
from tests.real.gateways import wrap_command

TOOLS = {"sqlite": "read_query", "fetch": "fetch", "shell": "shell_execute", "time": "get_current_time"}
UNAVAILABLE = "handfast/unavailable"
PROBE_SECONDS = 10  # after which a silent server is taken for one of 2025


@pytest.mark.parametrize("start", ["eager", "lazy"])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_first_list_of_all_servers_has_old_ones(parts: Parts, tmp_path: Path, mode: Mode, start: str) -> None:
    entries = {name: {"command": line[0], "args": line[1:]} for name, line in parts.old(tmp_path).items()}
    with running(entries, tmp_path, start=start) as gateway:
        session = {"target": f"{gateway.base}/mcp", "mode": mode, "answers": False, "steps": [{"list": True}]}
        ((listed,),) = parts.sessions("py", [session])
        assert read_records(gateway.state, rule="server.exited") == [], "none was asked what it dies of"
    names = [tool["name"] for tool in listed["result"]["tools"]]
    assert [f"{server}__{tool}" for server, tool in TOOLS.items() if f"{server}__{tool}" not in names] == []
    assert UNAVAILABLE not in listed["result"].get("_meta", {})


@pytest.mark.parametrize("server", TOOLS)
def test_wrap_does_not_wait_for_an_old_server_to_answer_a_modern_client(
    parts: Parts, tmp_path: Path, server: str
) -> None:
    target = wrap_command(tmp_path, parts.old(tmp_path)[server])
    began = time.monotonic()
    session = {"target": target, "mode": "2026-07-28", "answers": False, "steps": [{"list": True}]}
    ((listed,),) = parts.sessions("py", [session])
    assert TOOLS[server] in [tool["name"] for tool in listed["result"]["tools"]]
    assert time.monotonic() - began < PROBE_SECONDS
