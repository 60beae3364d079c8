"""The command in this process, in an empty folder and without settings; and a gateway with the demo behind it."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from handfast.cli.main import main
from tests.contracts.rig import serve

DEMO = Path(__file__).parents[2] / "examples" / "demo" / "contacts.py"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def handfast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `handfast WORDS…`; settings and state are looked for in the test's own folder."""
    for name in os.environ:
        if name.startswith("HANDFAST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HANDFAST_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Ran:
        try:
            code = main(words)
        except SystemExit as ended:  # argparse: help, version and wrong usage
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


def demo_entry(folder: Path) -> dict[str, object]:
    return {"command": sys.executable, "args": [str(DEMO), str(folder / "contacts.db")]}


@dataclass(frozen=True, slots=True)
class DemoGateway:
    url: str
    folder: Path

    @property
    def state(self) -> Path:
        return self.folder / "state"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoGateway]:
    """A running gateway: `contacts` works, `broken` cannot be started, `gone` is not there, `off` is disabled."""
    folder = tmp_path_factory.mktemp("demo")
    with serve(demo_settings(folder), folder) as url:
        yield DemoGateway(url, folder)


def demo_settings(folder: Path) -> dict[str, object]:
    return {
        "mcpServers": {
            "contacts": demo_entry(folder),
            "broken": {"command": "no-such-command"},
            "gone": {"url": "http://127.0.0.1:1/mcp"},
            "off": {"url": "http://127.0.0.1:1/mcp", "disabled": True},
        }
    }


@pytest.fixture
def settings_file(tmp_path: Path) -> Path:
    """The demo's servers in the file that is found without being named, and nobody listening at its address."""
    file = tmp_path / "handfast.json"
    file.write_text(json.dumps({"listen": "127.0.0.1:1", **demo_settings(tmp_path)}))
    return file
