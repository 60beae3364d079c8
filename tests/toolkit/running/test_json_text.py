"""Values as text: nothing is lost on the way, and what JSON does not have is spelt out for the rules to find."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.toolkit.running.json_text import is_plain, write_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=VALUES)
def test_a_value_is_what_its_text_says_and_odd_numbers_never_pass_for_plain(value: object) -> None:
    text = write_json(value)
    assert repr(json.loads(text)) == repr(value)  # by its spelling, since NaN equals nothing
    assert not is_plain(text) or b"NaN" not in repr(value).encode()


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_are_seen(number: float) -> None:
    assert not is_plain(write_json({"a": [number]}))
    assert is_plain(write_json({"a": [None, 1e308]}))


def test_what_cannot_be_written_is_said_to_be_so() -> None:
    deep: list[object] = []
    for _ in range(500):
        deep = [deep]
    assert json.loads(write_json(deep)) == deep
    itself: list[object] = []
    itself.append(itself)
    with pytest.raises(UnicodeEncodeError):
        write_json({"a": "\ud800"})
    with pytest.raises((ValueError, RecursionError)):
        write_json(itself)
    with pytest.raises(TypeError):
        write_json({"a": object()})
