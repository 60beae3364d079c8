"""`boundary-typed`: what holds a boundary, and everything that only looks as if it did."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from handfast.lint.findings import make_finding
from handfast.lint.sources.boundary_typed import OWN_BOUNDARIES, Boundary, Project, ProjectUnreadable, find_project
from handfast.lint.sources.checks import check_sources, find_sources
from tests.lint.project_files import judge, told

ROOT = Path(__file__).parents[3]


@pytest.mark.requirement("001-15")
def test_every_registered_boundary_of_handfast_holds() -> None:
    project = find_project([ROOT / "src"])
    assert project.boundaries == OWN_BOUNDARIES
    assert check_sources(find_sources([ROOT / "src"]), project).findings == []


@pytest.mark.requirement("001-15")
def test_a_boundary_of_handfast_that_drops_its_call_is_found(tmp_path: Path) -> None:
    for boundary in OWN_BOUNDARIES:
        copy = tmp_path / boundary.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((ROOT / boundary.file).read_text("utf-8").replace("parse_typed(", "model.model_validate("))
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "handfast"\n')
    found = check_sources(find_sources([tmp_path]), find_project([tmp_path])).findings
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
    assert find_project([here]) == Project(here, OWN_BOUNDARIES, "src/handfast/lint/sources/boundary_typed.py")


EXAMPLE = "shop.edge.parse_payload"
WHERE = "pyproject.toml: tool.handfast.lint"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[tool", None),
        ("[tool.handfast]\nlint = 1", f"{WHERE} must be a table."),
        ("[tool.handfast.lint]\nboundarys = []", f"{WHERE} has no key 'boundarys'; did you mean boundaries?"),
        ("[tool.handfast.lint]\nzzz = []", f"{WHERE} has no key 'zzz'; known are: boundaries, helpers."),
        (
            "[tool.handfast.lint]\nboundaries = 1",
            f"{WHERE}.boundaries must be a list of tables with file, function and label.",
        ),
        *(
            (f"[tool.handfast.lint]\nhelpers = {value}", f"{WHERE}.helpers must be a list of names such as {EXAMPLE}.")
            for value in ("1", "[1]", "['parse']")
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


DECODE = Boundary("app.py", "decode", "jwt")
IMPORT = "from handfast.boundary import parse_typed\n"

HOLDS = {
    "a plain call": IMPORT + "def decode(raw): return parse_typed('jwt', raw, M)",
    "an async function": IMPORT + "async def decode(raw): return await use(parse_typed('jwt', raw, M))",
    "a renamed import": "from handfast.boundary import parse_typed as p\ndef decode(raw): return p('jwt', raw, M)",
    "a renamed module": "import handfast.boundary as b\ndef decode(raw): return b.parse_typed('jwt', raw, M)",
    "a module by its full name": "import handfast.boundary\n"
    "def decode(r): return handfast.boundary.parse_typed('jwt', r, M)",
    "a module from its package": "from handfast import boundary\n"
    "def decode(r): return boundary.parse_typed('jwt', r, M)",
    "an import inside the function": "def decode(r):\n    from handfast.boundary import parse_typed\n"
    "    parse_typed('jwt', r, M)",
    "everything imported": "from handfast.toolkit import *\ndef decode(r): return parse_typed('jwt', r, M)",
    "another name for it": IMPORT + "parse = parse_typed\ndef decode(r): return parse('jwt', r, M)",
    "a conditional import, twice the same": """
        try:
            from handfast.boundary import parse_typed
        except ImportError:
            from handfast.toolkit import parse_typed
        def decode(raw): return parse_typed("jwt", raw, M)
        """,
    "a call in a try block": IMPORT + "def decode(r):\n    try: x = parse_typed('jwt', r, M)\n    except E: raise",
    "a call behind a condition": IMPORT + "def decode(r):\n    if r: return parse_typed('jwt', r, M)",
    "a call that never runs": IMPORT + "def decode(r):\n    return None\n    if False: parse_typed('jwt', r, M)",
    "a call in a comprehension": IMPORT + "def decode(rs): return [parse_typed('jwt', r, M) for r in rs]",
    "a call within another call": IMPORT + "def decode(r): return use(x=parse_typed('jwt', r, M))",
    "a call in an f-string": IMPORT + "def decode(r): return f'{parse_typed(\"jwt\", r, M)}'",
    "a call in the default of an inner function": IMPORT
    + "def decode(r):\n    def f(x=parse_typed('jwt', r, M)): ...\n    f()",
    "a call in the body of an inner class": IMPORT
    + "def decode(r):\n    class C:\n        x = parse_typed('jwt', r, M)",
    "a decorated function": IMPORT + "@deco(1)\n@other\ndef decode(r): return parse_typed('jwt', r, M)",
    "the label by its name": IMPORT + "def decode(r): return parse_typed(boundary='jwt', raw=r, model=M)",
    "a label in two pieces": IMPORT + "def decode(r): return parse_typed('j' 'wt', r, M)",
    "one right call among others": IMPORT + "def decode(r):\n    parse_typed('a', r, M)\n    parse_typed('jwt', r, M)",
    "a method, by its bare name": IMPORT + "class S:\n    def decode(self, r): return parse_typed('jwt', r, M)",
    "a name that another function binds": IMPORT
    + "def f(parse_typed): ...\ndef decode(r): return parse_typed('jwt', r, M)",
    "a name that a class around it binds": IMPORT
    + "class S:\n    parse_typed = None\n    def decode(self, r): return parse_typed('jwt', r, M)",
    "overloads before the function": IMPORT
    + "from typing import overload\n@overload\ndef decode(r: int): ...\ndef decode(r): return parse_typed('jwt', r, M)",
    "two definitions that both hold": IMPORT
    + "if A:\n    def decode(r): return parse_typed('jwt', r, M)\nelse:\n    def decode(r): parse_typed('jwt', r, M)",
    "a global that says what it is": IMPORT
    + "def decode(r):\n    global parse_typed\n    return parse_typed('jwt', r, M)",
    "an opt-out with a reason": "def decode(raw):  # lint-allow: boundary-typed -- reads its own bytes\n    return raw",
    "an opt-out beside other remarks": "def decode(r): ...  # noqa: E704  # lint-allow: boundary-typed -- own bytes",
    "an opt-out under decorators": "@deco\ndef decode(r):  # lint-allow: boundary-typed -- own bytes\n    return r",
}


@pytest.mark.requirement("001-15")
@pytest.mark.requirement("001-16")
@pytest.mark.parametrize("source", HOLDS.values(), ids=HOLDS)
def test_a_boundary_holds_with(source: str, tmp_path: Path) -> None:
    assert judge(tmp_path, {"app.py": source}, DECODE) == []


@dataclass(frozen=True, slots=True)
class Broken:
    source: str
    why: str
    line: int = 2


NOT_AT_ALL = "'decode' does not call parse_typed"
NOT_HANDFASTS = "the parse_typed that 'decode' calls is not, or not always, handfast's"
ONLY_INSIDE = "only a function, default or decorator inside 'decode' calls parse_typed, not 'decode' itself"
NOT_LITERAL = "'decode' calls parse_typed with a label that is not written out as text"
ANOTHER = "'decode' calls parse_typed with another label"

BREAKS = {
    "nothing": Broken(IMPORT + "def decode(raw): return raw", NOT_AT_ALL),
    "a text that reads like a call": Broken(IMPORT + "def decode(r): 'parse_typed(\"jwt\", r, M)'", NOT_AT_ALL),
    "the function as a value": Broken(IMPORT + "def decode(r): return apply(parse_typed, 'jwt', r, M)", NOT_AT_ALL),
    "something else under its name": Broken(
        "from json import loads as parse_typed\ndef decode(r): return parse_typed('jwt', r, M)", NOT_HANDFASTS
    ),
    "a module of somebody else": Broken(
        "from acme.boundary import parse_typed\ndef decode(r): return parse_typed('jwt', r, M)", NOT_HANDFASTS
    ),
    "a method of that name": Broken("\ndef decode(r): return self.parse_typed('jwt', r, M)", NOT_HANDFASTS),
    "a function of that name": Broken(
        IMPORT + "def decode(r): return parse_typed('jwt', r, M)\ndef parse_typed(*a): ...", NOT_HANDFASTS
    ),
    "a function of that name inside": Broken(
        IMPORT + "def decode(r):\n    def parse_typed(*a): ...\n    parse_typed('jwt', r, M)", NOT_HANDFASTS
    ),
    "a variable of that name": Broken(
        IMPORT + "def decode(r):\n    parse_typed = print\n    parse_typed('jwt', r, M)", NOT_HANDFASTS
    ),
    "a parameter of that name": Broken(IMPORT + "def decode(r, parse_typed): parse_typed('jwt', r, M)", NOT_HANDFASTS),
    "a loop's variable": Broken(
        IMPORT + "def decode(r):\n    for parse_typed in r: parse_typed('jwt', r, M)", NOT_HANDFASTS
    ),
    "a comprehension's variable": Broken(
        IMPORT + "def decode(r): return [parse_typed('jwt', r, M) for parse_typed in r]", NOT_HANDFASTS
    ),
    "a with's variable": Broken(
        IMPORT + "def decode(r):\n    with r as parse_typed: parse_typed('jwt', r, M)", NOT_HANDFASTS
    ),
    "an exception's variable": Broken(
        IMPORT + "def decode(r):\n    try: ...\n    except E as parse_typed: parse_typed('jwt', r, M)", NOT_HANDFASTS
    ),
    "a walrus": Broken(
        IMPORT + "def decode(r):\n    [(parse_typed := f) for f in r]\n    parse_typed('jwt', r, M)", NOT_HANDFASTS
    ),
    "a pattern's capture": Broken(
        IMPORT + "def decode(r):\n    match r:\n        case parse_typed: parse_typed('jwt', r, M)", NOT_HANDFASTS
    ),
    "a global that another function sets": Broken(
        IMPORT + "def decode(r): parse_typed('jwt', r, M)\ndef f():\n    global parse_typed\n    parse_typed = print",
        NOT_HANDFASTS,
    ),
    "a variable of a function around it": Broken(
        IMPORT + "def outer(parse_typed):\n    def decode(r): parse_typed('jwt', r, M)", NOT_HANDFASTS, 3
    ),
    "an import that may fail": Broken(
        "try:\n    from handfast.boundary import parse_typed\nexcept ImportError:\n    parse_typed = None\n"
        "def decode(r): return parse_typed('jwt', r, M)",
        NOT_HANDFASTS,
        5,
    ),
    "a nested function only": Broken(
        IMPORT + "def decode(r):\n    def f(): return parse_typed('jwt', r, M)\n    return f()", ONLY_INSIDE
    ),
    "a lambda only": Broken(IMPORT + "def decode(r): return (lambda: parse_typed('jwt', r, M))()", ONLY_INSIDE),
    "a method of an inner class only": Broken(
        IMPORT + "def decode(r):\n    class C:\n        def f(self): parse_typed('jwt', r, M)", ONLY_INSIDE
    ),
    "its own default only": Broken(IMPORT + "def decode(r=parse_typed('jwt', {}, M)): return r", ONLY_INSIDE),
    "its decorator only": Broken(IMPORT + "@deco(parse_typed('jwt', {}, M))\ndef decode(r): return r", ONLY_INSIDE, 3),
    "another label": Broken(IMPORT + "def decode(r): return parse_typed('ws.control', r, M)", ANOTHER),
    "a label from a variable": Broken(IMPORT + "def decode(r): return parse_typed(LABEL, r, M)", NOT_LITERAL),
    "a label put together": Broken(IMPORT + "def decode(r): return parse_typed('j' + 'wt', r, M)", NOT_LITERAL),
    "a label in an f-string": Broken(IMPORT + "def decode(r): return parse_typed(f'jwt', r, M)", NOT_LITERAL),
    "arguments in a star": Broken(IMPORT + "def decode(*a): return parse_typed(*a)", NOT_LITERAL),
    "no arguments": Broken(IMPORT + "def decode(r): return parse_typed()", NOT_LITERAL),
    "one of two definitions": Broken(
        IMPORT + "if A:\n    def decode(r): return parse_typed('jwt', r, M)\nelse:\n    def decode(r): return r",
        NOT_AT_ALL,
        5,
    ),
    "an opt-out in another line": Broken(
        "\ndef decode(\n    r,  # lint-allow: boundary-typed -- own bytes\n): return r", NOT_AT_ALL
    ),
    "an opt-out in a text": Broken("\ndef decode(r='# lint-allow: boundary-typed -- own bytes'): return r", NOT_AT_ALL),
    "an opt-out of another check": Broken(
        "\ndef decode(r): return r  # lint-allow: mcp-admin-guardrail -- own bytes", NOT_AT_ALL
    ),
}


@pytest.mark.requirement("001-15")
@pytest.mark.parametrize("case", BREAKS.values(), ids=BREAKS)
def test_a_boundary_is_not_held_by(case: Broken, tmp_path: Path) -> None:
    hint = 'Call parse_typed("jwt", ...) in this function itself.'
    expected = make_finding("boundary-typed", f"The boundary 'jwt': {case.why}.", hint, file="app.py", line=case.line)
    assert judge(tmp_path, {"app.py": case.source}, DECODE) == [expected]


@pytest.mark.requirement("001-16")
@pytest.mark.parametrize("mark", ["", " --", " -- ", " -- .", " own bytes", " - own bytes"])
def test_an_opt_out_without_a_reason_is_an_error_and_opts_nothing_out(mark: str, tmp_path: Path) -> None:
    source = f"def decode(r): return r  # lint-allow: boundary-typed{mark}\n"
    assert told(judge(tmp_path, {"app.py": source}, DECODE)) == [
        ("boundary-typed", "app.py", 1),
        ("boundary-typed-reason", "app.py", 1),
    ]


@pytest.mark.requirement("001-16")
def test_an_opt_out_without_a_reason_is_an_error_wherever_it_stands(tmp_path: Path) -> None:
    source = "x = 1  # lint-allow: boundary-typed --\n"
    assert told(judge(tmp_path, {"other.py": source})) == [("boundary-typed-reason", "other.py", 1)]


@pytest.mark.requirement("001-15")
@pytest.mark.parametrize("name", ["outer.decode", "outer.<locals>.decode", "Service.decode", "Service.Inner.decode"])
def test_a_boundary_is_found_by_its_qualified_name(name: str, tmp_path: Path) -> None:
    source = """
        from handfast.boundary import parse_typed
        def outer():
            def decode(r): ...
        class Service:
            def decode(self, r): ...
            class Inner:
                def decode(self, r): ...
        def decode(r): return parse_typed("jwt", r, M)
        """
    lines = {"outer.decode": 4, "outer.<locals>.decode": 4, "Service.decode": 6, "Service.Inner.decode": 8}
    found = judge(tmp_path, {"app.py": source}, Boundary("app.py", name, "jwt"))
    assert told(found) == [("boundary-typed", "app.py", lines[name])]


@pytest.mark.requirement("001-15")
def test_a_boundary_that_is_gone_is_an_error_at_its_registry(tmp_path: Path) -> None:
    source = "class A:\n    def twice(self): ...\nclass B:\n    def twice(self): ...\n"
    found = judge(
        tmp_path,
        {"app.py": source},
        Boundary("app.py", "decode", "jwt"),
        Boundary("app.py", "decode", "jwt.lenient", lenient=True),
        Boundary("app.py", "twice", "two"),
        Boundary("gone.py", "decode", "gone"),
    )
    assert [(f.message, f.hint) for f in found] == [
        (
            "The boundary 'gone' must be in gone.py, which does not exist.",
            "Correct the row in the registry, or take it out.",
        ),
        (
            "The boundary 'jwt' must be in the function 'decode', which app.py lacks.",
            "Correct the row in the registry, or take it out.",
        ),
        (
            "The boundary 'jwt.lenient' must be in the function 'decode', which app.py lacks.",
            "Correct the row in the registry, or take it out.",
        ),
        ("The boundary 'two' names 'twice', which app.py has more than once.", "Name one of A.twice, B.twice."),
    ]
    assert {f.place for f in found} == {"pyproject.toml"}


@pytest.mark.requirement("001-15")
def test_a_lenient_boundary_is_not_held_to_parse_typed(tmp_path: Path) -> None:
    assert judge(tmp_path, {"app.py": "def decode(r): ..."}, Boundary("app.py", "decode", "jwt", lenient=True)) == []


def test_without_a_registry_no_function_is_judged(tmp_path: Path) -> None:
    assert judge(tmp_path, {"app.py": "def decode(r): ..."}) == []


def test_a_module_of_the_project_may_hand_parse_typed_on(tmp_path: Path) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/wire.py": "from handfast.boundary import parse_typed as read_typed\n",
        "shop/fake.py": "def parse_typed(label, raw, model): return raw\n",
        "shop/relative.py": "from .wire import read_typed\ndef decode(r): return read_typed('jwt', r, M)\n",
        "shop/absolute.py": "from shop import wire\ndef decode(r): return wire.read_typed('jwt', r, M)\n",
        "shop/fooled.py": "from .fake import parse_typed\ndef decode(r): return parse_typed('jwt', r, M)\n",
    }
    boundaries = [Boundary(f"shop/{name}.py", "decode", "jwt") for name in ("relative", "absolute", "fooled")]
    assert told(judge(tmp_path, files, *boundaries)) == [("boundary-typed", "shop/fooled.py", 2)]
