"""The project that sources belong to: its folder, and the boundaries that `[tool.handfast.lint]` registers."""

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from handfast.lint.sources.boundaries import OWN_BOUNDARIES, Boundary

FILE_NAME = "pyproject.toml"
_KEYS = ("boundaries",)
_ROW_KEYS = ("file", "function", "label", "lenient")


class ProjectUnreadable(ValueError):
    """The project's own settings for this command are wrong; the text says where and what to do."""


@dataclass(frozen=True, slots=True)
class Project:
    """Where a project is, and what it registers."""

    root: Path
    boundaries: tuple[Boundary, ...] = ()
    registry: str = FILE_NAME  # the file that lists the boundaries, as it is shown


def find_project(paths: Sequence[Path]) -> Project:
    """The project around these paths: the nearest pyproject.toml above them all. Raises: ProjectUnreadable."""
    absolute = [path.resolve() for path in paths] or [Path.cwd()]
    common = Path(os.path.commonpath(absolute))
    start = common if common.is_dir() else common.parent
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return _read(folder / FILE_NAME)
    return Project(start)


def _read(path: Path) -> Project:
    shown = os.path.relpath(path)
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ProjectUnreadable(f"{shown}: cannot be read as TOML. Correct it: {problem}") from None
    boundaries = _read_boundaries(_table(content), shown)
    if _name(content) == "handfast":
        return Project(path.parent, (*OWN_BOUNDARIES, *boundaries), "src/handfast/lint/sources/boundaries.py")
    return Project(path.parent, boundaries, shown)


def _name(content: dict[str, Any]) -> object:  # Any: TOML
    project = content.get("project")
    return project.get("name") if isinstance(project, dict) else None


def _table(content: dict[str, Any]) -> object:  # Any: TOML
    found: object = content
    for key in ("tool", "handfast", "lint"):
        found = found.get(key, {}) if isinstance(found, dict) else {}
    return found


def _read_boundaries(table: object, shown: str) -> tuple[Boundary, ...]:
    where = f"{shown}: tool.handfast.lint"
    if not isinstance(table, dict):
        raise ProjectUnreadable(f"{where} must be a table.")
    _refuse_unknown(table, _KEYS, where)
    rows = table.get("boundaries", [])
    if not isinstance(rows, list):
        raise ProjectUnreadable(f"{where}.boundaries must be a list of tables with file, function and label.")
    return tuple(_read_row(row, f"{where}.boundaries[{place}]") for place, row in enumerate(rows))


def _read_row(row: object, where: str) -> Boundary:
    if not isinstance(row, dict):
        raise ProjectUnreadable(f"{where} must be a table with file, function and label.")
    _refuse_unknown(row, _ROW_KEYS, where)
    for key in _ROW_KEYS[:3]:
        if not isinstance(row.get(key), str) or not row[key]:
            raise ProjectUnreadable(f"{where}.{key} must be a text that is not empty.")
    lenient = row.get("lenient", False)
    if not isinstance(lenient, bool):
        raise ProjectUnreadable(f"{where}.lenient must be true or false.")
    return Boundary(row["file"], row["function"], row["label"], lenient)


def _refuse_unknown(table: dict[str, Any], known: Sequence[str], where: str) -> None:  # Any: TOML
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            advice = f"did you mean {near[0]}?" if near else f"known are: {', '.join(known)}."
            raise ProjectUnreadable(f"{where} has no key '{key}'; {advice}")
