"""scripts/setup and scripts/serve in a fresh checkout: what is installed, and what they say where they cannot."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.demo import ROOT, running_demo

REQUIREMENTS = ROOT / "requirements"
# pip's settings of this machine may name places beside the index.
NO_NETWORK = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_EXTRA_INDEX_URL": "",
    "PIP_FIND_LINKS": "",
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",  # the port of `discard`, where nothing listens
    "PIP_NO_CACHE_DIR": "1",
    "PIP_RETRIES": "1",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that would be committed, as a clone has them."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    copy = "git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - --ignore-failed-read"
    subprocess.run(["bash", "-c", f'{copy} 2>/dev/null | tar -xf - -C "$0"', folder], cwd=ROOT, check=True)
    return folder


def run(folder: Path, *command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | variables
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
    )


def pins(name: str) -> dict[str, str]:
    """The entries of a lock by name: version and hashes."""
    text = (REQUIREMENTS / name).read_text("utf-8")
    return {re.split(r"==", entry)[0]: entry for entry in re.split(r"\n(?=\S)", text.rstrip("\n"))}


def test_what_serving_needs_is_locked_as_for_the_tests() -> None:
    serving, everything = pins("serve.txt"), pins("dev.txt")
    assert serving.items() <= everything.items()
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    assert {re.split(r"[^\w-]", requirement)[0] for requirement in declared} <= set(serving)
    assert serving.keys() & {"mcp", "mypy", "pydantic", "pytest", "ruff"} == set()


@pytest.mark.timeout(300)
def test_serve_installs_what_serving_needs_and_tests_install_the_rest(checkout: Path, tmp_path: Path) -> None:
    with running_demo(tmp_path / "state", root=checkout) as demo:
        caught = run(checkout, "bash", "-c", demo.commands[3])
    assert "Argument 'data' is not a declared field" in caught.stdout
    listed = run(checkout, ".venv/bin/python", "-m", "pip", "list", "--format=freeze").stdout
    installed = {line.partition("==")[0].replace("_", "-") for line in listed.splitlines() if "==" in line}
    assert installed - {"handfast", "pip", "setuptools"} == set(pins("serve.txt"))

    assert run(checkout, "scripts/setup", "serve", **NO_NETWORK).returncode == 0  # nothing is missing for serving
    tests = run(checkout, "scripts/test", "tests/test_clock.py", **NO_NETWORK)
    assert tests.returncode == 1
    assert tests.stderr.startswith("Setting up .venv (once; about a minute) ...\nSetting up .venv failed: ")


@pytest.mark.parametrize("script", ["scripts/serve", "scripts/setup"])
def test_without_a_network_one_line_says_what_to_do(checkout: Path, script: str) -> None:
    ran = run(checkout, script, **NO_NETWORK)
    assert (ran.returncode, ran.stdout) == (1, "")
    said = "Setting up .venv failed: pip cannot reach its package index. Check the network and pip's settings, and"
    assert ran.stderr.splitlines()[1:] == [f"{said} run again; all that pip said is in .venv/setup.log."]
    assert "Connection refused" in (checkout / ".venv" / "setup.log").read_text("utf-8")


PYTHON_THAT_IS_OLD = "exit 1"  # as `sys.exit(sys.version_info < (3, 11))` does there
PYTHON_WITHOUT_VENV = '[[ "$2" != *venv* ]]'  # Debian has the module in a package of its own


UNFIT = {
    "old": (PYTHON_THAT_IS_OLD, "handfast needs Python 3.11 or newer. Install it, or set PYTHON="),
    "without venv": (PYTHON_WITHOUT_VENV, "python3 cannot make virtual environments. Install its venv package ("),
}


@pytest.mark.parametrize(("python", "said"), UNFIT.values(), ids=UNFIT)
def test_a_python_that_will_not_do_is_one_line(checkout: Path, tmp_path: Path, python: str, said: str) -> None:
    for name in ("python3", *(f"python3.{minor}" for minor in range(11, 15)), "python"):
        stub = tmp_path / "bin" / name
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(f"#!/bin/bash\n{python}\n")
        stub.chmod(0o755)
    ran = run(checkout, "scripts/serve", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}", PYTHON="")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert ran.stderr.startswith(said)
    assert not (checkout / ".venv").exists()
