"""The project on each database, started once for the tests of a file."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.examples.contacts.running import Project, Served, browsing, serving
from tests.postgresql import Postgresql


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    state: Path = tmp_path_factory.mktemp("contacts")
    if request.param == "sqlite":
        return Project(state)
    server: Postgresql = request.getfixturevalue("postgresql")
    return Project(state, {"CONTACTS_DATABASE": "postgresql", **server.new_database()})


@pytest.fixture(scope="module")
def served(project: Project) -> Iterator[Served]:
    with serving(project) as one:
        yield one


@pytest.fixture(scope="module")
def browser(served: Served) -> Iterator[httpx2.Client]:
    with browsing(served) as client:
        yield client
