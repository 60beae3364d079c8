"""A child process: lines of any length, an end that is noticed, and a stop that insists."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from handfast.gateway.process import orphans
from handfast.gateway.process.child import Child, ChildStartFailed
from handfast.wire.lines import LineAssembler, OverlongLine
from tests.gateway.running import eventually, is_running

LIMIT = 1_000_000


class Seen:
    def __init__(self, *, stderr: bool = False) -> None:
        self.lines: list[bytes | OverlongLine] = []
        self.codes: list[int] = []
        self.errors: list[bytes] = []
        self.child = Child(
            lines=LineAssembler(LIMIT),
            on_line=self.lines.append,
            on_exit=self.codes.append,
            on_stderr=self.errors.append if stderr else None,
        )


def run(script: str, act: "Callable[[Child], None] | None" = None, *, stderr: bool = False) -> Seen:
    """Start it, do something, and wait until it is gone."""

    async def work() -> Seen:
        seen = Seen(stderr=stderr)
        await seen.child.start([sys.executable, "-c", script])
        if act is not None:
            act(seen.child)
        await asyncio.wait_for(seen.child.gone.wait(), 15)
        return seen

    return asyncio.run(work())


@pytest.mark.requirement("B6")
def test_lines_of_any_length_arrive_whole_and_those_over_the_limit_are_told(tmp_path: Path) -> None:
    seen = run("import sys\nfor n in (1, 65536, 65537, 999999, 1000001, 2): print('x' * n)")
    sizes = [line.size_so_far if isinstance(line, OverlongLine) else len(line) for line in seen.lines]
    assert sizes[:4] + sizes[5:] == [1, 65536, 65537, 999999, 2]
    assert isinstance(seen.lines[4], OverlongLine)
    assert seen.codes == [0]


@pytest.mark.requirement("B1")
def test_a_message_is_one_line_to_it_whatever_line_ends_it_holds() -> None:
    def act(child: Child) -> None:
        child.send(b'{"a":\n1,\r"b":\r\n2}')
        child.close_stdin()

    seen = run("import sys; print(ascii(sys.stdin.buffer.read()))", act)
    assert seen.lines == [rb"""b'{"a": 1, "b":  2}\n'"""]


def test_the_last_line_needs_no_end_and_comes_before_the_exit() -> None:
    seen = run("import sys; sys.stdout.write('half'); sys.exit(3)")
    assert (seen.lines, seen.codes) == ([b"half"], [3])


def test_a_grandchild_that_holds_the_pipes_does_not_keep_it_alive() -> None:
    script = (
        "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(8)'])\nprint('x')"
    )
    before = time.monotonic()
    seen = run(script)
    assert (seen.lines, seen.codes, time.monotonic() - before < 6) == ([b"x"], [0], True)


def test_stopping_insists(tmp_path: Path) -> None:
    """It minds neither the end of its input nor SIGTERM."""
    note = tmp_path / "pid"
    script = f"""
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open({str(note)!r}, "w").write(str(os.getpid()))
while True: time.sleep(60)
"""

    async def work() -> list[int]:
        seen = Seen()
        await seen.child.start([sys.executable, "-c", script])
        await asyncio.to_thread(eventually, lambda: note.exists() and note.read_text(), "the child")
        await seen.child.stop(grace=0.2)
        return seen.codes

    assert asyncio.run(work()) == [-9]
    assert not is_running(int(note.read_text()))


def test_writing_to_a_child_that_is_gone_is_harmless() -> None:
    async def work() -> list[int]:
        seen = Seen()
        await seen.child.start([sys.executable, "-c", "pass"])
        await asyncio.wait_for(seen.child.gone.wait(), 10)
        seen.child.send(b"{}")
        seen.child.close_stdin()
        seen.child.send_signal(15)
        seen.child.pause_reading(True)
        await seen.child.stop()
        return seen.codes

    assert asyncio.run(work()) == [0]


def test_a_relative_command_is_one_of_our_folder_wherever_it_is_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    program = tmp_path / "where"
    program.write_text("#!/bin/sh\npwd\n")
    program.chmod(0o755)

    async def start(command: str) -> Seen:
        seen = Seen()
        await seen.child.start([command], cwd="there")
        await asyncio.wait_for(seen.child.gone.wait(), 15)
        return seen

    assert asyncio.run(start("./where")).lines == [str(tmp_path / "there").encode()]
    with pytest.raises(ChildStartFailed) as failure:
        asyncio.run(start("./gone"))
    why = f"no such command. It is looked for in {tmp_path}, where handfast runs, not in there, where it would run."
    assert str(failure.value) == f"cannot start './gone': {why}"


def test_its_stderr_is_handed_over_where_somebody_asks_for_it() -> None:
    assert b"".join(run("import sys; sys.stderr.write('oh')", stderr=True).errors) == b"oh"


@pytest.mark.parametrize(
    ("command", "cwd", "why"),
    [
        ("no-such-command", None, "no such command. Check the command and the PATH."),
        (sys.executable, "/no/such/folder", "its working folder does not exist. Make it, or correct its cwd."),
        ("/", None, "Permission denied"),
        ("a\0b", None, "null"),
    ],
)
def test_what_cannot_be_started_says_why(command: str, cwd: str | None, why: str) -> None:
    with pytest.raises(ChildStartFailed, match="cannot start") as failure:
        asyncio.run(Seen().child.start([command], cwd=cwd))
    assert why in str(failure.value)


def test_a_flood_is_handed_over_by_turns_in_order_and_whole() -> None:
    """One read may bring thousands of lines, and whatever else the loop has to do would wait for all of them."""

    async def work() -> tuple[list[bytes], int]:
        loop, lines, by_turn = asyncio.get_running_loop(), [], [0]

        def take(line: bytes | OverlongLine) -> None:
            assert isinstance(line, bytes)
            lines.append(line)
            by_turn[-1] += 1

        def next_turn() -> None:
            by_turn.append(0)
            loop.call_soon(next_turn)

        next_turn()
        child = Child(lines=LineAssembler(LIMIT), on_line=take, on_exit=lambda _code: None)
        program = "import sys; sys.stdout.write(''.join(f'{n}\\n' for n in range(20000))); sys.stdout.flush(); input()"
        await child.start([sys.executable, "-c", program])
        while len(lines) < 20_000:  # noqa: ASYNC110 - what is watched here are the loop's own turns
            await asyncio.sleep(0)
        await child.stop()
        return lines, max(by_turn)

    lines, most = asyncio.run(work())
    assert lines == [b"%d" % number for number in range(20_000)]
    assert most <= 2 * 64


@pytest.mark.requirement("F4")
def test_lines_that_are_held_when_the_output_ends_still_come_by_turns() -> None:
    async def work() -> tuple[list[int], list[bytes | OverlongLine], list[int]]:
        seen = Seen()
        await seen.child.start([sys.executable, "-c", "input()"])
        seen.child.pipe_data_received(1, b"".join(b"%d\n" % number for number in range(1000)) + b"rest")
        seen.child.pipe_connection_lost(1, None)
        at_once = len(seen.lines)
        seen.child.close_stdin()
        await asyncio.wait_for(seen.child.gone.wait(), 15)
        return [at_once], seen.lines, seen.codes

    at_once, lines, codes = asyncio.run(work())
    assert at_once == [64]
    assert lines == [*(b"%d" % number for number in range(1000)), b"rest"]
    assert codes != []


def test_a_process_that_closed_its_output_is_ended() -> None:
    """Whatever it still does, it can answer nothing."""
    seen = run("import os, time; os.close(1); time.sleep(60)")
    assert seen.codes == [-15]


@pytest.mark.requirement("F12")
@pytest.mark.parametrize("minds", [True, False], ids=["goes at SIGTERM", "has to be killed"])
def test_what_a_server_started_and_left_behind_is_ended_after_it(minds: bool, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    ignore = "" if minds else "signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    rest = f"import os, signal, time; {ignore}open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    script = f"""
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {rest!r}], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
while not os.path.exists({str(note)!r}): time.sleep(0.01)
"""

    async def work() -> None:
        seen = Seen()
        await seen.child.start([sys.executable, "-c", script])
        await asyncio.wait_for(seen.child.gone.wait(), 15)
        await asyncio.to_thread(eventually, lambda: not is_running(int(note.read_text())), "it is ended")

    asyncio.run(work())


@pytest.mark.requirement("F9")
def test_without_a_descriptor_for_what_watches_it_a_server_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(orphans, "_watcher", None)
    monkeypatch.setattr(os, "pipe", fail)
    with pytest.raises(ChildStartFailed, match="Too many open files"):
        run("print('never')")


@pytest.mark.parametrize("turns", range(6))
def test_who_gives_up_on_a_stop_is_not_kept_by_an_end_that_comes_in_the_same_moment(turns: int) -> None:
    async def work() -> None:
        seen = Seen()
        await seen.child.start([sys.executable, "-c", "import sys; sys.stdin.read()"])
        stopping = asyncio.create_task(seen.child.stop())
        await asyncio.sleep(0)
        seen.child.gone.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        if stopping.cancel():
            await asyncio.wait((stopping,))
            assert stopping.cancelled()
        seen.child.gone.clear()
        await asyncio.wait_for(seen.child.gone.wait(), 15)

    asyncio.run(work())
