"""The applications, installed once when a test first asks for one of them, and served in turn."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.django.public.running import Served, running
from tests.parts import PartMissing, install, without_part


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(600))  # the first of them installs the applications


@pytest.fixture(scope="session")
def applications() -> None:
    try:
        install("public-apps")
    except PartMissing as missing:
        without_part(str(missing))


@pytest.fixture(scope="module")
def served(
    request: pytest.FixtureRequest, applications: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """The project and the database that a module asks for: `("helpdesk", "postgresql")`."""
    name, database = request.param
    variables = request.getfixturevalue("postgresql").new_database() if database == "postgresql" else None
    with running(name, tmp_path_factory.mktemp(name), variables) as found:
        yield found
