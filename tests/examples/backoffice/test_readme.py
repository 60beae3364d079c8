"""The session in the README of the back office is what happens."""

import os
import re
import subprocess
from pathlib import Path

from tests.demo import ROOT
from tests.examples.backoffice.offices import EXAMPLE
from tests.test_documents import fits, steps

README = EXAMPLE / "README.md"
SESSION = re.compile(r"^<!-- session -->\n```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_session_of_the_readme_is_what_is_printed(tmp_path: Path) -> None:
    own = tmp_path / "own"
    environment = os.environ | {
        "NO_COLOR": "1",
        "HANDFAST_STATE": str(tmp_path / "gateway"),
        "HANDFAST_BACKOFFICE_DB": str(tmp_path / "office.db"),
        "HANDFAST_BACKOFFICE_STATE": str(own),
    }
    text = README.read_text("utf-8")
    before_it = "".join(re.findall(r"^export .*\n", text, re.MULTILINE))
    session = [step for block in SESSION.findall(text) for step in steps(block)]
    assert len(session) > 8
    for step in session:
        words = ["bash", "-c", before_it + step.command.replace(".state/backoffice", str(own))]
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert fits(step.shown, done.stdout.splitlines()), f"$ {step.command}\n{done.stdout}{done.stderr}"
