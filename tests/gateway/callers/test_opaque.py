"""What clients keep for us comes back exactly, and anything else is noticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.callers.opaque import Seal, Tampered

pytestmark = pytest.mark.requirement("S8")
_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_SEAL = Seal(b"key")
_STATE = ("state", "tools/call", "s__t")
Pair = tuple[str, str]


@given(_TEXT, _TEXT)
def test_the_same_comes_back(server: str, state: str) -> None:
    assert _SEAL.unwrap(_STATE, _SEAL.wrap(_STATE, (server, state)), tuple[str, str]) == (server, state)


def test_it_comes_back_after_a_restart_and_not_under_another_key() -> None:
    text = _SEAL.wrap(_STATE, ("s", "x"))
    assert Seal(b"key").unwrap(_STATE, text, tuple[str, str]) == ("s", "x")
    with pytest.raises(Tampered):
        Seal(b"another").unwrap(_STATE, text, tuple[str, str])


@given(_TEXT, st.data())
def test_a_text_that_was_changed_anywhere_is_noticed(state: str, data: st.DataObject) -> None:
    text = _SEAL.wrap(_STATE, ("s", state))
    place = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 2))
    changed = text[:place] + data.draw(st.text("aZ09-_=. é", max_size=2)) + text[place + cut :]
    if changed != text:
        with pytest.raises(Tampered):
            _SEAL.unwrap(_STATE, changed, tuple[str, str])


@pytest.mark.parametrize("state", ["", "a", "ab"])
def test_a_last_character_that_decodes_alike_is_noticed(state: str) -> None:
    text = _SEAL.wrap(_STATE, ("s", state))
    for other in set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") - {text[-1]}:
        with pytest.raises(Tampered):
            _SEAL.unwrap(_STATE, text[:-1] + other, tuple[str, str])


@given(st.text() | st.none())
def test_what_was_never_given_out_is_noticed(text: str | None) -> None:
    with pytest.raises(Tampered):
        _SEAL.unwrap(_STATE, text, tuple[str, str])


@given(st.tuples(_TEXT, _TEXT), st.tuples(_TEXT, _TEXT), _TEXT)
def test_what_was_given_out_for_something_else_is_noticed(first: Pair, second: Pair, own: str) -> None:
    text = _SEAL.wrap(first, ("s", own))
    if first != second:
        with pytest.raises(Tampered):
            _SEAL.unwrap(second, text, tuple[str, str])
    with pytest.raises(Tampered):
        _SEAL.unwrap((*first, *second), text, tuple[str, str])


@given(_TEXT)
def test_nothing_that_a_server_says_makes_it_another_servers(own: str) -> None:
    """What a server sends is inside, as one text, whatever it looks like."""
    assert _SEAL.unwrap(_STATE, _SEAL.wrap(_STATE, ("b", f'"],["a","{own}')), tuple[str, str])[0] == "b"


def test_what_another_version_gave_out_is_refused_though_its_mark_is_right() -> None:
    with pytest.raises(Tampered):
        _SEAL.unwrap(_STATE, _SEAL.wrap(_STATE, "s"), tuple[str, str])
