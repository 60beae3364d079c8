"""The common look: tables that fit, text that cannot harm."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.cli.shared import console


@given(st.text())
def test_escaped_text_is_always_printable(text: str) -> None:
    assert console.escape(text).isprintable()


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert console.escape(text) == text


@given(st.text(), st.integers(1, 20))
def test_cut_text_never_exceeds_its_width(text: str, width: int) -> None:
    assert console.display_width(console.cut(text, width)) <= width


@given(
    st.integers(2, 5).flatmap(lambda n: st.lists(st.lists(st.text(max_size=60), min_size=n, max_size=n), min_size=1)),
    st.integers(50, 120),
)
def test_a_table_fits_whatever_is_in_it(rows: list[list[str]], width: int) -> None:
    lines = console.render_table(["H"] * len(rows[0]), rows, width=width)
    assert len(lines) == len(rows) + 1
    assert max(map(console.display_width, lines)) <= width


def test_only_the_long_column_is_cut() -> None:
    assert console.render_table(["A", "B"], [["short", "x" * 50], ["s", "y"]], width=20) == [
        "A      B",
        "short  " + "x" * 12 + "…",
        "s      y",
    ]


def test_without_a_width_nothing_is_cut() -> None:
    assert console.render_table(["A"], [["x" * 500]]) == ["A", "x" * 500]


def test_wide_characters_keep_the_columns_straight() -> None:
    assert console.render_table(["NAME", "N"], [["日本", 1], ["abcd", None]]) == ["NAME  N", "日本  1", "abcd"]


@pytest.mark.parametrize(("cell", "shown"), [(-1, -1), (2.5, 2.5), (None, None), ("-1", "'-1"), ("a=b", "a=b")])
def test_only_text_that_looks_like_a_formula_is_marked(cell: console.Cell, shown: console.Cell) -> None:
    assert console.csv_cell(cell) == shown


def test_a_failed_command_ends_with_a_line_for_each_problem_and_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    def body() -> int:
        raise console.CommandFailed("It broke.\nBadly.", 2)

    assert console.run_command(body) == 2
    assert capsys.readouterr() == ("", "handfast: It broke.\nhandfast: Badly.\n")


@pytest.mark.requirement("S10")
def test_what_is_logged_holds_no_secret_of_an_exception_and_drives_no_terminal() -> None:
    program = (
        "import logging\nfrom handfast.cli.shared.console import log_to_stderr\nlog_to_stderr()\n"
        "try: raise KeyError('token=sk-abcdefghijklmnop')\n"
        "except KeyError: logging.getLogger('asyncio').exception('odd \\x9b2J thing')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, *_, last = done.stderr.splitlines()
    assert (first, last) == ("handfast: odd \\x9b2J thing", "KeyError: 'token=[redacted]")
    assert "sk-" not in done.stderr


def test_ctrl_c_ends_a_command_without_a_traceback() -> None:
    def body() -> int:
        raise KeyboardInterrupt

    assert console.run_command(body) == 130


def test_the_first_column_stays_whole_and_the_last_gives_way_first() -> None:
    lines = console.render_table(["ID", "RULE", "REASON"], [["0123456789", "arguments.x", "w" * 90]], width=60)
    assert lines[1] == "0123456789  arguments.x  " + "w" * 34 + "…"
    (line,) = console.render_table(["ID", "RULE", "REASON"], [["0123456789", "r" * 40, "w" * 90]], width=60)[1:]
    assert line.startswith("0123456789  rrr")
    assert len(line) == 60


def test_the_first_column_is_whole_and_columns_that_have_no_room_are_left_out() -> None:
    row = ["0123456789abcdef", "2026-01-01", "blocked", "tool_call", "files", "write", "result.schema", "why"]
    for width in range(16, 120):
        header, line = console.render_table(["C"] * len(row), [row], width=width)
        assert line.split("  ")[0] == row[0]
        assert max(len(header), len(line)) <= width
