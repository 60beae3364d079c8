"""Whose a URI is: a list before a link, a link before a template, and no guess between two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.translate.combined.ownership import By, Claims, UriOwner, explain_no_owner, find_owner

pytestmark = [pytest.mark.requirement("S9"), pytest.mark.requirement("E5")]
_SOME = st.lists(st.sampled_from("abc"), unique=True).map(lambda names: tuple(sorted(names)))


@pytest.mark.parametrize(
    ("claims", "owner"),
    [
        (Claims(), None),
        (Claims(listed=("b",), linked=("a", "b"), templated=("a",)), UriOwner("b", By.LIST, ("a",))),
        (Claims(listed=("a", "b")), UriOwner("a", By.LIST, ("b",))),
        (Claims(linked=("b",)), UriOwner("b", By.LINK)),
        (Claims(linked=("b",), templated=("a",)), UriOwner("b", By.LINK, ("a",))),
        (Claims(linked=("a", "b")), None),
        (Claims(linked=("a", "b"), templated=("b", "c")), None),
        (Claims(linked=("a", "b"), templated=("a", "b")), None),
        (Claims(templated=("b",)), UriOwner("b", By.TEMPLATE)),
        (Claims(templated=("a", "b")), None),
        (Claims(fitting=("a",)), None),
    ],
)
def test_what_servers_say_decides_whose_it_is(claims: Claims, owner: UriOwner | None) -> None:
    assert find_owner(claims) == owner


@given(_SOME, _SOME, _SOME)
def test_nobody_owns_what_he_has_not_claimed_and_a_list_is_never_overruled(
    listed: tuple[str, ...], linked: tuple[str, ...], templated: tuple[str, ...]
) -> None:
    claims = Claims(listed, linked, templated, templated)
    owner = find_owner(claims)
    if owner is None:
        assert not listed
        assert explain_no_owner(claims).endswith(("is meant.", "/mcp/<server>."))
    else:
        assert owner.server in (listed or linked or templated)
        assert owner.server not in owner.others


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        (Claims(linked=("a", "b")), "More than one server claims this URI: a, b."),
        (Claims(templated=("a", "b")), "More than one server claims this URI: a, b."),
        (Claims(fitting=("a",)), "Only templates that fit any URI of their scheme fit this one, of: a."),
        (Claims(), "No server has listed, linked or templated this URI."),
    ],
)
def test_a_refusal_says_why_and_what_to_do(claims: Claims, words: str) -> None:
    said = explain_no_owner(claims)
    assert said.startswith(words)
    assert "/mcp/<server>" in said


def test_a_refusal_stays_short_however_many_servers_there_are() -> None:
    assert len(explain_no_owner(Claims(fitting=tuple(f"server-{n}" for n in range(500))))) < 500
