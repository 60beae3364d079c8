"""docs/access.md from its first command to its last, as a reader would type them."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.demo import HANDFAST, ROOT
from tests.test_documents import fits, paste, steps

PAGE = (ROOT / "docs" / "access.md").read_text("utf-8")
PART = re.compile(r"<!-- (file: handfast\.json|serve|typed) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def printed_by(command: str, folder: Path, state: dict[str, str]) -> list[str]:
    lines = paste(command, folder, **state).stdout.splitlines()
    return [re.sub(r"\b[0-9a-f]{16}$", "…", line) for line in lines]


def test_a_team_gets_from_one_laptop_to_a_shared_gateway(tmp_path: Path) -> None:
    parts = PART.findall(PAGE)
    assert [how for how, _ in parts] == ["file: handfast.json", "typed", "serve", "typed", "typed"]
    state = {"HANDFAST_STATE": str(tmp_path / "state")}
    gateway = None
    url = ""
    try:
        for how, text in parts:
            if how.startswith("file"):
                settings = json.loads(text.replace("examples/demo", str(ROOT / "examples" / "demo")))
                settings["mcpServers"]["contacts"]["command"] = sys.executable
                (tmp_path / "handfast.json").write_text(json.dumps(settings))
            elif how == "serve":
                words = text.split()[1:]
                gateway = subprocess.Popen(
                    [str(HANDFAST), *words, "--listen", "127.0.0.1:0", "--state", state["HANDFAST_STATE"]],
                    cwd=tmp_path,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                assert gateway.stderr is not None
                url = gateway.stderr.readline().split()[-1]
            else:
                for step in steps(text):
                    typed = step.command.replace("http://127.0.0.1:8480", url)
                    lines = printed_by(typed, tmp_path, state)
                    if not fits(step.shown, lines) and "activity" in typed:
                        time.sleep(1)  # refusals are recorded behind their answers
                        lines = printed_by(typed, tmp_path, state)
                    assert fits(step.shown, lines), "\n".join([f"$ {step.command}", *lines])
    finally:
        if gateway is not None:
            gateway.terminate()
            gateway.communicate(timeout=20)
