"""Fixtures for every test: the real parts, installed once when a test first asks for them."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings
from xdist.remote import Producer

from tests.parts import ROOT, PartMissing, Parts, install, without_part
from tests.postgresql import Postgresql, running_postgresql
from tests.schedule import LongestFirst

# A busy machine is not a slow function: examples are bounded by their number, tests by pytest's own timeout.
settings.register_profile("handfast", deadline=None)
settings.load_profile("handfast")

# Every process that a test starts would compile all of handfast anew where the machine is told to keep no bytecode.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Node keeps what it has compiled only where it is told to; a quarter of what its start costs is compiling.
os.environ.setdefault("NODE_COMPILE_CACHE", str(ROOT / ".pytest_cache" / "node"))

# A shell makes what it starts in the background ignore Ctrl-C, and every process that a test starts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are cores: a third of a worker's time it waits for what it has started."""
    return (os.cpu_count() or 1) * 3 // 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LongestFirst | None:
    return LongestFirst(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def parts() -> Parts:
    """Real MCP servers and clients out of .parts."""
    try:
        install()
    except PartMissing as missing:
        without_part(str(missing))
    return Parts()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Postgresql]:
    """A PostgreSQL server of this process's own, started when a test first asks for it."""
    with running_postgresql() as server:
        yield server
