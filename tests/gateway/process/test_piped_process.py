"""A process on the event loop: its end is noticed on every system, and one that cannot be used does not stay."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
from typing import BinaryIO, cast

import pytest

from handfast.gateway.process.piped_process import start_process
from tests.gateway.http_servers import LOOPS
from tests.gateway.running import eventually, is_running


class Told(asyncio.SubprocessProtocol):
    def __init__(self) -> None:
        self.process: asyncio.SubprocessTransport | None = None
        self.output = b""
        self.pipes: set[int] = set()
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self.process = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.output += data
        self.pipes.add(fd)

    def process_exited(self) -> None:
        self.ended.set()


async def start(told: Told, script: str) -> None:
    command = [sys.executable, "-c", script]
    await start_process(told, command, env=None, cwd=None, reads_stderr=True, leads_session=True)


@pytest.mark.requirement("F7")
@pytest.mark.parametrize("has_pidfd", [True, False])
def test_its_output_and_its_end_are_told(monkeypatch: pytest.MonkeyPatch, has_pidfd: bool) -> None:
    if not has_pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)

    async def run() -> tuple[bytes, set[int], int | None]:
        told = Told()
        await start(told, "import sys; sys.stdin.read(); print('out'); sys.exit(3)")
        assert told.process is not None
        stdin = told.process.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        stdin.close()
        await asyncio.wait_for(told.ended.wait(), 15)
        for _ in range(100):
            if told.output.endswith(b"\n"):
                break
            await asyncio.sleep(0.01)
        code = told.process.get_returncode()
        told.process.close()
        return told.output, told.pipes, code

    assert asyncio.run(run()) == (b"out\n", {1}, 3)


class HoldsBack(Told):
    """Reads nothing after the first data of the process, which it has printed before its pipes are connected."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self.process is not None
        os.waitid(os.P_PID, self.process.get_pid(), os.WSTOPPED | os.WNOWAIT)
        self.process.send_signal(signal.SIGCONT)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        assert self.process is not None
        self.reads += 1
        pipe = self.process.get_pipe_transport(fd)
        if pipe is not None:
            cast("asyncio.ReadTransport", pipe).pause_reading()  # uvloop's pipes are not declared as such


@pytest.mark.requirement("F9")
@pytest.mark.parametrize("loop", list(LOOPS))
def test_a_process_that_prints_at_once_is_held_back_at_once(loop: str) -> None:
    script = """
import os, signal
os.set_blocking(1, False)
try:
    while True: os.write(1, b"x" * 4096)
except BlockingIOError: pass
os.set_blocking(1, True)
os.kill(os.getpid(), signal.SIGSTOP)
while True: os.write(1, b"x" * 4096)
"""

    async def run() -> int:
        told = HoldsBack()
        await start(told, script)
        await asyncio.sleep(0.3)
        assert told.process is not None
        told.process.close()
        await asyncio.wait_for(told.ended.wait(), 15)
        return told.reads

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        assert runner.run(run()) == 1


@pytest.mark.requirement("F7")
def test_one_whose_pipes_cannot_be_used_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> int:
        told = Told()
        loop = asyncio.get_running_loop()

        async def fail(_: object, pipe: BinaryIO) -> None:
            pipe.close()
            raise OSError(24, "Too many open files")

        monkeypatch.setattr(loop, "connect_write_pipe", fail)
        with pytest.raises(OSError, match="Too many open files"):
            await start(told, "import time; time.sleep(60)")
        await asyncio.wait_for(told.ended.wait(), 15)
        assert told.process is not None
        return told.process.get_pid()

    pid = asyncio.run(run())
    eventually(lambda: not is_running(pid), "its end")


# Short of all pipes being connected they end, or nobody wants them any more: a file that is closed while the loop takes
# it up ends uvloop's whole process.
HASTE = """
import asyncio, sys
from tests.gateway.http_servers import LOOPS
from handfast.gateway.process.child import Child
from handfast.wire.lines import LineAssembler

async def start(command, turns):
    child = Child(lines=LineAssembler(1000), on_line=print, on_exit=lambda code: None, on_stderr=lambda data: None)
    starting = asyncio.ensure_future(child.start(command))
    if turns is not None:
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
    await asyncio.wait([starting])
    if turns is None or starting.cancelled():
        await asyncio.wait_for(child.gone.wait(), 20)
    else:
        await child.stop()

async def main():
    await asyncio.gather(*(start(["false"], None) for _ in range(60)))
    await asyncio.gather(*(start(["sleep", "60"], turns) for turns in range(1, 9) for _ in range(3)))
    print("all are gone")

with asyncio.Runner(loop_factory=LOOPS[sys.argv[1]]) as runner:
    runner.run(main())
"""


@pytest.mark.requirement("F7")
@pytest.mark.parametrize("loop", list(LOOPS))
def test_processes_that_end_or_are_given_up_while_they_start_cost_nobody_else(loop: str) -> None:
    done = subprocess.run([sys.executable, "-c", HASTE, loop], capture_output=True, check=False, timeout=100)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (0, b"all are gone\n", "")


@pytest.mark.requirement("F7")
@pytest.mark.parametrize("loop", list(LOOPS))
def test_a_start_that_is_given_up_closes_no_descriptor_of_anybody_else(loop: str) -> None:
    opened: list[tuple[int, int]] = []

    async def give_up_after(turns: int) -> None:
        told = Told()
        starting = asyncio.ensure_future(start(told, "import sys; sys.stdin.read()"))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait((starting,))
        if told.process is None:
            return
        told.process.close()
        await asyncio.wait_for(told.ended.wait(), 15)
        for _ in range(3):
            await asyncio.sleep(0)  # until the loop has closed its pipes
        free = [end for _ in range(4) for end in os.pipe()]  # the numbers that have become free
        opened.extend((end, os.fstat(end).st_ino) for end in free)

    async def run() -> None:
        for turns in range(1, 9):
            await give_up_after(turns)

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(run())
    gc.collect()
    try:
        assert [os.fstat(end).st_ino for end, _ in opened] == [number for _, number in opened]
    finally:
        for end, _ in opened:
            os.close(end)
