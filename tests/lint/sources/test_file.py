"""Reading Python files: what cannot be parsed is a finding that names its line, and opt-outs are comments."""

import os
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.lint.findings import Finding
from handfast.lint.sources.file import OptOut, SourceFile, read_source
from handfast.lint.sources.scopes import Function

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
