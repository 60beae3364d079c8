"""Every client with every server through `handfast serve` and `handfast wrap`, held to strict on both sides."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from tests.contracts.rig import serve
from tests.parts import Outcome, Parts, Target
from tests.real.clients import CLIENTS, Wanted, hold_sessions, pairs
from tests.real.gateways import wrap_command
from tests.real.servers import RealServer
from tests.real.sessions import STRICT, check_records, check_session, direct_steps, whole_script

# The first test of a file holds the sessions of all, some sixty.
pytestmark = pytest.mark.timeout(400)

OVER_HTTP = "everything-http"
SERVED = pairs("memory", "filesystem", "everything", OVER_HTTP, "time")
WRAPPED = pairs("memory", "filesystem", "everything", "time")
UNBRIDGED = {"bridge": "off"}  # the same bytes, also to clients of both eras


class Key(NamedTuple):
    via: Literal["nothing", "serve", "wrap"]
    server: str
    client: str


@dataclass(frozen=True, slots=True)
class Held:
    """Every session, and where the calls of each are on record."""

    outcomes: Mapping[Key, list[Outcome]]
    servers: Mapping[str, RealServer]
    folder: Path

    def check(self, key: Key, state: Path) -> None:
        client, server = CLIENTS[key.client], self.servers[key.server]
        check_session(self.outcomes[key], self.outcomes[direct_key(key, server)], client=client, server=server)
        # A gateway that serves has the sessions of all clients on record, in the order in which they were held.
        same = [one for one in self.outcomes if one[:2] == key[:2]] if key.via == "serve" else [key]
        check_records(state, server, number=same.index(key), sessions=len(same))
        assert not Path(str(server.lossy["call"]["arguments"].get("path", "nowhere"))).exists()


def direct_key(key: Key, server: RealServer) -> Key:
    """A server of the older era is the same to a client that probes and to one that does not."""
    sdk = CLIENTS[key.client].sdk
    return Key("nothing", key.server, key.client if server.is_dual or sdk == "ts1" else f"{sdk}-legacy")


@pytest.fixture(scope="module")
def held(parts: Parts, servers: Mapping[str, RealServer], world: Path) -> Held:
    with parts.everything_over_http() as url:
        known = {**servers, OVER_HTTP: replace(servers["everything"], name=OVER_HTTP, target=url)}
        entries = {name: {**reached(server.target), "handfast": UNBRIDGED} for name, server in known.items()}
        with serve({"mcpServers": entries, **STRICT}, world) as base:
            keys = [*(Key("serve", *pair) for pair in SERVED), *(Key("wrap", *pair) for pair in WRAPPED)]
            targets: dict[Key, Target] = {direct_key(key, known[key.server]): known[key.server].target for key in keys}
            targets |= {key: f"{base}/mcp/{key.server}" for key in keys if key.via == "serve"}
            targets |= {key: wrapping(world, key, known[key.server]) for key in keys if key.via == "wrap"}
            wanted = {key: Wanted(CLIENTS[key.client], target, steps(key, known)) for key, target in targets.items()}
            return Held(hold_sessions(parts, wanted), known, world)


def reached(target: Target) -> dict[str, object]:
    return {"url": target} if isinstance(target, str) else {"command": target[0], "args": list(target[1:])}


def steps(key: Key, known: Mapping[str, RealServer]) -> list[object]:
    server = known[key.server]
    return list(direct_steps(server) if key.via == "nothing" else whole_script(server))


def wrapping(world: Path, key: Key, server: RealServer) -> list[str]:
    """With the bridge off a client of both eras falls back to the one that the server has: nothing is translated."""
    folder = wrap_folder(world, key)
    folder.mkdir()
    config = folder / "handfast.json"
    config.write_text(json.dumps({"mcpServers": {key.server: {"command": server.target[0], "handfast": UNBRIDGED}}}))
    flags = ("--name", key.server, "--input", "strict", "--output", "strict", "--config", str(config))
    return wrap_command(folder, list(server.target), *flags)


def wrap_folder(world: Path, key: Key) -> Path:
    return world / f"{key.server}-{key.client}"


@pytest.mark.requirement("000-2")
@pytest.mark.requirement("000-20")
@pytest.mark.parametrize(("server", "client"), SERVED)
def test_a_served_server_is_the_same_to_its_client(held: Held, server: str, client: str) -> None:
    held.check(Key("serve", server, client), held.folder / "state")


@pytest.mark.requirement("000-2")
@pytest.mark.requirement("000-20")
@pytest.mark.parametrize(("server", "client"), WRAPPED)
def test_a_wrapped_server_is_the_same_to_its_client(held: Held, server: str, client: str) -> None:
    key = Key("wrap", server, client)
    held.check(key, wrap_folder(held.folder, key) / "state")
