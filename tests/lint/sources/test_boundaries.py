"""handfast's own registry of boundaries, held to its own check."""

import re
from pathlib import Path

import pytest

from handfast.lint.sources.boundaries import OWN_BOUNDARIES, Boundary
from handfast.lint.sources.checks import check_sources, find_sources
from handfast.lint.sources.project import find_project

ROOT = Path(__file__).parents[3]


@pytest.mark.requirement("001-15")
def test_every_registered_boundary_of_handfast_holds() -> None:
    project = find_project([ROOT / "src"])
    assert project.boundaries == OWN_BOUNDARIES
    assert check_sources(find_sources([ROOT / "src"]), project) == []


@pytest.mark.requirement("001-15")
def test_a_boundary_of_handfast_that_drops_its_call_is_found(tmp_path: Path) -> None:
    for boundary in OWN_BOUNDARIES:
        copy = tmp_path / boundary.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((ROOT / boundary.file).read_text("utf-8").replace("parse_typed(", "model.model_validate("))
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "handfast"\n')
    found = check_sources(find_sources([tmp_path]), find_project([tmp_path]))
    held = [boundary for boundary in OWN_BOUNDARIES if not boundary.lenient]
    assert sorted((f.id, f.file) for f in found) == sorted(
        ("boundary-typed", (tmp_path / boundary.file).as_posix()) for boundary in held
    )


def test_labels_are_registered_once() -> None:
    assert len({boundary.label for boundary in OWN_BOUNDARIES}) == len(OWN_BOUNDARIES)
    assert [b.label for b in OWN_BOUNDARIES if b.lenient] == ["mcp.tool.dual_path"]


@pytest.mark.requirement("001-19")
def test_the_page_has_a_row_for_each_of_them() -> None:
    page = (ROOT / "docs" / "boundaries.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\S+)` \| \[\S+\]\(\.\./(\S+)\), `(\S+)` \| (.+) \|$", page, re.MULTILINE)
    told = [Boundary(file, function, label, lenient=model.startswith("none:")) for label, file, function, model in rows]
    assert told == list(OWN_BOUNDARIES)
