"""Strings of formats, patterns and lengths: each is what it is said to be."""

import re

import jsonschema_rs
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from handfast.toolkit.testing.generate.texts import FORMATS, texts

# Formats of pydantic's own, which JSON Schema does not know.
OWN = {"uuid1", "uuid3", "uuid4", "uuid5", "ipvanyaddress", "json-string", "base64url"}


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - OWN))
def test_a_string_of_a_format_is_one(name: str) -> None:
    schema = {"type": "string", "format": name}
    validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)

    @given(FORMATS[name])
    def each(text: str) -> None:
        assert validator.is_valid(text)

    each()


@pytest.mark.parametrize("pattern", [r"^\d{3}-\w+$", "ab?c", r".*\S.*", "^(?:a|b){2,4}$"])
def test_a_string_of_a_pattern_matches_it(pattern: str) -> None:
    strategy = texts({"pattern": pattern, "maxLength": 30})
    assert strategy is not None

    @given(strategy)
    def each(text: str) -> None:
        assert re.search(pattern, text, re.ASCII)
        assert len(text) <= 30
        text.encode()

    each()


SLOW_FOR_RE = [r"^([a-z0-9]+-?)+$", r"^(\w+\s?)+$", "^(a+)+$", "(?:^(a+)+$|b)", "^(?=.*b)(a+|b)+$", "(a+)+(?=b)"]


@pytest.mark.parametrize("pattern", SLOW_FOR_RE)
def test_a_pattern_that_backtracks_without_end_is_made_at_once(pattern: str) -> None:
    strategy = texts({"pattern": pattern})
    assert strategy is not None
    validator = jsonschema_rs.Draft202012Validator({"pattern": pattern})

    @given(strategy)
    def each(text: str) -> None:
        assert validator.is_valid(text)

    each()


@pytest.mark.parametrize("pattern", ["b", "^b", "b$"])
def test_text_stands_around_a_pattern_where_it_has_no_anchor(pattern: str) -> None:
    strategy = texts({"pattern": pattern})
    assert strategy is not None
    assert find(strategy, lambda text: text != "b")


@pytest.mark.parametrize("pattern", [r"\p{Lu}", "(", "(?u)a"])
def test_a_pattern_that_python_does_not_read_gives_any_text(pattern: str) -> None:
    strategy = texts({"pattern": pattern})
    assert strategy is not None
    assert find(strategy, lambda text: text == "a") == "a"  # which the whole schema judges later


@given(st.integers(0, 20), st.integers(0, 20), st.data())
def test_a_string_has_the_length_that_is_asked_for(shortest: int, longest: int, data: st.DataObject) -> None:
    strategy = texts({"minLength": shortest, "maxLength": longest})
    assert (strategy is None) == (shortest > longest)
    if strategy is not None:
        assert shortest <= len(data.draw(strategy)) <= longest
