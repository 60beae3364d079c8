"""What may be shown or stored: names scrubbed and capped, secrets masked wherever they stand."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.redaction import redact_value, scrub_name, scrub_names, scrub_text

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
    "hf_abcdefghijklmnopqrstuv-wxyz_0123456789abcdefg",
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


WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=40)


@pytest.mark.requirement("003-8")
@given(ANY_TEXT | st.text(min_size=500, max_size=3000))
def test_free_text_becomes_one_printable_line_of_bounded_length(text: str) -> None:
    shown = scrub_text(text)
    assert shown.isprintable()
    assert len(shown) <= 500
    shown.encode()


@pytest.mark.requirement("003-8")
@pytest.mark.parametrize("secret", SECRETS)
@given(before=WORDS, after=WORDS)
def test_what_looks_like_a_secret_is_masked_in_free_text(secret: str, before: str, after: str) -> None:
    assert secret not in scrub_text(f"{before} {secret} {after}")


NAMES = ["password", "DB_PASSWORD", "x-auth-token", "api_key", "clientSecret", "session id", "Cookie"]
PAIRS = ["{}={}", "{}: {}", "{}='{}'", '"{}": "{}"', "{} => {}", "{}\n=\n{}", '\\"{}\\": \\"{}\\"', "?a=1&{}={}"]


@pytest.mark.requirement("003-8")
@given(
    st.sampled_from(NAMES),
    st.sampled_from(PAIRS),
    st.text("hunter2,;&(){}[]@", min_size=6, max_size=12).filter(lambda value: value not in "[redacted]"),
    WORDS.filter(lambda text: '"' not in text and "'" not in text),
)
def test_what_stands_under_a_secret_name_is_masked_in_free_text(name: str, pair: str, value: str, before: str) -> None:
    shown = scrub_text(f"{before} {pair.format(name, value)} after")
    assert value not in shown.removeprefix(before)
    assert shown.endswith("after")


@pytest.mark.requirement("003-8")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no row with id 7", "no row with id 7"),
        ("a\nb\x00\u202e", "a b??"),
        ("password='hun ter' for ada", "password=[redacted] for ada"),
        ("password='never closed, and more", "password=[redacted]"),
        ("Authorization: Basic dXNlcjpwdw== to host", "Authorization: [redacted] to host"),
        ("connect postgres://ada:hunter2@db/x failed", "connect postgres://ada:[redacted]@db/x failed"),
        ("x" * 600, "x" * 499 + "…"),
        ("word " * 395 + "sk-abcdefghijklmnopqrstuv" * 10, "word " * 99 + "word…"),
        ("sk-abcdefghijklmnop " * 99 + "sk-abcdefghijklmnopqrstuv" * 9, "[redacted] " * 45 + "[red…"),
        ("y" * 3000, "…"),
    ],
)
def test_free_text_is_shown_as_it_is_but_for_that(text: str, shown: str) -> None:
    assert scrub_text(text) == shown


def test_a_secret_that_the_end_cuts_short_is_dropped() -> None:
    text = "sk-abcdefghijklmnop " * 99 + " " * 10 + "sk-abcdefghijklmnop"
    assert "sk-" not in scrub_text(text, most=10_000)


def test_hostile_text_is_scrubbed_at_once() -> None:
    started = time.perf_counter()
    for text in (
        "passw" * 1000,
        "password" + " " * 4000,
        "a://" * 1000,
        'password="' * 500,
        "eyJ" * 1500,
        "password" + "\\" * 4000,
    ):
        scrub_text(text)
    assert time.perf_counter() - started < 0.5
