"""The project on each database: one for all tests, and a new one for the tests of a file that counts its rows."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.examples.contacts.running import Project, Served, browsing, serving
from tests.postgresql import Postgresql

DATABASES = ("sqlite", "postgresql")


def _placed(request: pytest.FixtureRequest, folder: Path) -> Project:
    if request.param == "sqlite":
        return Project(folder)
    server: Postgresql = request.getfixturevalue("postgresql")
    return Project(folder, {"CONTACTS_DATABASE": "postgresql", **server.new_database()})


@pytest.fixture(scope="session", params=DATABASES)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """With rows of other tests in it, beside those that a test makes."""
    return _placed(request, tmp_path_factory.mktemp("contacts"))


@pytest.fixture(scope="session")
def served(project: Project) -> Iterator[Served]:
    with serving(project) as one:
        yield one


@pytest.fixture(scope="session")
def browser(served: Served) -> Iterator[httpx2.Client]:
    with browsing(served) as client:
        yield client


@pytest.fixture(scope="module", params=DATABASES)
def new_project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """With the sample's rows and no others, until the tests of the file make some."""
    return _placed(request, tmp_path_factory.mktemp("contacts"))


@pytest.fixture(scope="module")
def newly_served(new_project: Project) -> Iterator[Served]:
    with serving(new_project) as one:
        yield one


@pytest.fixture(scope="module")
def new_browser(newly_served: Served) -> Iterator[httpx2.Client]:
    with browsing(newly_served) as client:
        yield client
