"""What `scripts/test --fast` runs: tests that can start no process and are not `slow`, and those marked `quick`.

A process takes longer to start than most tests to run, and what a file imports says whether it can start one: there
is no list of files to keep.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

ROOT: Final = Path(__file__).parents[1]
EXAMPLES: Final = 10  # of a Hypothesis test: a tenth of the usual, which meets the usual values
# Folders that hold no package's tests. Examples start processes through their own code.
LEFT_OUT: Final = frozenset({"benchmarks", "conformance", "examples"})
# Fixtures of every test, which start processes or drive those that are installed.
STARTED: Final = frozenset({"parts", "postgresql"})
# What a module imports that starts processes: Python's own ways, and clients that start their server.
STARTERS: Final = frozenset(
    {"subprocess", "pty", "multiprocessing", "mcp.StdioServerParameters", "benchmarks.processes"}
)


def has_quick(file: Path) -> bool:
    """Whether a file has anything to run."""
    if LEFT_OUT.intersection(file.relative_to(ROOT).parts):
        return False
    return not starts_processes(file) or "pytest.mark.quick" in file.read_text("utf-8")


def is_quick(item: pytest.Item) -> bool:
    if item.get_closest_marker("quick") is not None:
        return True
    if item.get_closest_marker("slow") is not None:
        return False
    return not starts_processes(item.path) and STARTED.isdisjoint(getattr(item, "fixturenames", ()))


def limit_examples(item: pytest.Item) -> None:
    """Where a test asks for more examples than the profile, which has none to say then."""
    function = getattr(item, "obj", None)
    asked: settings | None = getattr(function, "_hypothesis_internal_use_settings", None)
    if asked is not None and asked.max_examples > EXAMPLES:
        function._hypothesis_internal_use_settings = settings(asked, max_examples=EXAMPLES)  # type: ignore[union-attr]  # set above


@cache
def starts_processes(file: Path) -> bool:
    """Whether a file imports what starts processes, itself or through other files of the tests."""
    waiting, seen = [file], {file}
    while waiting:
        for name in _imports(waiting.pop()):
            if name in STARTERS:
                return True
            found = _file_of(name)
            if found is not None and found not in seen:
                seen.add(found)
                waiting.append(found)
    return False


@cache
def _imports(file: Path) -> frozenset[str]:
    """The modules, and the names in modules, that a file imports."""
    return frozenset(_names(ast.walk(ast.parse(file.read_bytes()))))


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def _file_of(name: str) -> Path | None:
    if not name.startswith("tests."):
        return None
    path = ROOT.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)
