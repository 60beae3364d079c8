"""Foreign text for a terminal: everything in it can be seen, and JSON still says the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.words.printable import escape, escape_text, fold_name, json_text


@pytest.mark.requirement("S6")
@pytest.mark.parametrize("spelled", ["Email", "EMAIL", "e mail", " email ", "email\0", "e\u00a0mail", "\u2028email"])
def test_case_nul_and_blanks_make_no_difference(spelled: str) -> None:
    assert fold_name(spelled) == "email"


@pytest.mark.parametrize("other", ["e-mail", "e_mail", "emails", "\u00e9mail", ""])
def test_everything_else_does(other: str) -> None:
    assert fold_name(other) != "email"


@given(st.text())
def test_no_blank_and_no_nul_is_left(name: str) -> None:
    once = fold_name(name)
    assert "\0" not in once
    assert once == "".join(once.split())


ANY_TEXT = st.text(st.characters(exclude_categories=[]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
# What moves the cursor, changes the direction, ends a line where nobody sees it, or cannot be written at all.
DANGERS = (
    "\x00\x07\x08\x0b\x0c\x1b\x7f\x80\x85\x90\x9b\x9d\x9f\xad\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202e"
    "\u2060\u2066\u2069\ufeff\ufff9\U000e0001\ud800\ue000"
)


@pytest.mark.requirement("S10")
@given(ANY_TEXT)
def test_what_is_escaped_can_be_seen(text: str) -> None:
    assert escape(text).isprintable()
    assert all(char.isprintable() or char in "\n\t\u200c\u200d" for char in escape_text(text))


@pytest.mark.requirement("S10")
@given(JSON)
def test_json_that_can_be_seen_says_the_same(value: object) -> None:
    for indent in (None, 2):
        text = json_text(value, indent=indent)
        assert json.loads(text) == value
        assert text.replace("\n", "").isprintable()
        text.encode()


@pytest.mark.requirement("S10")
@pytest.mark.parametrize("danger", DANGERS, ids=ascii)
def test_each_danger_is_spelt_out(danger: str) -> None:
    spelt = danger.encode("unicode_escape").decode()
    assert escape(f"a{danger}b") == escape_text(f"a{danger}b") == f"a{spelt}b"
    assert danger not in json_text({danger: [danger]})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本", "plain é 日本"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("Windows\r\nand\rolder", "Windows\nand\nolder"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[8mhidden\x1b[0m", "hidden"),
        ("\x1b[\x1b[0m31mnested", "\\x1b[31mnested"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
    ],
)
def test_a_text_keeps_its_lines_and_words(text: str, shown: str) -> None:
    assert escape_text(text) == shown
