"""Both source checks over files and folders of Python."""

import gc
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from handfast.lint.findings import Finding, make_finding
from handfast.lint.sources.admin_guardrail import BUILDER, check_admin_tools
from handfast.lint.sources.boundary_typed import Boundary, Project, check_boundary
from handfast.lint.sources.modules import Modules, read_source
from handfast.regular_file import read_regular

_SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages"))
Sources = tuple[tuple[Path, str], ...]  # files to check, each with its name in findings
# Other names that a file gives to the builder: files that import it from there know only that name.
_RENAMED = re.compile(rb"\badmin_tool\s+as\s+(\w+)|(\w+)\s*=\s*[\w.]*\badmin_tool\b")


def find_sources(paths: Sequence[Path]) -> Sources:
    """The named files, and every .py file in the named folders, each once and in a stable order."""
    found: dict[Path, tuple[Path, str]] = {}
    for path in paths:
        for file in _walk(path) if path.is_dir() else (path,):
            found.setdefault(file.resolve(), (file, file.as_posix()))
    return tuple(found.values())


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_skipped(parent, name))
        yield from (Path(parent, name) for name in sorted(files) if name.endswith(".py"))


def _is_skipped(parent: str, name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED or os.path.exists(os.path.join(parent, name, "pyvenv.cfg"))


def check_sources(sources: Sources, project: Project) -> list[Finding]:
    """Every finding of both checks, in no particular order."""
    modules = Modules(project.root, {path.resolve(): shown for path, shown in sources})
    registered = _by_file(project)
    builders = _builders(sources)
    found = _missing_files(project)
    with _without_collecting():
        for path, shown in sources:
            source = read_source(path, shown)
            if isinstance(source, Finding):
                found.append(source)
                continue
            found += source.missing_reasons()
            for boundary in registered.get(path.resolve(), []):
                found += check_boundary(boundary, source, modules, project.registry)
            if builders.search(source.source):
                found += check_admin_tools(source, modules)
    return found


def _by_file(project: Project) -> dict[Path, list[Boundary]]:
    found: dict[Path, list[Boundary]] = {}
    for boundary in project.boundaries:
        found.setdefault((project.root / boundary.file).resolve(), []).append(boundary)
    return found


def _missing_files(project: Project) -> list[Finding]:
    """A finding for each boundary whose file is missing, whichever files are checked: nothing else would report it."""
    return [
        make_finding(
            "boundary-typed-missing",
            f"The boundary '{boundary.label}' is to be in {boundary.file}, which does not exist.",
            file=project.registry,
        )
        for boundary in project.boundaries
        if not (project.root / boundary.file).is_file()
    ]


def _builders(sources: Sources) -> re.Pattern[bytes]:
    """A pattern of the builder's names: files without one are not searched, which takes longer than parsing."""
    names = {BUILDER.encode()}
    for path, _ in sources:
        try:
            text = read_regular(path)
        except OSError:
            continue  # reported where it is parsed
        if BUILDER.encode() in text:
            names.update(name for groups in _RENAMED.findall(text) for name in groups if name)
    return re.compile(rb"\b(?:%s)\b" % b"|".join(sorted(names)))


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Pauses the garbage collector, which takes a fifth of the time and finds no cycles in these millions of nodes."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
