"""A project of a few files, judged as `handfast lint` would."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from handfast.lint.findings import Finding, in_order
from handfast.lint.sources.boundary_typed import Boundary, Project
from handfast.lint.sources.checks import check_sources, find_sources


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text), "utf-8")


def judge(folder: Path, files: Mapping[str, str], *boundaries: Boundary, only: str = ".") -> list[Finding]:
    """Write the files, judge what `only` names, and say what was found; file names are as seen from the folder."""
    write_files(folder, files)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return in_order(check_sources(find_sources([Path(only)]), Project(folder, boundaries)).findings)


def told(findings: list[Finding]) -> list[tuple[str, str, int]]:
    return [(finding.id, finding.file, finding.line) for finding in findings]
