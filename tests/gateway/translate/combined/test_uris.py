"""Two spellings of one URI are one, and two URIs stay two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.translate.combined.uris import comparable, has_dot_segments

pytestmark = pytest.mark.requirement("S9")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HTTPS://Docs.Example/a", "https://docs.example/a"),
        ("https://docs.example/%6fne", "https://docs.example/one"),
        ("https://docs.example/%c3%a9", "https://docs.example/%C3%A9"),
        ("https://%64ocs.example", "https://docs.example"),
        ("URN:isbn:1", "urn:isbn:1"),
    ],
)
def test_what_means_the_same_is_the_same(one: str, other: str) -> None:
    assert comparable(one) == comparable(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://docs.example/A", "https://docs.example/a"),
        ("https://Ada@docs.example/", "https://ada@docs.example/"),
        ("https://docs.example/a%2Fb", "https://docs.example/a/b"),
        ("https://docs.example/%2541", "https://docs.example/%41"),
        ("urn:ISBN:1", "urn:isbn:1"),
        ("x://a", "x:a"),
    ],
)
def test_what_may_mean_two_things_is_two(one: str, other: str) -> None:
    assert comparable(one) != comparable(other)


@given(st.text(max_size=40), st.sampled_from(["", "x:", "https://", "HTTPS://H%41/"]))
def test_no_text_is_too_odd_and_one_pass_is_enough(text: str, head: str) -> None:
    form = comparable(head + text)
    assert comparable(form) == form
    assert has_dot_segments(form) in (True, False)
