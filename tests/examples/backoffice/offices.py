"""Back offices for tests: each in a file of its own, with a clock that moves one second at every look."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from backoffice.app_state import AppState
from backoffice.opening import opened
from tests.demo import ROOT

EXAMPLE = ROOT / "examples" / "backoffice"
DAWN = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)


class Ticking:
    """A second later at every look, so that nothing happens at the same time as anything else."""

    def __init__(self) -> None:
        self._looks = -1

    def __call__(self) -> datetime:
        self._looks += 1
        return DAWN + timedelta(seconds=self._looks)


@contextmanager
def open_office(folder: Path) -> Iterator[AppState]:
    with opened(folder / "office.db", now=Ticking()) as app:
        yield app
