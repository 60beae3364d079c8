"""Names followed across the files of a project."""

import ast
import os
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.lint.findings import Finding
from handfast.lint.sources.modules import (
    External,
    Local,
    Modules,
    OptOut,
    SourceFile,
    UnknownMeaning,
    package_of,
    read_source,
)
from handfast.lint.sources.scopes import Function
from tests.lint.project_files import write_files

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def read(folder: Path, content: str | bytes) -> SourceFile | Finding:
    path = folder / "x.py"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_source(path, "shown.py")


def parsed(folder: Path, content: str) -> SourceFile:
    file = read(folder, dedent(content))
    assert isinstance(file, SourceFile)
    return file


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("x = 1\ndef (:\n", 2, f"This is not Python {VERSION}: invalid syntax."),
        ("x = (\n", 1, f"This is not Python {VERSION}: '(' was never closed."),
        (
            "if x:\npass\n",
            2,
            f"This is not Python {VERSION}: expected an indented block after 'if' statement on line 1.",
        ),
        (b"\x89PNG\r\n\x1a\n", 1, None),
        (b"x = 1\n\xff\xfe\n", 2, None),
        (b"# coding: no-such-coding\n", 1, f"This is not Python {VERSION}: unknown encoding: no-such-coding."),
        (b"x\x00y", 1, None),
        ("(" * 5_000 + ")" * 5_000, 1, None),
    ],
)
def test_what_does_not_parse_is_a_finding_with_its_line(
    content: str | bytes, line: int, message: str | None, tmp_path: Path
) -> None:
    found = read(tmp_path, content)
    assert isinstance(found, Finding)
    assert (found.id, found.file, found.line) == ("source-unreadable", "shown.py", line)
    if message is None:  # versions of Python tell it in words of their own
        assert found.message.startswith("This is not Python")
    else:
        assert found.message == message


def test_a_file_that_cannot_be_opened_is_a_finding(tmp_path: Path) -> None:
    found = read_source(tmp_path / "gone.py", "gone.py")
    assert isinstance(found, Finding)
    assert found.message == "The file cannot be read: No such file or directory."


@pytest.mark.parametrize("content", ["\ufeffx = 1\n", "", "x = '\\d'\n", "if 1 is 1: pass\n"])
def test_odd_files_parse_and_their_warnings_are_nobodys(content: str, tmp_path: Path) -> None:
    assert isinstance(read(tmp_path, content), SourceFile)


def test_other_encodings_are_read_as_they_say(tmp_path: Path) -> None:
    file = read(tmp_path, "# coding: latin-1\nx = 1  # größe # lint-allow: boundary-typed -- größe\n".encode("latin-1"))
    assert isinstance(file, SourceFile)
    assert file.opt_outs == [OptOut("boundary-typed", 2, has_reason=True)]


def test_opt_outs_are_comments_and_not_texts(tmp_path: Path) -> None:
    file = parsed(
        tmp_path,
        """
        a = "# lint-allow: boundary-typed -- a text"
        b = 1  # lint-allow: boundary-typed -- one # lint-allow: mcp-admin-guardrail
        '''
        # lint-allow: boundary-typed -- a text again
        '''
        #lint-allow:other-thing   --   two
        c = 1  # lint-allow: boundary-typed -- --
        """,
    )
    assert file.opt_outs == [
        OptOut("boundary-typed", 3, has_reason=True),
        OptOut("mcp-admin-guardrail", 3, has_reason=False),
        OptOut("other-thing", 7, has_reason=True),
        OptOut("boundary-typed", 8, has_reason=False),
    ]
    assert [(f.id, f.line) for f in file.missing_reasons()] == [
        ("mcp-admin-guardrail-reason", 3),
        ("boundary-typed-reason", 8),
    ]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def f(): pass", 1),
        ("def f():\n    pass", 1),
        ("def f(\n    a, b={1: 2},\n    c=lambda: 0,\n) -> dict[1:2]:\n\n    # not here\n    pass", 4),
        ("@d\ndef f():\n    @d(x[1:2])\n    def g(): ...", 2),
        ("def f(a: int, b: int): x = {1: 2}; y: int = 1", 1),
        ("def f(\n    a\n):\n    '''doc: string'''", 3),
    ],
)
def test_the_header_ends_at_its_colon(source: str, line: int, tmp_path: Path) -> None:
    file = parsed(tmp_path, source)
    node = file.tree.body[0]
    assert isinstance(node, Function)
    assert file.header_end(node) == line


@given(st.binary(max_size=60))
def test_any_bytes_are_a_file_or_a_finding(content: bytes) -> None:
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"handfast-any-bytes-{os.getpid()}.py"
    try:
        path.write_bytes(content)
        found = read_source(path, "x.py")
    finally:
        path.unlink()
    assert isinstance(found, SourceFile | Finding)
    if isinstance(found, SourceFile):
        assert found.missing_reasons() == []


SHOP = {
    "src/shop/__init__.py": "from .wire import decode as public_decode\n",
    "src/shop/wire.py": "from handfast.boundary import parse_typed as read\ndef decode(): ...\n"
    "class Box:\n    def m(self): ...\n",
    "src/shop/round.py": "from .about import x\n",
    "src/shop/about.py": "from .round import x\n",
    "src/shop/all.py": "from .wire import *\n",
    "src/shop/broken.py": "def (\n",
}


def meant(folder: Path, source: str, files: dict[str, str] = SHOP) -> list[str]:
    """What the last expression of src/shop/app.py stands for."""
    write_files(folder, files | {"src/shop/app.py": source})
    return ask(Modules(folder, {}), folder / "src/shop/app.py")


def _told(meaning: object) -> str:
    match meaning:
        case External(dotted):
            return dotted
        case Local(file, node):
            return f"{file.path.name}:{node.lineno}"
        case _:
            assert meaning == UnknownMeaning()
            return "?"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os.path as p\np.join", "os.path.join"),
        ("import os.path\nos.path.join", "os.path.join"),
        ("from handfast.toolkit import admin_tool\nadmin_tool", "handfast.toolkit.admin_tool"),
        ("from handfast import toolkit\ntoolkit.toolbox.Toolbox", "handfast.toolkit.toolbox.Toolbox"),
        ("from .wire import read\nread", "handfast.boundary.parse_typed"),
        ("from shop.wire import read\nread", "handfast.boundary.parse_typed"),
        ("import shop.wire\nshop.wire.read", "handfast.boundary.parse_typed"),
        ("from . import wire\nwire.read", "handfast.boundary.parse_typed"),
        ("from .all import read\nread", "handfast.boundary.parse_typed"),
        ("from .wire import *\nread", "handfast.boundary.parse_typed"),
        ("from handfast.toolkit import *\nfrom os import *\nadmin_tool", "handfast.toolkit.admin_tool"),
        ("from os import *\nfrom sys import *\nthing", "os.thing sys.thing"),
        ("from .wire import decode\ndecode", "wire.py:2"),
        ("from shop import public_decode as d\nd", "wire.py:2"),
        ("from .wire import Box\nBox.m", "wire.py:4"),
        ("from .wire import Box\nBox.other", "?"),
        ("from .wire import Box\nBox().m", "?"),
        ("from .round import x\nx", "?"),
        ("from .broken import x\nx", "shop.broken.x"),
        ("from .gone import x\nx", "shop.gone.x"),
        ("from ... import x\nx", "?"),
        ("nowhere", "?"),
        ("x = y = x\nx", "?"),
        ("def f(): ...\ng = h = f\nh", "app.py:1"),
        ("f = lambda: 0\nf", "app.py:1"),
        ("try: from os import x\nexcept E: x = None\nx", "? os.x"),
    ],
)
def test_a_name_stands_for(source: str, expected: str, tmp_path: Path) -> None:
    assert meant(tmp_path, source) == expected.split()


def ask(modules: Modules, path: Path) -> list[str]:
    """What the last expression of a file stands for."""
    file = read_source(path, path.name)
    assert isinstance(file, SourceFile)
    last = file.tree.body[-1]
    assert isinstance(last, ast.Expr)
    return sorted(map(_told, modules.meanings(last.value, file)))


def test_packages_in_the_src_folder_are_found_from_anywhere(tmp_path: Path) -> None:
    write_files(tmp_path, SHOP | {"scripts/serve.py": "from shop.wire import read\nread\n"})
    assert ask(Modules(tmp_path, {}), tmp_path / "scripts/serve.py") == ["handfast.boundary.parse_typed"]


def test_a_module_beside_a_file_is_that_files_own(tmp_path: Path) -> None:
    use = "from tool import f\nf\n"
    write_files(tmp_path, {"a/x.py": use, "b/x.py": use, "b/tool.py": "def f(): ...\n", "c/x.py": use})
    modules = Modules(tmp_path, {})
    assert [ask(modules, tmp_path / f"{name}/x.py") for name in "abc"] == [["tool.f"], ["tool.py:1"], ["tool.f"]]


def test_a_long_chain_of_names_is_given_up_on(tmp_path: Path) -> None:
    chain = "".join(f"x{n} = x{n + 1}\n" for n in range(100)) + "def x100(): ...\n"
    assert meant(tmp_path, f"{chain}x0") == ["?"]
    assert meant(tmp_path, f"{chain}x95") == ["app.py:101"]


def test_names_that_stand_for_each_other_are_each_looked_into_once(tmp_path: Path) -> None:
    web = "".join(f"x{one} = x{other}\n" for one in range(12) for other in range(12))
    assert meant(tmp_path, f"{web}def x7(): ...\nx0") == ["?", "app.py:145"]


def test_packages_are_counted_from_the_first_folder_without_init(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/b/__init__.py": "", "a/b/c/__init__.py": "", "a/b/c/d.py": ""})
    assert package_of(tmp_path / "a/b/c/d.py") == (tmp_path.resolve() / "a", ("b", "c"))
