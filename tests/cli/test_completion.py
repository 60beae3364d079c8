"""Completion scripts: sourced in the real shells, and asked as a person at the keyboard would ask them."""

import shlex
import shutil
import subprocess

import pytest

from tests.contracts.rig import HANDFAST

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


def script_for(shell: str) -> str:
    done = subprocess.run([*HANDFAST, "completion", shell], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(("line", "offered"), ASKED)
def test_bash_completes_commands_flags_and_their_values(line: str, offered: set[str]) -> None:
    words = line.split()
    asked = f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _handfast"
    script = f"{script_for('bash')}\n{asked}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert (set(done.stdout.split()), done.stderr) == (offered, "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_read_their_script(shell: str) -> None:
    program = shutil.which(shell)
    script = script_for(shell)
    assert "activity" in script
    if program is None:
        pytest.skip(f"{shell} is not installed on this machine")
    subprocess.run([program, "-n", "-c", script], check=True)


def test_a_shell_that_is_not_known_is_wrong_usage() -> None:
    done = subprocess.run([*HANDFAST, "completion", "tcsh"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
