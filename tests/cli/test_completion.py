"""Completion scripts: sourced in the real shells, and asked as a person at the keyboard would ask them."""

import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contracts.rig import HANDFAST
from tests.parts import FOLDER, PartMissing, install, without_part

ASKED = [
    ("handfast ac", {"activity"}),
    ("handfast activity su", {"summary"}),
    ("handfast wrap --inp", {"--input"}),
    ("handfast wrap --input s", {"strict"}),
    ("handfast activity sh", {"show"}),
    ("handfast completion z", {"zsh"}),
    ("handfast serve --list", {"--listen"}),
    ("handfast wrap -- act", set()),
]
UNPACKED = FOLDER / "shells"


def script_for(shell: str) -> str:
    done = subprocess.run([*HANDFAST, "completion", shell], capture_output=True, text=True, check=True)
    return done.stdout


def shell_with_functions(shell: str) -> tuple[str, Path]:
    """The program, and where its own functions are: the one that is installed, or Debian's."""
    program = shutil.which(shell)
    if program is not None:
        return program, Path("/usr/share")
    try:
        install("shells")
    except PartMissing as problem:
        without_part(str(problem))
    return str(UNPACKED / shell), UNPACKED / "usr" / "share"


def ask(program: str, flag: str, script: str, folder: Path) -> str:
    done = subprocess.run(
        [program, flag, script], capture_output=True, text=True, check=True, env={"HOME": str(folder), "PATH": "/bin"}
    )
    assert done.stderr == ""
    return done.stdout


def as_bash(line: str) -> str:
    """What a shell with bash's way of completion asks, and prints."""
    words = line.split()
    asked = f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; COMPREPLY=(); _handfast"
    return f"{asked}; printf '%s\\n' \"${{COMPREPLY[@]}}\""


def ask_bash(line: str, folder: Path) -> set[str]:
    return set(ask("bash", "-c", f"{script_for('bash')}\n{as_bash(line)}", folder).split())


def ask_zsh(line: str, folder: Path) -> set[str]:
    program, share = shell_with_functions("zsh")
    own = "fpath=(%s/zsh/**/functions/**/(/N) %s/zsh/functions/**/(/N))" % ((shlex.quote(str(share)),) * 2)
    found = ask(program, "-c", f"{own}\n{script_for('zsh')}\nemulate sh\n{as_bash(line)}", folder)
    return {word for word in found.split() if word.startswith(line.split()[-1])}  # zsh itself leaves out the others


def ask_fish(line: str, folder: Path) -> set[str]:
    program, share = shell_with_functions("fish")
    own = f"set -p fish_function_path {share}/fish/functions"
    offered = ask(program, "-c", f"{own}\n{script_for('fish')}\ncomplete -C {shlex.quote(line)}", folder)
    return {word.partition("\t")[0] for word in offered.splitlines()} - {""}


@pytest.mark.parametrize(("line", "offered"), ASKED)
@pytest.mark.parametrize("ask_shell", [ask_bash, ask_zsh, ask_fish])
def test_a_shell_completes_commands_flags_and_their_values(
    tmp_path: Path, ask_shell: Callable[[str, Path], set[str]], line: str, offered: set[str]
) -> None:
    assert ask_shell(line, tmp_path) == offered


def test_a_shell_that_is_not_known_is_wrong_usage() -> None:
    done = subprocess.run([*HANDFAST, "completion", "tcsh"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
