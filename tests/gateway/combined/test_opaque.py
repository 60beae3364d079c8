"""What clients keep for us comes back exactly, and anything else is noticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.combined.opaque import Tampered, unwrap, wrap

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(_TEXT, _TEXT)
def test_the_same_comes_back(server: str, state: str) -> None:
    assert unwrap("state", wrap("state", (server, state)), tuple[str, str]) == (server, state)


@given(_TEXT, st.data())
def test_a_text_that_was_changed_anywhere_is_noticed(state: str, data: st.DataObject) -> None:
    text = wrap("state", ("s", state))
    place = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 2))
    changed = text[:place] + data.draw(st.text("aZ09-_=. é", max_size=2)) + text[place + cut :]
    if changed != text:
        with pytest.raises(Tampered):
            unwrap("state", changed, tuple[str, str])


@pytest.mark.parametrize("state", ["", "a", "ab"])
def test_a_last_character_that_decodes_alike_is_noticed(state: str) -> None:
    text = wrap("state", ("s", state))
    for other in set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") - {text[-1]}:
        with pytest.raises(Tampered):
            unwrap("state", text[:-1] + other, tuple[str, str])


@given(st.text())
def test_what_was_never_given_out_is_noticed(text: str) -> None:
    with pytest.raises(Tampered):
        unwrap("state", text, tuple[str, str])


def test_what_was_given_out_for_something_else_is_noticed() -> None:
    with pytest.raises(Tampered):
        unwrap("tools/list", wrap("state", ("s", "x")), tuple[str, str])
    with pytest.raises(Tampered):
        unwrap("state", wrap("state", "s"), tuple[str, str])
