"""The harness runs whole in a tiny configuration, and reports in the documented form. Nothing here is timed."""

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any  # Any: decoded JSON

import pytest
from benchmarks.report import JudgingRow, PeerRow, Report, SizeRow

from tests.parts import ROOT, Parts

TINY = ["--quick", "--no-peers", "--rounds", "1", "--seconds", "0.15"]
README = "# title\n\n<!-- bench:begin -->\nold\n<!-- bench:end -->\n\nthe end\n"


@pytest.fixture(scope="module")
def readme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "README.md"
    path.write_text(README)
    return path


@pytest.fixture(scope="module")
def report(parts: Parts, readme: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks", *TINY, "-o", "json", "--write", "--readme", str(readme)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def names(row: type) -> set[str]:
    return {field.name for field in fields(row)}


def test_the_report_has_the_documented_form(report: dict[str, Any]) -> None:
    assert set(report) == names(Report) | {"limit", "keeps_limit"}
    for section, row in (("peers", PeerRow), ("judging", JudgingRow), ("sizes", SizeRow)):
        assert all(set(found) == names(row) for found in report[section])
    assert [row["contender"] for row in report["peers"]] == ["direct", "handfast", "handfast-off", "relay-only"]
    assert [(row["contender"], row["tool"]) for row in report["judging"]] == [
        ("direct", "orders_open"),
        ("bytes-only", "orders_open"),
        ("relay-only", "orders_open"),
        ("handfast-off", "orders_open"),
        ("handfast", "orders_open"),
        ("handfast", "orders"),
    ]
    assert [row["tool"] for row in report["sizes"]] == ["orders", "orders_20k", "orders_1m"]


def test_every_key_of_the_report_is_documented() -> None:
    text = (ROOT / "docs" / "performance.md").read_text()
    documented = set(re.findall(r"`(\w+)`", text))
    assert names(Report) | names(PeerRow) | names(JudgingRow) | names(SizeRow) | {"limit", "keeps_limit"} <= documented


def test_relay_only_is_the_measure_of_itself(report: dict[str, Any]) -> None:
    ratios = {row["contender"]: row["of_relay"] for row in report["judging"] if row["tool"] == "orders_open"}
    assert ratios["relay-only"] == 1


def test_every_contender_answered_calls(report: dict[str, Any]) -> None:
    assert all(row["calls_per_s"] > 0 for row in (*report["peers"], *report["judging"]))


def test_the_readme_gets_the_tables_between_its_marks_and_keeps_the_rest(report: dict[str, Any], readme: Path) -> None:
    text = readme.read_text()
    assert text.startswith("# title\n\n<!-- bench:begin -->\n")
    assert text.endswith("\n<!-- bench:end -->\n\nthe end\n")
    assert "old" not in text
    columns = [line.count("|") for line in text.splitlines() if line.startswith("|")]
    assert columns == [7] * 6 + [6] * 7 + [8] * 5
    assert not re.search(r"\bnan\b|None", text)


def test_a_contender_that_answers_errors_ends_the_run(tmp_path: Path) -> None:
    """Failing fast must never look like being fast."""
    job = json.dumps({"command": [sys.executable, "-c", "input(); print('{}')"], "tools": [], "calls": 1, "seconds": 1})
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load"], cwd=ROOT, input=job, capture_output=True, text=True, timeout=30
    )
    assert json.loads(done.stdout) == {"problem": "WrongAnswer: on stdio: b'{}\\n'"}
