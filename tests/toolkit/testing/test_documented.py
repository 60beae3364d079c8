"""The tests of docs/testing.md, run as they stand there on the server of docs/toolkit.md."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.demo import ROOT


def blocks(page: str, mark: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.findall(rf"<!-- {mark} -->\n```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_what_the_page_shows_passes(tmp_path: Path) -> None:
    (server,) = blocks("toolkit.md", "server")
    (tmp_path / "contacts.py").write_text(server, "utf-8")
    shown = blocks("testing.md", "tests")
    for number, source in enumerate(shown):
        (tmp_path / f"test_page_{number}.py").write_text(source, "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-W",
        "error",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
    ]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100, check=False)
    assert f"\n{len(shown)} passed" in done.stdout, done.stdout + done.stderr
    assert len(shown) == 3
