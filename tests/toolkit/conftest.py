"""Fixtures of the toolkit's tests."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every server of a toolbox records; a test's own records must not end in the state folder of its user."""
    monkeypatch.setenv("HANDFAST_STATE", str(tmp_path / "unnamed"))
