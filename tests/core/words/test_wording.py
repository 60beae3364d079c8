"""The words that violations share: short, printable, and plural where they must be."""

from hypothesis import given
from hypothesis import strategies as st

from handfast.core.words import wording
from handfast.core.words.wording import Wording
from tests.core.words.test_redaction import ANY_TEXT


@given(ANY_TEXT)
def test_whatever_is_quoted_is_printable_and_short(text: str) -> None:
    shown = wording.scrubbed(text)
    assert shown.isprintable()
    assert len(shown) == min(len(text), 64)
    shown.encode()


@given(st.lists(ANY_TEXT | st.integers(), max_size=100))
def test_a_path_shows_only_indexes_and_declared_names(parts: list[str | int]) -> None:
    hidden = wording.path_of(parts, frozenset(), show_names=False)
    assert hidden == "/".join(str(part) if isinstance(part, int) else "*" for part in parts[:64])
    assert wording.path_of(["items", 0, "id"], frozenset({"items"}), show_names=False) == "items/0/*"
    assert wording.path_of(["items", 0, "id"], frozenset(), show_names=True) == "items/0/id"


def test_one_is_told_from_many() -> None:
    assert [wording.counted(1, "item"), wording.counted(2, "item")] == ["1 item", "2 items"]
    assert [wording.properties(1), wording.properties(0)] == ["1 property", "0 properties"]
    assert wording.undeclared(["a"], show_names=True) == "has 1 property that is not allowed: 'a'"
    assert wording.undeclared(["a"], show_names=True, count=9) == "has 9 properties that are not allowed: 'a', ..."


def test_null_comes_last_in_a_list_of_types() -> None:
    assert wording.wrong_type(["null", "integer"], "a string") == "must be an integer or null, not a string"


def test_a_wording_about_the_whole_value_has_no_place() -> None:
    assert [str(Wording("", "must be null")), str(Wording("a/0", "must be null"))] == [
        "must be null",
        "a/0: must be null",
    ]
