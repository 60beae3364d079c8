"""The import rule of the back office: handlers speak to services, never to what is behind them."""

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backoffice.app_state import AppState
from tests.examples.backoffice.offices import EXAMPLE, open_office

LINT_IMPORTS = Path(sys.executable).parent / "lint-imports"
PERSISTENCE = "Handlers reach persistence only through services"


def broken_contracts(example: Path) -> list[str]:
    """What import-linter objects to, in a copy of the example or in the example itself."""
    done = subprocess.run(
        [LINT_IMPORTS, "--no-cache", "--config", example / ".importlinter"],
        cwd=example,
        env=os.environ | {"PYTHONPATH": str(example)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    verdicts = [line for line in done.stdout.splitlines() if line.endswith(("KEPT", "BROKEN"))]
    assert len(verdicts) == 3, done.stdout + done.stderr
    broken = [line.removesuffix(" BROKEN") for line in verdicts if line.endswith("BROKEN")]
    assert done.returncode == (1 if broken else 0)
    return broken


@pytest.mark.requirement("003-14")
def test_handlers_reach_persistence_only_through_services() -> None:
    assert broken_contracts(EXAMPLE) == []


@pytest.mark.requirement("003-14")
@pytest.mark.parametrize(
    "line", ["from backoffice.persistence import tasks", "from backoffice.persistence.database import Database"]
)
def test_a_handler_that_reaches_around_its_service_is_found(tmp_path: Path, line: str) -> None:
    copy = shutil.copytree(EXAMPLE, tmp_path / "copy", ignore=shutil.ignore_patterns("__pycache__"))
    handler = copy / "backoffice" / "handlers" / "tasks.py"
    handler.write_text(f"{line}\n{handler.read_text('utf-8')}", "utf-8")
    assert broken_contracts(copy) == [PERSISTENCE]


@pytest.mark.requirement("003-14")
def test_what_handlers_are_given_holds_services_and_nothing_else(tmp_path: Path) -> None:
    with open_office(tmp_path) as app:
        given = [getattr(app, field.name) for field in dataclasses.fields(AppState) if field.name != "entities"]
        given += app.entities.values()
        assert {type(service).__module__.rpartition(".")[0] for service in given} == {"backoffice.services"}
        # What a service stands on is its own business: nothing public leads past it.
        assert [name for service in given for name in vars(service) if not name.startswith("_")] == []
