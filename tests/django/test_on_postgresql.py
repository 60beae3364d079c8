"""Every test of the adapter that touches a database holds on PostgreSQL as it does on SQLite."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.demo import ROOT
from tests.postgresql import Postgresql


@pytest.mark.timeout(600)
def test_what_touches_a_database_holds_on_postgresql_too(postgresql: Postgresql, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    environment = os.environ | {"HANDFAST_TEST_DATABASE": "postgresql"} | postgresql.new_database()
    # Not as a worker of the run that this one is part of.
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "tests/django", "-p", "no:cacheprovider", f"--junitxml={report}"]
    command += ["--quiet", "--tb=short"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = ElementTree.parse(report).getroot()[0].attrib
    assert {name: int(outcome[name]) for name in ("failures", "errors", "skipped")} == {
        "failures": 0,
        "errors": 0,
        "skipped": 0,
    }
    assert int(outcome["tests"]) > 300
