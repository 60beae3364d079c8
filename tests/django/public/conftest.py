"""The applications, installed once when a test first asks for one of them, and served in turn."""

from collections.abc import Iterator

import pytest

from tests.django.public.running import Served, running
from tests.parts import PartMissing, install, without_part


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
