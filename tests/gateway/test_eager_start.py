"""Servers that start with the gateway: what is known by the time a client comes, and what its first list waits for."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from handfast.core.call.exchange import Status
from handfast.gateway.eager_start import AT_ONCE, EagerStart
from handfast.gateway.http.response import UpstreamFailed
from tests.contracts.rig import Json
from tests.gateway.running import TEXT, eventually, is_running, pids, read_records, running, stdio
from tests.gateway.test_all_servers import All
from tests.gateway.translate.servers.asking import LEGACY, MODERN
from tests.stubs.run import Stub, answer, tool, write_stub

OLD = ["2024-11-05"]
BOTH = [*LEGACY, *MODERN]
GREETING = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
UNAVAILABLE, REMEMBERED = "handfast/unavailable", "handfast/remembered"


def stub_of(folder: Path, name: str = "stub", **more: Json) -> Stub:
    return write_stub(folder, tools=[tool("add")], answers={"add": answer(TEXT)}, name=name, **more)


def slow_start(fault: str) -> Json:
    return {"initialize": answer(json.dumps(GREETING), fault)}


def first_list(gateway: Json) -> Json:
    return All(gateway, is_modern=True).request("tools/list").result


def is_remembered(folder: Path) -> bool:
    with closing(sqlite3.connect(folder / "state" / "catalog.db")) as catalog:
        return catalog.execute("SELECT 1 FROM found WHERE what LIKE '%tools/list'").fetchone() is not None


def is_learnt(stub: Stub) -> bool:
    return "tools/list" in stub.journal.methods()


@pytest.mark.parametrize("versions", [OLD, LEGACY, BOTH, MODERN], ids=["old", "legacy", "both", "modern"])
def test_a_server_is_up_and_learnt_before_any_client_comes(tmp_path: Path, versions: list[str]) -> None:
    stub = stub_of(tmp_path, versions=versions)
    with running({"up": stdio(stub)}, tmp_path, start="eager") as gateway:
        eventually(lambda: is_learnt(stub), "a list that no client asked for")
        asked = len(pids(stub))
        assert [one["name"] for one in first_list(gateway)["tools"]] == ["up__add"]
        assert All(gateway, is_modern=True).call("up__add").text == "fine"
        assert len(pids(stub)) == asked, "the client got the process that was there"
        assert len([pid for pid in pids(stub) if is_running(pid)]) == 1


def test_a_lazy_server_waits_for_its_first_request(tmp_path: Path) -> None:
    eager, lazy = stub_of(tmp_path, "eager"), stub_of(tmp_path, "lazy")
    servers = {"eager": stdio(eager), "lazy": stdio(lazy, handfast={"start": "lazy"})}
    with running(servers, tmp_path, start="eager") as gateway:
        eventually(lambda: is_learnt(eager), "the start of the eager one")
        assert pids(lazy) == []
        assert [one["name"] for one in first_list(gateway)["tools"]] == ["eager__add", "lazy__add"]


def test_a_server_that_becomes_eager_or_is_added_is_started_by_the_reload(tmp_path: Path) -> None:
    stub, added = stub_of(tmp_path), stub_of(tmp_path, "added")
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        gateway.write_settings({"mcpServers": {"up": stdio(stub), "more": stdio(added)}, "start": "eager"})
        eventually(lambda: is_learnt(stub) and is_learnt(added), "their start")
        assert len([pid for pid in pids(stub) if is_running(pid)]) == 1


def test_an_eager_server_that_fails_costs_only_itself(tmp_path: Path) -> None:
    stub = stub_of(tmp_path)
    servers = {"gone": {"command": "handfast-no-such-command"}, "up": stdio(stub)}
    with running(servers, tmp_path, start="eager") as gateway:
        eventually(lambda: is_learnt(stub), "the start of the other one")
        result = first_list(gateway)
        assert [one["name"] for one in result["tools"]] == ["up__add"]
        assert list(result["_meta"][UNAVAILABLE]) == ["gone"]
        records = read_records(gateway.state, rule="server.failed", server="gone")
        assert [record.status for record in records][:1] == [Status.ERROR]


def test_with_isolation_a_server_is_learnt_in_a_process_that_ends(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, versions=OLD)
    entry = stdio(stub, handfast={"isolation": "session"})
    with running({"up": entry}, tmp_path, start="eager"):
        eventually(lambda: is_learnt(stub), "its list")
        eventually(lambda: not any(map(is_running, pids(stub))), "the end of what nobody may share")


def test_a_first_list_waits_for_a_server_that_is_starting(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, versions=OLD, methods=slow_start("slow:1"))
    with running({"up": stdio(stub)}, tmp_path, start="eager", limits={"learn_timeout_s": 0.1}) as gateway:
        result = first_list(gateway)
        assert ([one["name"] for one in result["tools"]], UNAVAILABLE in result["_meta"]) == (["up__add"], False)


def test_a_server_that_is_slow_to_start_is_listed_as_it_was(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, versions=OLD)
    settings: Json = {"start": "eager", "limits": {"learn_timeout_s": 0.1}}
    with running({"up": stdio(stub)}, tmp_path, **settings):
        eventually(lambda: is_remembered(tmp_path), "its list on disk")
    stub_of(tmp_path, versions=OLD, methods=slow_start("slow:3"))
    with running({"up": stdio(stub)}, tmp_path, **settings) as gateway:
        result = first_list(gateway)
        assert [one["name"] for one in result["tools"]] == ["up__add"]
        assert (result["_meta"][REMEMBERED], result["ttlMs"]) == (["up"], 0)
        assert All(gateway, is_modern=True).call("up__add").text == "fine"
        eventually(lambda: REMEMBERED not in first_list(gateway)["_meta"], "a list of its own")


@pytest.mark.parametrize(("versions", "other"), [(LEGACY, "server/discover"), (BOTH, "initialize")])
def test_the_era_is_remembered_over_a_restart(tmp_path: Path, versions: list[str], other: str) -> None:
    stub = stub_of(tmp_path, versions=versions)
    for _ in range(2):
        with running({"up": stdio(stub)}, tmp_path) as gateway:
            assert [one["name"] for one in first_list(gateway)["tools"]] == ["up__add"]
    assert stub.journal.methods().count(other) == 1, "the other way was tried once, by the first gateway"


def test_few_start_at_once_and_those_that_hang_do_not_keep_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handfast.gateway.eager_start._TURN_SECONDS", 0.05)
    begun: list[str] = []
    done: list[str] = []

    async def run() -> None:
        go_on, never = asyncio.Event(), asyncio.Event()

        async def start(name: str) -> None:
            begun.append(name)
            if name == "fails":
                raise UpstreamFailed("It does not start.")
            await (never if name.startswith("hangs") else go_on).wait()
            done.append(name)

        names = ["fails", *(f"hangs{n}" for n in range(AT_ONCE)), *(f"s{n}" for n in range(2 * AT_ONCE))]
        eager = EagerStart(start)
        eager.begin(names)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(begun) <= AT_ONCE + 1  # one of which has failed
        go_on.set()
        while len(done) < 2 * AT_ONCE:  # noqa: ASYNC110 - the turn of the one that hangs is a matter of time
            await asyncio.sleep(0)
        await eager.close()
        assert sorted(begun) == sorted(names)
        assert not any(name.startswith("hangs") for name in done)

    asyncio.run(run())
