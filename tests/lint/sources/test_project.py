"""The project around sources: its folder, and the boundaries it registers."""

from pathlib import Path

import pytest

from handfast.lint.sources.boundaries import OWN_BOUNDARIES, Boundary
from handfast.lint.sources.project import Project, ProjectUnreadable, find_project

ROWS = """
[tool.handfast.lint]
boundaries = [
    {file = "src/auth.py", function = "Service.decode", label = "jwt"},
    {file = "src/ws.py", function = "handle", label = "ws.control", lenient = true},
]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src" / "a").mkdir(parents=True)
    (tmp_path / "src" / "b").mkdir()
    (tmp_path / "src" / "a" / "x.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path.resolve()


@pytest.mark.requirement("001-17")
@pytest.mark.parametrize("paths", [["."], ["src"], ["src/a/x.py"], ["src/a", "src/b"], ["src/a/x.py", "src/b"]])
def test_the_registry_is_that_of_the_nearest_project_above_all_paths(here: Path, paths: list[str]) -> None:
    (here / "pyproject.toml").write_text(ROWS)
    assert find_project([Path(path) for path in paths]) == Project(
        here,
        (
            Boundary("src/auth.py", "Service.decode", "jwt"),
            Boundary("src/ws.py", "handle", "ws.control", lenient=True),
        ),
        "pyproject.toml",
    )


def test_a_project_within_a_project_has_its_own_registry(here: Path) -> None:
    (here / "pyproject.toml").write_text(ROWS)
    (here / "src" / "a" / "pyproject.toml").write_text("[project]\nname = 'inner'\n")
    assert find_project([Path("src/a")]) == Project(here / "src" / "a", (), "src/a/pyproject.toml")


def test_without_a_project_there_is_no_registry(here: Path) -> None:
    assert find_project([Path("src/a/x.py")]) == Project(here / "src" / "a")


def test_handfasts_own_registry_is_handfasts_alone(here: Path) -> None:
    (here / "pyproject.toml").write_text("[project]\nname = 'handfast'\n")
    assert find_project([here]) == Project(here, OWN_BOUNDARIES, "src/handfast/lint/sources/boundaries.py")


WHERE = "pyproject.toml: tool.handfast.lint"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[tool", None),
        ("[tool.handfast]\nlint = 1", f"{WHERE} must be a table."),
        ("[tool.handfast.lint]\nboundarys = []", f"{WHERE} has no key 'boundarys'; did you mean boundaries?"),
        ("[tool.handfast.lint]\nzzz = []", f"{WHERE} has no key 'zzz'; known are: boundaries."),
        (
            "[tool.handfast.lint]\nboundaries = 1",
            f"{WHERE}.boundaries must be a list of tables with file, function and label.",
        ),
        (
            "[tool.handfast.lint]\nboundaries = [1]",
            f"{WHERE}.boundaries[0] must be a table with file, function and label.",
        ),
        (
            "[tool.handfast.lint]\nboundaries = [{file='a.py', function='f'}]",
            f"{WHERE}.boundaries[0].label must be a text that is not empty.",
        ),
        (
            "[tool.handfast.lint]\nboundaries = [{file='', function='f', label='x'}]",
            f"{WHERE}.boundaries[0].file must be a text that is not empty.",
        ),
        (
            "[tool.handfast.lint]\nboundaries = [{file='a', function='f', label='x', lenent=true}]",
            f"{WHERE}.boundaries[0] has no key 'lenent'; did you mean lenient?",
        ),
        (
            "[tool.handfast.lint]\nboundaries = [{file='a', function='f', label='x', lenient='no'}]",
            f"{WHERE}.boundaries[0].lenient must be true or false.",
        ),
    ],
)
def test_a_wrong_registry_is_refused_with_what_to_do(here: Path, content: str, message: str | None) -> None:
    (here / "pyproject.toml").write_text(content)
    with pytest.raises(ProjectUnreadable) as refused:
        find_project([Path("src")])
    if message is None:
        assert str(refused.value).startswith("pyproject.toml: cannot be read as TOML. Correct it: ")
    else:
        assert str(refused.value) == message


@pytest.mark.parametrize("content", ["tool = 1", "[tool]\nhandfast = 1", "project = 1", ""])
def test_what_others_write_is_left_alone(here: Path, content: str) -> None:
    (here / "pyproject.toml").write_text(content)
    assert find_project([here]).boundaries == ()
