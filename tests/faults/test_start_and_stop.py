"""Servers that do not come up, and servers that do not go."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.contracts.rig import Json
from tests.faults.scene import OWN_CHILD
from tests.gateway.running import TEXT, eventually, is_running, one_record, pids, running, stdio, wrapping
from tests.stubs.run import answer, tool, write_stub

EXITS: Json = {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}


@pytest.mark.parametrize("capabilities", [{}, OWN_CHILD], ids=["shared", "own"])
def test_a_server_that_exits_at_start_costs_only_itself(capabilities: Json, tmp_path: Path) -> None:
    good = write_stub(tmp_path, tools=[tool("steady")], answers={"steady": answer(TEXT)})
    with running({"up": EXITS, "other": stdio(good)}, tmp_path) as gateway:
        client = gateway.client(opens=False)
        opened = [client.open(capabilities) for _ in range(3)]
        assert [each.message["error"]["code"] for each in opened if each is not None] == [-31001] * 3
        assert not gateway.client("other").call("steady").is_error


@pytest.mark.parametrize("capabilities", [{}, OWN_CHILD], ids=["shared", "own"])
def test_a_server_that_never_answers_initialize_is_stopped_and_said_so(capabilities: Json, tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("steady")], methods={"initialize": answer(None, "silence")})
    with running({"up": stdio(stub)}, tmp_path, limits={"handshake_timeout_s": 0.5}) as gateway:
        began = time.monotonic()
        opened = gateway.client(opens=False).open(capabilities)
        assert opened is not None
        assert opened.message["error"]["code"] in (-31001, -31002)
        assert time.monotonic() - began < 10
        eventually(lambda: not any(map(is_running, pids(stub))), "its end")
        assert gateway.health()[1]["servers"]["up"]["state"] == "failing"


def test_a_wrapped_server_that_never_answers_initialize_is_told_on(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("steady")], methods={"initialize": answer(None, "silence")})
    with wrapping(stub.command, tmp_path, opens=False, limits={"call_timeout_s": 0.5}) as gateway:
        assert gateway.request("initialize", {"protocolVersion": "2025-11-25"}).message["error"]["code"] == -31002


def test_any_request_that_is_never_answered_ends(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, methods={"resources/list": answer(None, "silence")})
    with running({"up": stdio(stub)}, tmp_path, limits={"call_timeout_s": 0.5}) as gateway:
        assert gateway.client().request("resources/list").message["error"]["code"] == -31002


def test_a_server_that_ignores_every_request_to_end_is_killed_with_the_gateway(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("steady")], answers={"steady": answer(TEXT)}, stubborn=True)
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        gateway.client().call("steady")
        assert one_record(gateway.state, type="tool_call", tool="steady").status.value == "success"
    assert gateway.process.returncode == 0
    assert [pid for pid in pids(stub) if is_running(pid)] == []


def test_a_wrapped_server_that_ignores_the_end_of_its_client_is_killed(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("steady")], answers={"steady": answer(TEXT)}, stubborn=True)
    with wrapping(stub.command, tmp_path) as gateway:
        gateway.call("steady")
        assert gateway.process.stdin is not None
        gateway.process.stdin.close()
        # Official clients kill the wrapper after four seconds, and then nobody could end the server any more.
        gateway.process.wait(20)
    (pid,) = pids(stub)
    try:
        assert not is_running(pid)
    finally:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)
