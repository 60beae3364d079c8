"""The waiting line: seen on a terminal once it takes longer than a second, never elsewhere."""

import asyncio
import os
import pty
import subprocess
import sys

import pytest

from handfast.cli.waiting import waiting_for

_SLOW = """
import asyncio
from handfast.cli.waiting import waiting_for

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
