"""Helpers that wrap `parse_typed`: which calls of them hold a boundary, and which helpers are refused."""

from pathlib import Path

import pytest

from handfast.lint.findings import in_order
from handfast.lint.sources.boundary_typed import Boundary, Project
from handfast.lint.sources.checks import check_sources, find_sources
from tests.lint.project_files import told, write_files

DECODE = Boundary("src/shop/auth.py", "decode", "jwt")
IMPORT = "from handfast.boundary import parse_typed\n"
PASSES_ON = IMPORT + "def parse(raw, label): return parse_typed(label, raw, dict)\n"
WRITES_OUT = IMPORT + "def parse(raw): return parse_typed('jwt', raw, dict)\n"
KEYWORD = IMPORT + "async def parse(raw, *, label): return parse_typed(boundary=label, raw=raw, model=dict)\n"
USE = "from shop.edge import parse\n"


def judge(folder: Path, edge: str, auth: str, helper: str = "shop.edge.parse") -> list[tuple[str, str, int]]:
    files = {
        "src/shop/__init__.py": "from shop.edge import parse\n",
        "src/shop/edge.py": edge,
        "src/shop/auth.py": auth,
    }
    write_files(folder, files)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        project = Project(folder, (DECODE,), helpers=(helper,))
        return told(in_order(check_sources(find_sources([Path("src")]), project).findings))


HOLDS = {
    "the label passed on": (PASSES_ON, USE + "def decode(raw): return parse(raw, 'jwt')"),
    "the label passed on by name": (PASSES_ON, USE + "def decode(raw): return parse(raw, label='jwt')"),
    "a label that is only a keyword": (KEYWORD, USE + "async def decode(raw): return await parse(raw, label='jwt')"),
    "the label written out in the helper": (WRITES_OUT, USE + "def decode(raw): return parse(raw)"),
    "another name for the helper": (PASSES_ON, "from . import edge as e\ndef decode(raw): return e.parse(raw, 'jwt')"),
    "the helper by way of its package": (PASSES_ON, "import shop\ndef decode(raw): return shop.parse(raw, 'jwt')"),
}
BREAKS = {
    "another label": (PASSES_ON, USE + "def decode(raw): return parse(raw, 'ws')"),
    "a label that is not written out": (PASSES_ON, USE + "def decode(raw): return parse(raw, LABEL)"),
    "no label": (PASSES_ON, USE + "def decode(raw): return parse(raw)"),
    "another label in the helper": (WRITES_OUT.replace("jwt", "ws"), USE + "def decode(raw): return parse(raw, 'jwt')"),
    "another function of that name": (
        PASSES_ON,
        "from json import loads as parse\ndef decode(r): return parse(r, 'jwt')",
    ),
    "the helper or another function": (
        PASSES_ON,
        "try: from shop.edge import parse\nexcept E: parse = print\n\ndef decode(r): return parse(r, 'jwt')",
    ),
}


@pytest.mark.requirement("001-15")
@pytest.mark.parametrize(("edge", "auth"), HOLDS.values(), ids=HOLDS)
def test_a_boundary_holds_with(edge: str, auth: str, tmp_path: Path) -> None:
    assert judge(tmp_path, edge, auth) == []


@pytest.mark.requirement("001-15")
@pytest.mark.parametrize(("edge", "auth"), BREAKS.values(), ids=BREAKS)
def test_a_boundary_is_not_held_by(edge: str, auth: str, tmp_path: Path) -> None:
    assert [(rule_id, file) for rule_id, file, _ in judge(tmp_path, edge, auth)] == [
        ("boundary-typed", "src/shop/auth.py")
    ]


def test_a_helper_that_is_not_named_does_not_count(tmp_path: Path) -> None:
    edge = PASSES_ON + "def other(): return parse_typed('x', b'', dict)\n"
    found = judge(tmp_path, edge, USE + "def decode(raw): return parse(raw, 'jwt')", helper="shop.edge.other")
    assert found == [("boundary-typed", "src/shop/auth.py", 2)]


def test_a_helper_of_an_installed_package_takes_the_label_as_parse_typed_does(tmp_path: Path) -> None:
    auth = "from acme.edge import read\ndef decode(raw): return read({})\n"
    assert judge(tmp_path, "", auth.format("'jwt', raw"), helper="acme.edge.read") == []
    assert judge(tmp_path, "", auth.format("boundary='jwt'"), helper="acme.edge.read") == []
    assert judge(tmp_path, "", auth.format("raw, 'jwt'"), helper="acme.edge.read") == [
        ("boundary-typed", "src/shop/auth.py", 2)
    ]


@pytest.mark.parametrize(
    ("edge", "helper", "file", "line"),
    [
        (IMPORT + "\ndef parse(raw, label): return raw\n", "shop.edge.parse", "src/shop/edge.py", 3),
        (
            IMPORT + "def parse(r, l): return lambda: parse_typed(l, r, dict)\n",
            "shop.edge.parse",
            "src/shop/edge.py",
            2,
        ),
        (PASSES_ON, "shop.edge.parze", "pyproject.toml", 0),
        (PASSES_ON, "shop.egde.parse", "pyproject.toml", 0),
        (PASSES_ON, "shop.edge", "pyproject.toml", 0),
        (PASSES_ON + "class parze: ...\n", "shop.edge.parze", "pyproject.toml", 0),
    ],
)
def test_a_helper_that_is_none_is_a_finding(edge: str, helper: str, file: str, line: int, tmp_path: Path) -> None:
    found = judge(tmp_path, edge, USE + "def decode(raw): return parse(raw, 'jwt')", helper)
    assert ("boundary-typed-helper", file, line) in found
    assert ("boundary-typed", "src/shop/auth.py", 2) in found
