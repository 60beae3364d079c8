"""A process that was forked from a template is what a new interpreter would be."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any  # Any: JSON that a process printed

import pytest

from tests.prepared import PARTS, STUB, PreparedPopen, modules_for

# It names handfast, as programs do that are forked, and prints what a process can know of how it began.
PROGRAM = """
import json, os, sys, threading, warnings
print(json.dumps({
    "arguments": sys.argv,
    "path": sys.path,
    "folder": os.getcwd(),
    "environment": dict(os.environ),
    "parent": os.getppid(),
    "own session": os.getsid(0) == os.getpid(),
    "own group": os.getpgid(0) == os.getpid(),
    "open files": sorted(map(int, os.listdir("/proc/self/fd"))),
    "input": sys.stdin.read(),
    "streams": [
        [each.encoding, each.errors, each.line_buffering, each.write_through, each.isatty(), each.fileno()]
        for each in (sys.stdin, sys.stdout, sys.stderr)
    ],
    "first streams": [sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__],
    "main": [__name__, __import__("__main__").__dict__ is globals()],
    "threads": threading.active_count(),
    "filters": [str(each[:3]) for each in warnings.filters],
    "umask": os.umask(0),
}))
sys.stderr.write("\\n" + open("/proc/self/cmdline").read())
sys.exit(3)
"""
USUAL = {"PYTHONUNBUFFERED": ""}
UNUSUAL = {"PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "error", "GIVEN": "é"}


@pytest.fixture(params=["-c", "-m", "file"])
def words(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """The program in each way that Python has of running one."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "probe.py").write_text(PROGRAM)
    given = {"-c": ["-c", f"# handfast\n{PROGRAM}"], "-m": ["-m", "tests.probe"], "file": [str(folder / "probe.py")]}
    return [sys.executable, *given[request.param], "an argument", "--flag"]


def outcome(words: list[str], *, is_forked: bool, **options: Any) -> tuple[int, Any]:
    """How a process ended, and what it printed."""
    before, PreparedPopen.is_in_use = PreparedPopen.is_in_use, is_forked
    try:
        for _ in range(3 if is_forked else 1):
            PreparedPopen.make_templates()  # for what was started twice
            done = subprocess.run(words, capture_output=True, encoding="utf-8", input="given\n", timeout=60, **options)
    finally:
        PreparedPopen.is_in_use = before
    assert ("prepared.py" in done.stderr) is is_forked, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("given", [USUAL, UNUSUAL], ids=["usual", "unusual"])
def test_a_fork_begins_as_a_new_interpreter_does(words: list[str], given: dict[str, str], tmp_path: Path) -> None:
    options = {"env": {**os.environ, **given}, "cwd": tmp_path, "start_new_session": given is UNUSUAL, "check": False}
    code, forked = outcome(words, is_forked=True, **options)
    usual_code, started = outcome(words, is_forked=False, **options)
    assert {name: (forked[name], started[name]) for name in started if forked[name] != started[name]} == {}
    assert (code, usual_code) == (3, 3)
    assert (forked["parent"], forked["input"]) == (os.getpid(), "given\n")


def test_a_fork_is_a_child_that_can_be_signalled_and_waited_for() -> None:
    code = "import signal, sys  # handfast\nprint('ready', flush=True)\nsignal.pause()"
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        PreparedPopen.make_templates()
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(number)
            assert process.wait(10) == -number
        with pytest.raises(ChildProcessError):
            os.waitpid(process.pid, 0)


def test_a_fork_can_be_awaited() -> None:
    async def ended() -> tuple[bytes, int | None]:
        code = "import sys  # handfast\nprint(sys.stdin.read().upper())\nsys.exit(4)"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await process.communicate(b"said")
        return said, process.returncode

    for _ in range(3):
        PreparedPopen.make_templates()
        assert asyncio.run(ended()) == (b"SAID\n", 4)


@pytest.mark.parametrize(
    ("words", "modules"),
    [
        ([sys.executable, "-m", "handfast.cli.main", "serve"], "gateway"),
        ([sys.executable, STUB, "http-json"], "gateway"),
        ([sys.executable, "manage.py", "check"], "tools"),
        ([sys.executable, "-m", "darkroom.renderer"], "renderer"),
        ([PARTS, "-m", "tests.real.witness_server"], "parts"),
        ([sys.executable, "-c", "print()"], None),
        ([sys.executable, "-c", "import handfast, sys; print(sys.modules)"], None),
        ([sys.executable, "-m", "pytest"], None),
        ([sys.executable, "-I", "manage.py"], None),
        ([sys.executable], None),
        (["node", "manage.py"], None),
        ([], None),
    ],
)
def test_a_command_is_forked_where_importing_is_most_of_its_start(words: list[str], modules: str | None) -> None:
    assert modules_for(words) == modules
