"""The commands' event loop: uvloop where there is one, asyncio's own elsewhere."""

import asyncio
import os
import pty
import subprocess
import sys

import pytest

from handfast.cli.shared.running import run_async, waiting_for


async def loop_module() -> str:
    return type(asyncio.get_running_loop()).__module__


def test_work_runs_on_uvloop() -> None:
    assert run_async(loop_module()).partition(".")[0] == "uvloop"


def test_without_uvloop_it_runs_on_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)  # how Python says that a module cannot be imported
    assert run_async(loop_module()).partition(".")[0] == "asyncio"


_SLOW = """
import asyncio
from handfast.cli.shared.running import waiting_for

async def work():
    async with waiting_for("memory"):
        await asyncio.sleep({seconds})

asyncio.run(work())
"""


def on_terminal(seconds: float) -> bytes:
    """What the waiting line writes to a terminal's stderr."""
    own, its = pty.openpty()
    try:
        subprocess.run([sys.executable, "-c", _SLOW.format(seconds=seconds)], stderr=its, check=True, timeout=30)
        os.write(its, b"<end>")
        seen = b""
        while b"<end>" not in seen:
            seen += os.read(own, 4096)
        return seen.removesuffix(b"<end>")
    finally:
        os.close(own)
        os.close(its)


def test_a_long_wait_is_told_on_a_terminal_and_wiped_at_its_end() -> None:
    seen = on_terminal(1.3)
    assert b"waiting for memory ... 1 s" in seen
    assert seen.endswith(b"\r\x1b[K")


def test_a_short_wait_says_nothing() -> None:
    assert on_terminal(0.1) == b""


def test_nothing_is_written_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        async with waiting_for("memory"):
            await asyncio.sleep(1.2)

    asyncio.run(work())
    assert capsys.readouterr() == ("", "")
