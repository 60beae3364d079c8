"""The commands' event loop: uvloop where there is one, asyncio's own elsewhere."""

import asyncio
import sys

import pytest

from handfast.cli.event_loop import run_async


async def loop_module() -> str:
    return type(asyncio.get_running_loop()).__module__


def test_work_runs_on_uvloop() -> None:
    assert run_async(loop_module()).partition(".")[0] == "uvloop"


def test_without_uvloop_it_runs_on_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)  # how Python says that a module cannot be imported
    assert run_async(loop_module()).partition(".")[0] == "asyncio"
