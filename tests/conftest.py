"""Fixtures for every test: the real parts, installed once when a test first asks for them."""

import pytest
from hypothesis import settings

from tests.parts import PartMissing, Parts, install, without_part

# A busy machine is not a slow function: examples are bounded by their number, tests by pytest's own timeout.
settings.register_profile("handfast", deadline=None)
settings.load_profile("handfast")


@pytest.fixture(scope="session")
def parts() -> Parts:
    """Real MCP servers and clients out of .parts."""
    try:
        install()
    except PartMissing as missing:
        without_part(str(missing))
    return Parts()
