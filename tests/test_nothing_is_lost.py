"""Records survive: SIGKILL under load, many processes on one store, and a store that cannot be written for a while."""

import json
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from handfast.activity.store import StoreError
from tests.contracts.rig import HANDFAST, HttpGateway, Json
from tests.gateway.running import (
    TEXT,
    Serving,
    at_once,
    call,
    eventually,
    one_record,
    read_records,
    running,
    started,
    stdio,
    verify,
    wrapping,
)
from tests.stubs.run import Stub, answer, tool, write_stub

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
WRONG = '{"content":[],"structuredContent":{"n":"no"}}'


def write(folder: Path) -> Stub:
    """`refused` is refused for its arguments, `warned` and `blocked` for their results; the name tells calls apart."""
    tools = [tool("warned", None, NUMBER), tool("refused", NUMBER), tool("plain")]
    return write_stub(folder, tools=tools, answers={"warned": answer(WRONG), "plain": answer(TEXT)})


# --- SIGKILL ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P4")
def test_every_decision_a_client_saw_outlives_a_killed_gateway(tmp_path: Path) -> None:
    stub = write(tmp_path)
    seen: list[str] = []
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        clients = [gateway.client() for _ in range(4)]
        clients[0].list_tools()
        threads = [threading.Thread(target=insist, args=(client, seen)) for client in clients]
        for thread in threads:
            thread.start()
        # Past the twenty refusals of each client that are whole records, so that some are counted.
        eventually(lambda: len(seen) > 180, "some load", seconds=60)
        gateway.process.kill()
        for thread in threads:
            thread.join(10)
    decided(tmp_path / "state", seen)


def insist(client: HttpGateway, seen: list[str]) -> None:
    """Calls until the gateway is gone; what was answered is noted after it was."""
    while True:
        for name in ("refused", "warned"):
            try:
                got = client.call(name, {"x": {}}).message
            except (OSError, ValueError):
                return
            assert "result" in got
            seen.append(name)


def decided(state: Path, seen: list[str]) -> None:
    assert verify(state) == "intact"
    made = read_records(state, type="policy_decision")
    # Refusals in a loop are counted: one record stands for many.
    decisions = [record.tool for record in made for _ in range(int(str(record.details.get("count", 1))))]
    assert {name: decisions.count(name) >= seen.count(name) for name in set(seen)} == {"refused": True, "warned": True}
    # No more than one per client can have been decided without its answer being seen.
    assert len(decisions) <= len(seen) + 4


@pytest.mark.requirement("P4")
def test_every_decision_a_client_saw_outlives_a_killed_wrapper(tmp_path: Path) -> None:
    stub = write(tmp_path)
    seen: list[str] = []
    config = tmp_path / "handfast.json"
    config.write_text("{}")
    flags = ["wrap", "--config", str(config), "--state", str(tmp_path / "state"), "--"]
    with started([*HANDFAST, *flags, *stub.command], stdout=subprocess.PIPE) as process:
        # Long enough for some refusals to be counted, of which this client sees one a second.
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":"l","method":"tools/list"}\n')
        process.stdin.flush()
        assert b'"l"' in process.stdout.readline()
        killer = threading.Timer(4.0, process.kill)
        killer.start()
        for number in range(10**6):
            name = ("refused", "warned")[number % 2]
            try:
                process.stdin.write(call(number, name, arguments={"x": {}}) + b"\n")
                process.stdin.flush()
            except BrokenPipeError:
                break
            if not process.stdout.readline().endswith(b"\n"):
                break
            seen.append(name)
        killer.join()
    assert seen.count("refused") > 20
    decided(tmp_path / "state", seen)


# --- many processes --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P5")
def test_four_wrappers_on_one_store_lose_nothing(tmp_path: Path) -> None:
    """Each on its own stub, all on one state folder; every second call leaves a decision."""
    count = 200

    def load(number: int) -> int:
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "state").symlink_to(tmp_path / "state", target_is_directory=True)
        stub = write(folder)
        with wrapping(stub.command, folder) as gateway:
            gateway.list_tools()
            for start in range(0, count, 20):
                for n in range(start, start + 20):
                    gateway.send(call(f"c{n}", ("warned", "plain")[n % 2]))
                for n in range(start, start + 20):
                    assert "result" in gateway.answer_to(f"c{n}").message
        return count

    (tmp_path / "state").mkdir()
    assert at_once(*[lambda n=n: load(n) for n in range(4)]) == [count] * 4
    assert verify(tmp_path / "state") == "intact"
    calls = read_records(tmp_path / "state", type="tool_call")
    decisions = read_records(tmp_path / "state", type="policy_decision")
    assert (len(calls), len({record.request_id for record in calls})) == (4 * count, 4 * count)
    assert {record.request_id for record in decisions} == {r.request_id for r in calls if r.tool == "warned"}
    assert len(decisions) == 2 * count


# --- a store that cannot be written ----------------------------------------------------------------------------------


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """Somebody else holds the store."""
    connection = sqlite3.connect(state / "activity.db", isolation_level=None, timeout=10)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@contextmanager
def serving(folder: Path, **activity: Json) -> Iterator[tuple[Serving, HttpGateway]]:
    stub = write(folder)
    with running({"up": stdio(stub)}, folder, activity=activity, limits={"concurrent_calls": 4}) as gateway:
        client = gateway.client()
        client.list_tools()
        assert client.call("plain").text == "fine"
        yield gateway, client


@pytest.mark.requirement("P4")
def test_calls_are_refused_while_records_cannot_be_written_and_go_on_after(tmp_path: Path) -> None:
    with serving(tmp_path) as (gateway, client):
        with locked(gateway.state):
            assert client.call("plain").text == "fine"  # not failing yet: it is written behind the reply
            eventually(lambda: gateway.health()[0] == 503, "health fails", seconds=20)
            report = gateway.health()[1]
            assert (report["status"], report["recording"], list(report["servers"])) == ("failing", "failing", ["up"])
            refusals = [client.call("plain").message["error"] for _ in range(10)]
            warned = client.call("warned").message["error"]
        text = (
            "Calls are refused because activity records cannot be written."
            " Try again later; calls go on by themselves once records can be written."
        )
        assert [*refusals, warned] == [{"code": -31003, "message": text}] * 11
        eventually(lambda: gateway.health()[0] == 200, "health recovers", seconds=20)
        # More calls were refused than may be open at once: none of them still counts.
        assert [client.call("plain").text for _ in range(5)] == ["fine"] * 5
        assert one_record(gateway.state, rule="activity.write_failure").status == "warning"
        ended = [r.rule for r in read_records(gateway.state, type="tool_call", tool="plain")]
        assert ended.count("recording.failed") == 10  # a refused call is a call, and on record as such
    assert verify(gateway.state) == "intact"


@pytest.mark.requirement("P4")
def test_a_decision_that_cannot_be_written_is_not_answered_as_if_it_were(tmp_path: Path) -> None:
    with serving(tmp_path) as (gateway, client):
        with locked(gateway.state):
            before = time.monotonic()
            error = client.call("warned").message["error"]
            waited = time.monotonic() - before
        assert (error["code"], 4 < waited < 20) == (-31003, True)


@pytest.mark.requirement("P4")
def test_an_operator_may_choose_to_go_on_unrecorded(tmp_path: Path) -> None:
    with serving(tmp_path, on_failure="continue") as (gateway, client):
        with locked(gateway.state):
            assert client.call("plain").text == "fine"
            eventually(lambda: gateway.health()[0] == 503, "health fails", seconds=20)
            assert [client.call("plain").text for _ in range(10)] == ["fine"] * 10
            assert client.call("warned").result == json.loads(WRONG)
        eventually(lambda: gateway.health()[0] == 200, "health recovers", seconds=20)


def spoil_with_file(state: Path) -> None:
    state.write_text("no folder")


def spoil_database(state: Path) -> None:
    state.mkdir(mode=0o700)
    (state / "activity.db").write_bytes(b"no database" * 1000)


def spoil_mode(state: Path) -> None:
    state.mkdir()
    state.chmod(0o777)


SPOILT = [spoil_with_file, spoil_database, spoil_mode]


@pytest.mark.requirement("P4")
@pytest.mark.parametrize("spoil", SPOILT)
@pytest.mark.parametrize("on_failure", ["refuse", "continue"])
def test_a_store_that_is_unusable_at_start_stops_only_who_did_not_choose_to_go_on(
    tmp_path: Path, spoil: Callable[[Path], None], on_failure: str
) -> None:
    spoil(tmp_path / "state")
    stub = write(tmp_path)
    with wrapping(
        stub.command, tmp_path, stderr=subprocess.PIPE, opens=False, activity={"on_failure": on_failure}
    ) as w:
        assert w.process.stderr is not None
        if on_failure == "refuse":
            assert w.process.wait(20) == 1
            assert b"Traceback" not in w.process.stderr.read()
            return
        w.open()
        assert w.call("plain").text == "fine"
        assert b"Starting all the same, as activity.on_failure is continue" in w.process.stderr.readline()


@pytest.mark.requirement("P4")
def test_what_was_called_before_the_store_could_be_used_is_recorded_when_it_can(tmp_path: Path) -> None:
    state = tmp_path / "state"
    spoil_database(state)
    stub = write(tmp_path)
    with wrapping(stub.command, tmp_path, stderr=subprocess.PIPE, activity={"on_failure": "continue"}) as gateway:
        assert gateway.call("plain").text == "fine"
        (state / "activity.db").unlink()

        def look() -> object:
            with suppress(StoreError):  # it is not there yet, or being made
                return read_records(state, type="tool_call", tool="plain")
            return None

        eventually(look, "the call on record")
    assert verify(state) == "intact"
