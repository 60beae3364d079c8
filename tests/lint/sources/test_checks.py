"""Which files are judged, and that judging any of them ends in findings."""

import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.lint.findings import RULES, in_order
from handfast.lint.sources.boundary_typed import Boundary, Project
from handfast.lint.sources.checks import check_sources, find_sources
from tests.lint.project_files import judge, told, write_files
from tests.lint.sources.test_scopes import SOURCES, parses

STANDARD = Path(sysconfig.get_paths()["stdlib"])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_folders_are_searched_in_a_steady_order_and_some_are_left_out(here: Path) -> None:
    kept = ["b.py", "a/z.py", "a/a/x.py", "build/b.py", "tests/t.py"]
    left = [".hidden/x.py", "a/__pycache__/x.py", "env/lib/x.py", "web/node_modules/x.py", "x.pyi", "x.txt", "y.pyc"]
    write_files(here, dict.fromkeys([*kept, *left, "env/pyvenv.cfg"], ""))
    assert [shown for _, shown in find_sources([Path()])] == kept


def test_a_file_is_judged_once_and_a_named_one_whatever_it_is_called(here: Path) -> None:
    write_files(here, dict.fromkeys(["a/x.py", ".hidden/y.py", "script"], ""))
    named = [Path("a/x.py"), Path("a"), here / "a" / "x.py", Path("script"), Path(".hidden")]
    assert [shown for _, shown in find_sources(named)] == ["a/x.py", "script", ".hidden/y.py"]


def test_folders_that_hold_themselves_are_not_followed(here: Path) -> None:
    write_files(here, {"a/x.py": ""})
    (here / "a" / "again").symlink_to(here / "a")
    assert [shown for _, shown in find_sources([Path("a")])] == ["a/x.py"]


def test_only_boundaries_of_the_judged_files_are_judged(tmp_path: Path) -> None:
    files = {"a/x.py": "def f(): ...\n", "b/y.py": "def f(): ...\n"}
    boundaries = [Boundary("a/x.py", "f", "x"), Boundary("b/y.py", "f", "y")]
    assert told(judge(tmp_path, files, *boundaries, only="a")) == [("boundary-typed", "a/x.py", 1)]
    assert told(judge(tmp_path, files, *boundaries, only="b/y.py")) == [("boundary-typed", "b/y.py", 1)]


def test_a_file_that_does_not_parse_hides_no_other(tmp_path: Path) -> None:
    files = {"a.py": "def (\n", "b.py": "def f(): ...\n", "c.py": "\0"}
    assert told(judge(tmp_path, files, Boundary("b.py", "f", "x"), Boundary("a.py", "f", "y"))) == [
        ("source-unreadable", "a.py", 1),
        ("boundary-typed", "b.py", 1),
        ("source-unreadable", "c.py", 1),
    ]


def test_a_builder_that_another_file_renames_is_found(tmp_path: Path) -> None:
    files = {
        "z.py": "import handfast.toolkit\ndangerous = handfast.toolkit.admin_tool\n",
        "a.py": "from z import dangerous\ndef f(): g()\ndangerous('f', handler=f)\n",
    }
    assert told(judge(tmp_path, files)) == [("mcp-admin-guardrail", "a.py", 2)]


WORDS = st.sampled_from(("parse_typed", "admin_tool", "require_admin_guardrails", "handler", "self", "x"))
IMPORTS = (
    "from handfast.toolkit import admin_tool, require_admin_guardrails\nfrom handfast.boundary import parse_typed\n"
    "admin_tool('n', handler=a)\nadmin_tool('m')\nb = {'m': parse}\n"
)


@given(SOURCES, st.tuples(WORDS, WORDS, WORDS))
def test_any_source_that_parses_is_judged_without_a_crash(source: str, words: tuple[str, str, str]) -> None:
    for name, word in zip(("a", "b", "parse"), words, strict=True):
        source = source.replace(f"{name} ", f"{word} ").replace(f"{name}(", f"{word}(")
    if not parses(source):
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.py")
        path.write_text(f"{IMPORTS}{source}\n# lint-allow: boundary-typed\n", "utf-8")
        project = Project(Path(folder), tuple(Boundary("x.py", name, "l") for name in ("a", "b", "parse", "x.y")))
        first = in_order(check_sources(find_sources([path]), project).findings)
        assert first == in_order(check_sources(find_sources([path]), project).findings)
        assert {finding.id for finding in first} <= set(RULES)


def test_every_form_of_the_language_is_judged_without_a_crash(tmp_path: Path) -> None:
    """The files with which Python tests its own grammar, if they are installed, and some others of its library."""
    named = ("test/test_grammar.py", "test/test_patma.py", "test/test_fstring.py", "test/test_named_expressions.py")
    paths = [
        STANDARD / name for name in (*named, "ast.py", "typing.py", "asyncio/tasks.py") if (STANDARD / name).exists()
    ]
    for path in paths:
        copy = tmp_path / path.name
        copy.write_bytes(path.read_bytes() + b"\nfrom handfast.toolkit import admin_tool\nadmin_tool('x', handler=f)\n")
    found = check_sources(find_sources([tmp_path]), Project(tmp_path)).findings
    assert {finding.id for finding in found} <= {"mcp-admin-guardrail-unseen", "mcp-admin-guardrail"}
    assert len({finding.file for finding in found}) == len(paths) > 2
