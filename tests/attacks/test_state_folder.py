"""Other users of the machine: the state folder of a running handfast is closed to them, or handfast does not run."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contracts.rig import HANDFAST
from tests.gateway.running import TEXT, running, stdio, wrapping
from tests.stubs.run import answer, tool, write_stub


def command(kind: str, folder: Path) -> list[str]:
    """A way to start handfast on the folder `state`, which would go on if it could."""
    config = folder / "handfast.json"
    config.write_text(json.dumps({"listen": "127.0.0.1:1", "mcpServers": {"up": {"command": "cat"}}}))
    flags = ["--config", str(config), "--state", str(folder / "state")]
    return {
        "wrap": [*HANDFAST, "wrap", *flags, "--", "cat"],
        "serve": [*HANDFAST, "serve", *flags, "--listen", "127.0.0.1:0"],
        "call": [*HANDFAST, "call", "up", "x", *flags],
    }[kind]


def share(folder: Path) -> None:
    folder.chmod(0o777)


def link_store(folder: Path) -> None:
    (folder / "activity.db").symlink_to(folder.parent / "elsewhere")


def link_catalog(folder: Path) -> None:
    (folder / "catalog.db").symlink_to(folder.parent / "elsewhere")


@pytest.mark.requirement("S10")
@pytest.mark.parametrize("kind", ["wrap", "serve", "call"])
@pytest.mark.parametrize("spoil", [share, link_store, link_catalog])
def test_what_others_may_change_is_refused_at_the_start_in_one_line(
    tmp_path: Path, kind: str, spoil: Callable[[Path], None]
) -> None:
    (tmp_path / "state").mkdir()
    spoil(tmp_path / "state")
    done = subprocess.run(
        command(kind, tmp_path), capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)
    assert done.stderr.startswith(f"handfast: {tmp_path / 'state'}".encode())
    assert b" run: " in done.stderr
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.requirement("S10")
@pytest.mark.parametrize("kind", ["wrap", "serve"])
def test_every_file_of_a_running_gateway_is_its_owners_alone(tmp_path: Path, kind: str) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    before = os.umask(0)
    try:
        with wrapping(stub.command, tmp_path) if kind == "wrap" else running({"up": stdio(stub)}, tmp_path) as gateway:
            client = gateway if kind == "wrap" else gateway.client()  # type: ignore[union-attr]  # of the other kind
            client.call("add")  # type: ignore[union-attr]  # as above
            found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state").iterdir()}
    finally:
        os.umask(before)
    assert found == {f"{name}.db{end}": 0o600 for name in ("activity", "catalog") for end in ("", "-wal", "-shm")}
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


@pytest.mark.requirement("S10")
def test_a_server_of_the_toolkit_refuses_a_shared_folder_too(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    script = "from handfast.toolkit.running.recording import open_recorder\nimport sys\nopen_recorder(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(
        f"{tmp_path} may be written by other users. Choose another state folder, or run: chmod 700 {tmp_path}"
    )
