"""A gateway that is killed leaves no server behind, however the server was started and whatever it ignores."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contracts.rig import HANDFAST
from tests.gateway.running import eventually, is_running, pids, running, started, stdio, wrapping
from tests.parts import Parts
from tests.stubs.run import Stub, tool, write_stub


def stubborn(folder: Path) -> Stub:
    """Ignores the end of its input and SIGTERM."""
    return write_stub(folder, tools=[tool("add")], answers={}, stubborn=True)


def by_shell(command: list[str]) -> list[str]:
    """As npx does: a shell that starts the server as a child of its own and waits for it."""
    return ["sh", "-c", '"$@"; exit $?', "npx", *command]


def are_gone(numbers: list[int]) -> bool:
    assert numbers
    return not any(map(is_running, numbers))


@pytest.mark.requirement("F12")
@pytest.mark.parametrize("is_wrapped", [False, True], ids=["itself", "by-a-shell"])
def test_a_killed_gateway_leaves_no_server_behind(is_wrapped: bool, tmp_path: Path) -> None:
    stub = stubborn(tmp_path)
    command = by_shell(stub.command) if is_wrapped else stub.command
    entry = {"command": command[0], "args": command[1:]}
    with running({"up": entry}, tmp_path, leaves_calls=True) as gateway:
        gateway.client().list_tools()
        (server,) = pids(stub)
        assert is_running(server)
        gateway.process.kill()
        gateway.process.wait(10)
        eventually(lambda: are_gone([server]), "the server is gone", seconds=15)


@pytest.mark.requirement("F12")
@pytest.mark.parametrize("is_wrapped", [False, True], ids=["itself", "by-a-shell"])
def test_a_killed_wrapper_leaves_no_server_behind(is_wrapped: bool, tmp_path: Path) -> None:
    stub = stubborn(tmp_path)
    with wrapping(by_shell(stub.command) if is_wrapped else stub.command, tmp_path) as gateway:
        gateway.list_tools()
        (server,) = pids(stub)
        gateway.process.kill()
        gateway.process.wait(10)
        eventually(lambda: are_gone([server]), "the server is gone", seconds=15)


@pytest.mark.requirement("F12")
def test_a_wrapper_killed_with_its_whole_group_leaves_no_server_behind(tmp_path: Path) -> None:
    stub = stubborn(tmp_path)
    command = [*HANDFAST, "wrap", "--state", str(tmp_path / "state"), "--", *stub.command]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    with process:
        eventually(lambda: pids(stub), "the server runs")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
        eventually(lambda: are_gone(pids(stub)), "the server is gone", seconds=15)


@pytest.mark.requirement("F12")
def test_real_servers_of_a_killed_gateway_are_gone(parts: Parts, tmp_path: Path) -> None:
    servers = {
        name: {"command": command[0], "args": command[1:]}
        for name, command in {"memory": parts.memory(tmp_path / "m"), "npx": by_shell(parts.everything)}.items()
    }
    with running(servers, tmp_path, leaves_calls=True) as gateway:
        for name in servers:
            gateway.client(name).list_tools()
        found = descendants(gateway.process.pid)
        assert len(found) >= 3
        gateway.process.kill()
        gateway.process.wait(10)
        eventually(lambda: are_gone(found), "every process is gone", seconds=15)


@pytest.mark.requirement("F12")
def test_nothing_is_ended_that_was_not_ours_or_is_gone(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={})
    bystander = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with started(bystander, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with running({"up": stdio(stub)}, tmp_path) as gateway:
            gateway.client().list_tools()
        assert are_gone(pids(stub))
        assert is_running(other.pid)


@pytest.mark.requirement("F12")
def test_a_server_at_a_terminal_keeps_the_terminal_and_ends_with_a_killed_wrapper(tmp_path: Path) -> None:
    stub = stubborn(tmp_path)
    with at_terminal([*HANDFAST, "wrap", "--state", str(tmp_path / "state"), "--", *stub.command]) as wrapper:
        (server,) = eventually(lambda: pids(stub), "the server runs")
        assert os.getsid(server) == os.getsid(wrapper)
        os.kill(wrapper, signal.SIGKILL)
        eventually(lambda: are_gone([server]), "the server is gone", seconds=15)


@contextmanager
def at_terminal(command: list[str]) -> Iterator[int]:
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - replaced at once
        os.execv(command[0], command)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def descendants(pid: int) -> list[int]:
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*children, *(one for child in children for one in descendants(child))]
