"""Fixtures for every test: the real parts, installed once when a test first asks for them."""

import pytest

from tests.parts import PartMissing, Parts, install, without_part


@pytest.fixture(scope="session")
def parts() -> Parts:
    """Real MCP servers and clients out of .parts."""
    try:
        install()
    except PartMissing as missing:
        without_part(str(missing))
    return Parts()
