"""One run of all cases per way of running and protocol era, made when a test first asks for it."""

import pytest

from tests.contracts.cases import Seen, run_registered
from tests.contracts.rig import ROUTES, Route


@pytest.fixture(scope="session", params=["legacy", "modern"])
def is_modern(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "modern")


@pytest.fixture(scope="session")
def runs() -> dict[tuple[Route, bool], Seen]:
    """The runs that were made: pytest forgets a fixture's value when the next file begins with the first parameter."""
    return {}


@pytest.fixture(scope="session", params=ROUTES)
def seen(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    runs: dict[tuple[Route, bool], Seen],
    is_modern: bool,
) -> Seen:
    route: Route = request.param
    if (route, is_modern) not in runs:
        runs[route, is_modern] = run_registered(route, tmp_path_factory.mktemp(route), is_modern=is_modern)
    return runs[route, is_modern]
