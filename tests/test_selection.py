"""What `scripts/test --fast` runs: some of every package, and each way from a client to a server."""

import ast
from pathlib import Path

import pytest

from tests.selection import ROOT, has_quick, starts_processes

TESTS = ROOT / "tests"
PACKAGES = sorted(folder.name for folder in (ROOT / "src" / "handfast").iterdir() if (folder / "__init__.py").is_file())
# A way each: `wrap` and `/mcp/<server>` to servers of every kind, `/mcp`, the dispatcher, the toolkit, Django.
WAYS = (
    "gateway/calls/test_conversation.py",
    "gateway/test_all_servers.py",
    "gateway/translate/compact/test_backend.py",
    "toolkit/serve/test_stdio.py",
    "django/endpoint/test_served.py",
)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_a_part(package: str) -> None:
    assert any(has_quick(file) for file in (TESTS / package).rglob("test_*.py"))


@pytest.mark.parametrize("file", WAYS)
def test_every_way_has_a_part_that_starts_processes(file: str) -> None:
    marks = [node for node in ast.walk(ast.parse((TESTS / file).read_text("utf-8"))) if isinstance(node, ast.Attribute)]
    assert "quick" in {mark.attr for mark in marks}
    assert starts_processes(TESTS / file)


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("import subprocess", True),
        ("from subprocess import run", True),
        ("def start():\n    import pty", True),
        ("from mcp import Client, StdioServerParameters", True),
        ("from tests.contracts.rig import rig", True),
        ("from tests.contracts import rig", True),
        ("from mcp import Client", False),
        ("from tests.selection import ROOT", False),
        ("subprocess = 1", False),
    ],
)
def test_what_a_file_imports_says_whether_it_starts_processes(text: str, starts: bool, tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(text)
    assert starts_processes(file) is starts


def test_what_is_no_package_has_no_part() -> None:
    assert not any(has_quick(file) for name in ("benchmarks", "examples") for file in (TESTS / name).rglob("test_*.py"))
