"""What may be shown or stored: names scrubbed and capped, secrets masked wherever they stand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.redaction import redact_value, scrub_name, scrub_names

ANY_TEXT = st.text(st.characters(exclude_categories=[]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
SECRETS = (
    "Bearer abc.def-ghi",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig_nature",
    "sk-abcdefghijklmnop",
    "ghp_abcdefghijklmnopqrstuv",
    "AKIAABCDEFGHIJKLMNOP",
    "-----BEGIN RSA PRIVATE KEY-----",
    "0123456789abcdef0123456789abcdef",
)


@pytest.mark.requirement("D17")
@given(ANY_TEXT)
def test_a_shown_name_is_printable_and_at_most_sixty_four_characters_and_a_mark(name: str) -> None:
    shown = scrub_name(name)
    assert shown.isprintable()
    assert len(shown) <= 65
    assert len(name) > 64 or len(shown) == len(name)
    shown.encode()  # never half a character


@pytest.mark.requirement("D17")
@given(st.lists(ANY_TEXT, max_size=30))
def test_at_most_twenty_names_are_shown_and_a_mark_for_the_rest(names: list[str]) -> None:
    shown = scrub_names(names)
    assert shown == [scrub_name(name) for name in names[:20]] + (["..."] if len(names) > 20 else [])


def test_a_plain_name_is_shown_as_it_is() -> None:
    assert scrub_name("first_name") == "first_name"
    assert scrub_name("a\nb\x00c\u202e") == "a?b?c?"
    assert scrub_name("x" * 65) == "x" * 64 + "…"


@pytest.mark.requirement("D17")
@pytest.mark.parametrize(
    "name",
    [
        "password",
        "DB_PASSWORD",
        "passphrase",
        "clientSecret",
        "x-auth-token",
        "Authorization",
        "Cookie",
        "apiKey",
        "api_key",
    ],
)
def test_whatever_stands_under_a_secret_name_is_masked(name: str) -> None:
    assert redact_value({name: {"deep": [1, "x"]}, "other": 1}) == {name: "[redacted]", "other": 1}


@pytest.mark.requirement("D17")
@pytest.mark.parametrize("secret", SECRETS)
def test_what_looks_like_a_secret_is_masked_wherever_it_stands(secret: str) -> None:
    redacted = json.dumps(redact_value({"note": f"use {secret} please", "list": [{"a": secret}]}))
    assert secret not in redacted
    assert "use [redacted]" in redacted


@pytest.mark.requirement("D17")
@given(JSON, st.sampled_from(SECRETS), st.sampled_from(["password", "token"]))
def test_no_secret_survives_inside_any_value(value: object, secret: str, name: str) -> None:
    redacted = json.dumps(redact_value({"a": [value, secret], "b": {name: secret, "c": {"d": [secret]}}}))
    assert secret not in redacted


@given(JSON)
def test_redaction_leaves_the_original_as_it_was(value: object) -> None:
    before = json.dumps(value)
    redact_value(value)
    assert json.dumps(value) == before


def test_what_is_nested_too_deeply_to_look_into_is_masked() -> None:
    deep: object = "visible"
    for _ in range(20):
        deep = [deep]
    assert "visible" not in json.dumps(redact_value(deep))
