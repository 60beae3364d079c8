"""The real servers with a world of their own."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.parts import Parts
from tests.real.servers import RealServer, real_servers
from tests.real.stage import Stage, staged


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("world")


@pytest.fixture(scope="module")
def servers(parts: Parts, world: Path) -> Mapping[str, RealServer]:
    return real_servers(parts, world)


@pytest.fixture(scope="module")
def stage(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Six servers and the gateway before them, for one file: idle they still cost a twentieth of a core."""
    with staged(parts, tmp_path_factory.mktemp("stage")) as running:
        yield running
