"""The session that the README shows, pasted and compared."""

import os
import re
import subprocess
from pathlib import Path

from tests.demo import HANDFAST, ROOT
from tests.test_documents import fits, steps

README = ROOT / "examples" / "darkroom" / "README.md"


def test_the_session_of_the_readme_is_what_is_printed(tmp_path: Path) -> None:
    shown = re.search(r"<!-- session -->\n```console\n(.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert shown is not None
    export, *session = steps(shown[1])
    assert len(session) == 9
    environment = os.environ | {
        "PATH": f"{HANDFAST.parent}:{os.environ['PATH']}",
        "HANDFAST_STATE": str(tmp_path / "state"),
        "DARKROOM_WORKSPACE": str(tmp_path / "workspace"),
    }
    for step in session:
        # Each line is a shell of its own here, so each is told what the first one exported. stderr is for the operator.
        command = ["bash", "-c", f"{export.command}; {step.command}"]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert fits(step.shown, done.stdout.splitlines()), "\n".join([step.command, done.stdout, done.stderr])
    assert [path.suffix for path in (tmp_path / "workspace" / "exports").iterdir()] == [".png"]
