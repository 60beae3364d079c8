"""`handfast` itself: help, version, wrong usage, and what each command costs to start."""

import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from handfast import __version__
from handfast.cli.main import COMMANDS
from tests.cli.conftest import Ran

Run = Callable[..., Ran]


def test_the_help_names_every_command_and_the_exit_codes(handfast: Run) -> None:
    ran = handfast("--help")
    assert (ran.code, ran.err) == (0, "")
    assert [name for name in COMMANDS if not re.search(rf"^    {name}\s", ran.out, re.MULTILINE)] == []
    assert "exit codes: 0 fine; 1 something failed or was found; 2 wrong usage." in ran.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_its_flags(handfast: Run, command: str) -> None:
    ran = handfast(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"usage: handfast {command}")


def test_without_a_command_the_help_is_shown_and_it_counts_as_wrong_usage(handfast: Run) -> None:
    ran = handfast()
    assert (ran.code, ran.out) == (2, handfast("--help").out)


def test_the_version_is_the_packages(handfast: Run) -> None:
    ran = handfast("--version")
    assert (ran.code, ran.out) == (0, f"handfast {__version__}\n")


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (["serv"], "argument COMMAND: invalid choice: 'serv'"),
        (["serve", "--bogus"], "unrecognized arguments: --bogus"),
        (["serve", "extra"], "unrecognized arguments: extra"),
        (["wrap", "--input", "odd", "--", "cat"], "argument --input: invalid choice: 'odd'"),
        (["wrap", "--bogus", "--", "cat"], "unrecognized arguments: --bogus"),
        (["wrap"], "wrap needs a command after --"),
        (["wrap", "--"], "wrap needs a command after --"),
        (["call"], "the following arguments are required: server"),
        (["call", "contacts"], "call needs a tool after the server, or SERVER__TOOL"),
        (["call", "contacts", "x", "--bogus"], "unrecognized arguments: --bogus"),
        (["call", "contacts", "x", "-o", "xml"], "argument -o/--output: invalid choice: 'xml'"),
        (["tools", "a", "b"], "unrecognized arguments: b"),
        (["servers", "a"], "unrecognized arguments: a"),
        (["call", "contacts", "\udcff"], "argument tool: it is not UTF-8"),
        (["tools", "\udcff"], "argument server: it is not UTF-8"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(handfast: Run, words: list[str], about: str) -> None:
    ran = handfast(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"handfast: {about}")
    assert ran.err.count("\n") == 1


@pytest.mark.requirement("P7")
@pytest.mark.parametrize("command", ["wrap", "serve"])
def test_a_command_does_not_load_the_others(command: str) -> None:
    script = (
        "import sys; from handfast.cli.main import main\n"
        f"try: main(['{command}', '--help'])\n"
        "except SystemExit: pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    commands = {f"handfast.cli.{name}" for name in COMMANDS}
    assert loaded & (commands | {"pydantic", "mcp", "uvicorn", "asyncio"}) == {f"handfast.cli.{command}"}


def test_it_runs_as_a_module_and_passes_its_exit_code_on() -> None:
    command = [sys.executable, "-m", "handfast.cli.main", "call"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
