"""Every client with every server through one `handfast serve`, held to strict on both sides."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.contracts.rig import serve
from tests.parts import Parts
from tests.real.clients import CLIENTS, pairs
from tests.real.servers import RealServer
from tests.real.sessions import STRICT, Direct, check_session

OVER_HTTP = "everything-http"


@pytest.fixture(scope="module")
def all_servers(parts: Parts, servers: Mapping[str, RealServer]) -> Iterator[Mapping[str, RealServer]]:
    with parts.everything_over_http() as url:
        yield {**servers, OVER_HTTP: replace(servers["everything"], name=OVER_HTTP, target=url)}


def _reached(server: RealServer) -> dict[str, object]:
    if isinstance(server.target, str):
        return {"url": server.target}
    return {"command": server.target[0], "args": list(server.target[1:])}


@pytest.fixture(scope="module")
def gateway(all_servers: Mapping[str, RealServer], world: Path) -> Iterator[str]:
    entries = {
        name: {**_reached(server), "handfast": {"bridge": "off"}}  # the same bytes, also to clients of both eras
        for name, server in all_servers.items()
    }
    with serve({"mcpServers": entries, **STRICT}, world) as base:
        yield base


@pytest.mark.requirement("000-2")
@pytest.mark.requirement("000-20")
@pytest.mark.parametrize(("server", "client"), pairs("memory", "filesystem", "everything", OVER_HTTP, "time"))
def test_a_served_server_is_the_same_to_its_client(
    parts: Parts,
    all_servers: Mapping[str, RealServer],
    direct: Direct,
    world: Path,
    gateway: str,
    server: str,
    client: str,
) -> None:
    real = all_servers[server]
    check_session(
        parts,
        direct,
        client=CLIENTS[client],
        server=real,
        target=f"{gateway}/mcp/{server}",
        state=world / "state",
    )
    assert not Path(str(real.lossy["call"]["arguments"].get("path", "nowhere"))).exists()
