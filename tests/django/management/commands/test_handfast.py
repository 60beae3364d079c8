"""`manage.py handfast` itself: help, wrong usage, and flags wherever they stand."""

from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from handfast.django.management.commands.handfast import Command
from tests.django.fresh_project import Project, make_project

SUBCOMMANDS = ("doctor", "client-config", "empty-rows")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("project"))


def test_alone_it_prints_help_with_the_subcommands(project: Project) -> None:
    ended = project.manage("handfast")
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.startswith("usage: manage.py handfast ")
    assert [name for name in SUBCOMMANDS if f"    {name} " not in ended.stdout] == []


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_help_of_a_subcommand_is_about_it_alone(project: Project, name: str) -> None:
    ended = project.manage("handfast", name, "--help")
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"usage: manage.py handfast {name} ")
    assert "--pythonpath" not in ended.stdout


NOT_A_DATE = "argument --since: write a date such as 2026-03-01 or 2026-03-01T12:00"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--no-such-flag"], "unrecognized arguments: --no-such-flag"),
        (["doctor", "--no-such-flag"], "unrecognized arguments: --no-such-flag"),
        (["nurse"], "argument COMMAND: invalid choice: nurse (choose from doctor, client-config, token, empty-rows)"),
        (["doctor", "--tool"], "argument --tool: expected one argument"),
        (["empty-rows", "--since", "soon"], NOT_A_DATE),
        (["empty-rows", "--since", "2026-02-31"], NOT_A_DATE),
    ],
)
def test_a_wrong_flag_is_one_line_and_exit_code_two(project: Project, words: list[str], said: str) -> None:
    ended = project.manage("handfast", *words)
    # What is only unknown is told by the command itself, everything else by the subcommand.
    name = "manage.py handfast" if said.startswith(("unrec", "argument COMMAND")) else f"manage.py handfast {words[0]}"
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.replace("'", "") == f"{name}: {said}; see: {name} --help\n"  # not every Python quotes choices


def test_flags_of_every_command_may_stand_on_both_sides(project: Project) -> None:
    flags = ["--settings", "settings", "--pythonpath", ".", "--no-color", "--traceback", "--verbosity", "0"]
    before = project.manage("handfast", *flags, "client-config")
    assert before.code == 0
    assert before == project.manage("handfast", "client-config", *flags)


def test_it_runs_where_a_check_would_stop_other_commands(project: Project, tmp_path: Path) -> None:
    broken = make_project(tmp_path)
    broken.add("settings.py", 'HANDFAST = {"NAMES": "shop"}\n')
    assert broken.manage("makemigrations", "--check", "--dry-run").code == 1
    assert "handfast.E010" in broken.manage("handfast", "doctor").stdout


def test_called_from_code_wrong_usage_is_an_exception() -> None:
    with pytest.raises(CommandError, match="unrecognized arguments: --nope"):
        call_command(Command(), "doctor", "--nope")
    with pytest.raises(CommandError, match="expected one argument"):
        call_command(Command(), "doctor", "--tool")
