"""Both source checks over files and folders of Python."""

import gc
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from handfast.lint.findings import Finding, make_finding
from handfast.lint.sources.admin_guardrail import BUILDER, AdminTools, check_admin_tools
from handfast.lint.sources.boundary_helpers import Helpers
from handfast.lint.sources.boundary_typed import MISSING, Boundary, Project, check_boundary
from handfast.lint.sources.modules import Modules, read_source
from handfast.regular_file import read_regular

_SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages"))


@dataclass(slots=True)
class Coverage:
    """How many of one kind were found in the sources, and how many of them could be judged."""

    found: int = 0
    judged: int = 0


@dataclass(slots=True)
class SourceReport:
    """The findings of both checks, in no particular order, and what was there to judge."""

    findings: list[Finding] = field(default_factory=list)
    boundaries: Coverage = field(default_factory=Coverage)
    handlers: Coverage = field(default_factory=Coverage)


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


def check_sources(sources: Sources, project: Project) -> SourceReport:
    """Judges every registered boundary and every handler of an admin tool in the sources."""
    modules = Modules(project.root, {path.resolve(): shown for path, shown in sources})
    registered = _by_file(project)
    builders = _builders(sources)
    helpers = Helpers(project.helpers, modules, project.registry)
    report = SourceReport(_missing_files(project))
    report.boundaries.found = len(report.findings)
    report.findings += helpers.findings
    with _without_collecting():
        for path, shown in sources:
            source = read_source(path, shown)
            if isinstance(source, Finding):
                report.findings.append(source)
                continue
            report.findings += source.missing_reasons()
            for boundary in registered.get(path.resolve(), []):
                found = check_boundary(boundary, source, modules, helpers, project.registry)
                is_there = all(finding.id != MISSING for finding in found)
                report.findings += found
                report.boundaries.found += 1
                report.boundaries.judged += is_there and not boundary.lenient
            if builders.search(source.source):
                tools = AdminTools(source, modules).find()
                report.findings += check_admin_tools(tools, source, modules)
                judged = sum(len(tool.handlers) for tool in tools)
                report.handlers.judged += judged
                report.handlers.found += judged + sum(bool(tool.unseen) for tool in tools)
    return report


def _by_file(project: Project) -> dict[Path, list[Boundary]]:
    found: dict[Path, list[Boundary]] = {}
    for boundary in project.boundaries:
        found.setdefault((project.root / boundary.file).resolve(), []).append(boundary)
    return found


def _missing_files(project: Project) -> list[Finding]:
    """A finding for each boundary whose file is missing, whichever files are checked: nothing else would report it."""
    return [
        make_finding(
            MISSING,
            f"The boundary '{boundary.label}' must be in {boundary.file}, which does not exist.",
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
