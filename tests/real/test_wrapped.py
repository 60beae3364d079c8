"""Every client with every stdio server through `handfast wrap`, held to strict on both sides."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.parts import Parts
from tests.real.clients import CLIENTS, pairs
from tests.real.gateways import wrap_command
from tests.real.servers import RealServer
from tests.real.sessions import Direct, check_session


@pytest.mark.requirement("000-2")
@pytest.mark.requirement("000-20")
@pytest.mark.parametrize(("server", "client"), pairs("memory", "filesystem", "everything", "time"))
def test_a_wrapped_server_is_the_same_to_its_client(
    parts: Parts, servers: Mapping[str, RealServer], direct: Direct, tmp_path: Path, server: str, client: str
) -> None:
    real = servers[server]
    # With the bridge off a client of both eras falls back to the one that the server has, and nothing is translated.
    entry = {"command": real.target[0], "handfast": {"bridge": "off"}}
    config = tmp_path / "handfast.json"
    config.write_text(json.dumps({"mcpServers": {server: entry}}))
    flags = ("--name", server, "--input", "strict", "--output", "strict", "--config", str(config))
    check_session(
        parts,
        direct,
        client=CLIENTS[client],
        server=real,
        target=wrap_command(tmp_path, real.target, *flags),
        state=tmp_path / "state",
    )
    assert not Path(str(real.lossy["call"]["arguments"].get("path", "nowhere"))).exists()
