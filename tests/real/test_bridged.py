"""Modern clients in front of real servers of the older era: what each of their tools does, it does for them too."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.contracts.rig import serve
from tests.parts import Outcome, Parts
from tests.real.clients import CLIENTS, Wanted, hold_sessions
from tests.real.servers import RealServer, refusal
from tests.real.sessions import STRICT, check_records, check_refused, direct_steps, whole_script
from tests.real.test_whole_sessions import without_era

OLDER = ("memory", "filesystem")


@pytest.fixture(scope="module")
def base(parts: Parts, servers: Mapping[str, RealServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    entries = {name: {"command": servers[name].target[0], "args": servers[name].target[1:]} for name in OLDER}
    folder = tmp_path_factory.getbasetemp() / "bridged"
    folder.mkdir()
    with serve({"mcpServers": entries, **STRICT}, folder) as address:
        yield address


@pytest.fixture
def state(base: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp() / "bridged" / "state"


# Each server with one of the two libraries: whole sessions hold both of them to the bridge.
@pytest.mark.parametrize(("name", "sdk"), [("memory", "py"), ("filesystem", "ts")])
def test_a_modern_client_gets_from_an_older_server_what_a_legacy_one_gets(
    parts: Parts, servers: Mapping[str, RealServer], base: str, state: Path, name: str, sdk: str
) -> None:
    server = servers[name]
    wanted = {
        "legacy": Wanted(CLIENTS[f"{sdk}-legacy"], server.target, direct_steps(server)),
        "modern": Wanted(CLIENTS[f"{sdk}-modern"], f"{base}/mcp/{name}", whole_script(server)),
    }
    held = hold_sessions(parts, wanted)
    info, listed, *called, refused = held["modern"]
    assert info["result"]["protocolVersion"] == "2026-07-28"
    assert tools(listed) == tools(held["legacy"][1])
    same = len(server.steady) + len(server.failing)
    assert [without_era(one) for one in called[:same]] == [without_era(one) for one in held["legacy"][2 : same + 2]]
    check_refused(refused, refusal(server))
    check_records(state, server)


def tools(listed: Outcome) -> list[object]:
    return [{key: value for key, value in tool.items() if key != "execution"} for tool in listed["result"]["tools"]]
