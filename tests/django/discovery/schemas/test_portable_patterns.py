"""Patterns of Python in a schema: only those that mean the same to everybody."""

import re

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.django.discovery.schemas.portable_patterns import portable, whole

SAME = {
    r"^[a-z]+$": "^[a-z]+$",
    r"\A[a-z]+\Z": "^[a-z]+$",
    r"^(?P<year>[0-9]{4})-(?:a|b)\Z": "^(?<year>[0-9]{4})-(?:a|b)$",
    r"^a\\Z$": r"^a\\Z$",
    r"[.]\d\.": r"[.]\d\.",
}


@pytest.mark.parametrize(("pattern", "written"), SAME.items())
def test_a_plain_pattern_is_kept(pattern: str, written: str) -> None:
    assert portable(pattern) == written


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        (r"^(?!x)a$", 0),
        (r"(?<=x)a", 0),
        (r"(a)\1", 0),
        (r"(?P<n>a)(?P=n)", 0),
        (r"(?i)a", 0),
        (r"a++", 0),
        (r"^\w+$", 0),
        (r"\ba", 0),
        ("a", re.IGNORECASE),
        ("a b", re.VERBOSE),
        ("^a$", re.MULTILINE),
        ("a" * 301, 0),
        ("a{1,1000}{1,1000}", 0),
    ],
)
def test_what_others_read_differently_or_not_at_all_is_left_to_the_serializer(pattern: str, flags: int) -> None:
    assert portable(pattern, flags) is None


def test_letters_are_the_same_everywhere_once_they_are_ascii() -> None:
    assert portable(r"^[-\w]+\Z", re.ASCII) == r"^[-\w]+$"


@given(st.sampled_from(sorted(SAME)), st.text("az019-.Z\\b\n", max_size=6))
def test_both_let_the_same_texts_through(pattern: str, text: str) -> None:
    # Python's `$` also stands before a last newline; nobody else's does.
    if re.search(pattern, text) is not None and not text.endswith("\n"):
        assert jsonschema_rs.is_valid({"pattern": portable(pattern)}, text)
    if re.search(pattern, text) is None:
        assert not jsonschema_rs.is_valid({"pattern": portable(pattern)}, text)


def test_a_part_of_a_path_is_matched_as_a_whole() -> None:
    assert (whole("a|b"), whole(r"(?=x)")) == ("^(?:a|b)$", None)
