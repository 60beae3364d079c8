"""A client that calls before it lists: its first call is judged by the contract that handfast asked for itself."""

from collections.abc import Mapping

import pytest

from tests.contracts.rig import serve
from tests.parts import Outcome, Parts, Target
from tests.real.clients import CLIENTS, Wanted, hold_sessions
from tests.real.gateways import wrap_command
from tests.real.servers import RealServer, refusal
from tests.real.sessions import check_refused

ROUTES = ("wrap", "stdio", "http")
FIRST = ("py-auto", "ts-legacy")


@pytest.fixture(scope="module")
def held(
    parts: Parts, servers: Mapping[str, RealServer], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], list[Outcome]]:
    """One call each. Every client has the server under a name of its own, of which nothing is known before."""
    server, folder = servers["everything"], tmp_path_factory.mktemp("first")
    wanted = {}
    with parts.everything_over_http() as url:
        entries: dict[str, object] = {}
        for client in FIRST:
            entries[f"stdio-{client}"] = {"command": server.target[0], "args": server.target[1:]}
            entries[f"http-{client}"] = {"url": url}
        with serve({"mcpServers": entries}, folder) as base:
            for client in FIRST:
                own = folder / client
                own.mkdir()
                targets: dict[str, Target] = {route: f"{base}/mcp/{route}-{client}" for route in ROUTES[1:]}
                targets["wrap"] = wrap_command(own, list(server.target))
                for route, target in targets.items():
                    wanted[route, client] = Wanted(CLIENTS[client], target, [server.lossy])
            return hold_sessions(parts, wanted)


@pytest.mark.requirement("C3")
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("client", FIRST)
def test_a_first_call_is_judged_without_a_list(
    held: dict[tuple[str, str], list[Outcome]], servers: Mapping[str, RealServer], route: str, client: str
) -> None:
    (outcome,) = held[route, client]
    check_refused(outcome, refusal(servers["everything"]))
