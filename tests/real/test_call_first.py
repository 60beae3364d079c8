"""A client that calls before it lists: its first call is judged by the contract that handfast asked for itself."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.contracts.rig import serve
from tests.parts import Parts
from tests.real.clients import CLIENTS
from tests.real.gateways import wrap_command
from tests.real.servers import RealServer, refusal
from tests.real.sessions import check_refused


@pytest.mark.requirement("C3")
@pytest.mark.parametrize(
    ("route", "client"),
    [
        ("wrap", "py-auto"),
        ("wrap", "ts-legacy"),
        ("stdio", "py-auto"),
        ("stdio", "ts-legacy"),
        ("http", "py-auto"),
        ("http", "ts-legacy"),
    ],
)
def test_a_first_call_is_judged_without_a_list(
    parts: Parts, servers: Mapping[str, RealServer], tmp_path: Path, route: str, client: str
) -> None:
    server = servers["everything"]
    entry = {"command": server.target[0], "args": server.target[1:]}
    with parts.everything_over_http() as url, serve({"mcpServers": {"a": entry, "b": {"url": url}}}, tmp_path) as base:
        targets = {
            "wrap": wrap_command(tmp_path, server.target),
            "stdio": f"{base}/mcp/a",
            "http": f"{base}/mcp/b",
        }
        (outcome,) = CLIENTS[client].drive(parts, targets[route], [server.lossy])
    check_refused(outcome, refusal(server))
