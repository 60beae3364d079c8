"""The session in the README of the example is what happens."""

import os
import re
import subprocess
from pathlib import Path

from tests.demo import HANDFAST, ROOT
from tests.examples.contacts.running import EXAMPLE, Project, serving
from tests.test_documents import fits, steps

README = EXAMPLE / "README.md"
SESSION = re.compile(r"^<!-- session -->\n```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_session_of_the_readme_is_what_is_printed(tmp_path: Path) -> None:
    text = README.read_text("utf-8")
    session = [step for block in SESSION.findall(text) for step in steps(block)]
    assert len(session) > 8
    assert "export HANDFAST_CONFIG=examples/contacts/handfast.json" in text
    project = Project(tmp_path / "state")
    project.state.mkdir()
    with serving(project) as served:
        environment = project.environment | {
            "PATH": f"{HANDFAST.parent}:{os.environ['PATH']}",
            "HANDFAST_CONFIG": "examples/contacts/handfast.json",
            "HANDFAST_STATE": str(tmp_path / "gateway"),
            "CONTACTS_URL": f"{served.url}/mcp/",
            "CONTACTS_TOKEN": served.token("agent"),
        }
        for step in session:
            words = ["bash", "-c", step.command.replace("examples/contacts/.state", str(project.state))]
            done = subprocess.run(
                words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
            )
            printed = [line for line in (done.stderr + done.stdout).splitlines() if line != "The call failed:"]
            assert fits(step.shown, printed), f"$ {step.command}\n{done.stdout}{done.stderr}"
