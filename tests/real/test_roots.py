"""server-filesystem takes its folders from the client's roots: one client's never become another's access."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.contracts.rig import serve
from tests.parts import PYTHON, Parts
from tests.real.gateways import wrap_command

DRIVER = Path(__file__).parent / "roots_client.py"


@pytest.mark.requirement("P1")
@pytest.mark.parametrize("route", ["wrap", "serve"])
def test_each_client_sees_its_own_roots_and_no_other(parts: Parts, tmp_path: Path, route: str) -> None:
    home, a, b = tmp_path / "home", tmp_path / "a", tmp_path / "b"
    for folder in (home, a, b):
        folder.mkdir()
        (folder / "own.txt").write_text(folder.name)
    command = parts.filesystem(home)
    if route == "wrap":
        seen = run_clients(wrap_command(tmp_path, command)[0], a, b)
    else:
        entry = {"command": command[0], "args": command[1:]}
        with serve({"mcpServers": {"files": entry}}, tmp_path) as base:
            seen = run_clients(f"{base}/mcp/files", a, b)
    assert seen == {
        "none": {"allowed": [str(home)], "read": []},
        "a": {"allowed": [str(a)], "read": ["a"]},
        "b": {"allowed": [str(b)], "read": ["b"]},
    }


def run_clients(target: str, *roots: Path) -> object:
    command = [str(PYTHON), str(DRIVER), target, *map(str, roots)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
