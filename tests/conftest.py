"""Fixtures for every test: the real parts, installed once when a test first asks for them."""

import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer

from tests import prepared
from tests.parts import ROOT, PartMissing, Parts, install, without_part
from tests.postgresql import Postgresql, running_postgresql
from tests.schedule import LongestFirst
from tests.selection import EXAMPLES, has_quick, is_quick, limit_examples

# A busy machine is not a slow function: examples are bounded by their number, tests by pytest's own timeout.
settings.register_profile("handfast", deadline=None)
settings.register_profile("fast", deadline=None, max_examples=EXAMPLES)
settings.load_profile("handfast")

# Every process that a test starts would compile all of handfast anew where the machine is told to keep no bytecode.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Node keeps what it has compiled only where it is told to; a quarter of what its start costs is compiling.
os.environ.setdefault("NODE_COMPILE_CACHE", str(ROOT / ".pytest_cache" / "node"))

# A shell makes what it starts in the background ignore Ctrl-C, and every process that a test starts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="only tests that start no process, and those marked `quick`")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Not even imported: a file that can start a process, and has nothing quick."""
    is_left_out = config.getoption("fast") and collection_path.match("test_*.py") and not has_quick(collection_path)
    return True if is_left_out else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("fast"):
        others = [item for item in items if not is_quick(item)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if is_quick(item)]
        for item in items:
            limit_examples(item)


def pytest_configure(config: pytest.Config) -> None:
    config.add_cleanup(prepared.install())
    if config.getoption("fast"):
        settings.load_profile("fast")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    prepared.PreparedPopen.make_templates()
    prepared.PreparedPopen.is_in_use = item.get_closest_marker("new_interpreters") is None
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Half as many again as there are cores: a third of a worker's time it waits for what it has started."""
    cores = os.cpu_count() or 1
    return cores if config.getoption("fast") else cores * 3 // 2


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
