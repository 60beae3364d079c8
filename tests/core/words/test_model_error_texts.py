"""Every error type that pydantic knows has words of ours, and no type at all is without."""

from typing import Any, get_args

import pytest
from pydantic_core import PydanticKnownError
from pydantic_core._pydantic_core import list_all_errors
from pydantic_core.core_schema import ErrorType

from handfast.core.words.model_error_texts import A_RULE, AUTHORS_RULE, read_options, text_of
from handfast.core.words.model_errors import describe_model_errors

KNOWN: dict[str, dict[str, Any]] = {
    error["type"]: error.get("example_context") or {} for error in list_all_errors()
}  # Any: examples
NAME_THEMSELVES = {
    "missing": "must have the property 'x'",
    "missing_argument": "must have the property 'x'",
    "missing_keyword_only_argument": "must have the property 'x'",
    "missing_positional_only_argument": "must have the property 'x'",
    "extra_forbidden": "has 1 property that is not allowed: 'x'",
    "unexpected_keyword_argument": "has 1 property that is not allowed: 'x'",
}
# Of these only the author, a library or an exception has words, and they may quote what was sent.
TOLD_AS_A_RULE = {"value_error", "assertion_error", "no_such_attribute", "get_attribute_error", "iteration_error"}


def test_the_list_of_types_is_pydantics_own() -> None:
    assert len(KNOWN) > 100
    assert set(get_args(ErrorType)) <= set(KNOWN)


@pytest.mark.requirement("D7")
@pytest.mark.parametrize("kind", sorted(KNOWN))
def test_every_type_has_words(kind: str) -> None:
    error = {"type": kind, "loc": ("x",), "msg": "s3cret", "ctx": KNOWN[kind]}
    (told,) = describe_model_errors([error], {"x": 1 if kind == "none_required" else None}, show_names=True)
    assert "s3cret" not in str(told)
    if kind in NAME_THEMSELVES:
        assert str(told) == NAME_THEMSELVES[kind]
    else:
        assert (told.text == A_RULE) == (kind in TOLD_AS_A_RULE)


@pytest.mark.parametrize("kind", sorted(KNOWN))
def test_a_type_without_its_context_still_has_words(kind: str) -> None:
    values: tuple[object, ...] = (None, True, 1, 1.5, "s3cret", [], {})
    for value in values:
        assert describe_model_errors([{"type": kind, "loc": ("x",)}], {"x": value})
        assert describe_model_errors([{"type": kind, "loc": ()}], value)


@pytest.mark.parametrize(
    ("kind", "context", "text"),
    [
        ("greater_than", {"gt": 1.5}, "must be more than 1.5"),
        ("less_than_equal", {"le": "2026-03-01"}, "must be at most 2026-03-01"),
        ("bytes_too_short", {"min_length": 2}, "must have at least 2 bytes"),
        ("url_too_long", {"max_length": 1}, "must have at most 1 character"),
        ("url_scheme", {"expected_schemes": "'http' or 'https'"}, "must be a URL that starts with http:// or https://"),
        ("uuid_version", {"expected_version": 4}, "must be a UUID of version 4"),
        ("decimal_max_digits", {"max_digits": 3}, "must have at most 3 digits"),
        ("decimal_max_places", {"decimal_places": 2}, "must have at most 2 decimal places"),
        ("decimal_whole_digits", {"whole_digits": 1}, "must have at most 1 digit before the decimal point"),
        ("bytes_invalid_encoding", {"encoding": "base64", "encoding_error": "s3"}, "must be encoded as base64"),
        ("timezone_offset", {"tz_expected": 3600, "tz_actual": 31}, "must have a time zone offset of 3600 seconds"),
        ("too_short", {"field_type": "Dictionary", "min_length": 2}, "must have at least 2 properties"),
        ("enum", {"expected": "<Weird: 1>"}, "must be one of <Weird: 1>"),
        ("no_such_type_of_any_library", {}, A_RULE),
    ],
)  # fmt: skip
def test_limits_and_options_are_the_authors_own(kind: str, context: dict[str, Any], text: str) -> None:  # Any: as above
    assert text_of(kind, context, actual="a string") == text


def test_limits_are_read_from_what_pydantic_really_sends() -> None:
    for kind, context in KNOWN.items():
        if context and None not in context.values():
            PydanticKnownError(kind, context)  # type: ignore[arg-type]  # a literal of the library's; raises when the context is not its own


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("'a', 1 or None", ("a", 1, None)),
        ("'a'", ("a",)),
        ("'red or blue' or 'green'", ("red or blue", "green")),
        ("'green' or 'red or blue'", ("green", "red or blue")),
        ("'x or y'", ("x or y",)),
        ("True or False", (True, False)),
        ("<Colour.RED: 1>", None),
        ("", None),
    ],
)
def test_options_are_read_back(text: str, options: tuple[object, ...] | None) -> None:
    assert read_options(text) == options


def test_only_a_rule_that_was_written_as_a_literal_speaks_for_itself() -> None:
    assert text_of(AUTHORS_RULE, {}, actual="a string", message="must come after 'since'") == "must come after 'since'"
    assert text_of(AUTHORS_RULE, {}, actual="a string", message="a\nb" + "x" * 500) == "a?b" + "x" * 194 + "..."
    assert text_of("value_error", {}, actual="a string", message="Value error, s3cret") == A_RULE
    email = "value is not a valid email address: s3cret"
    assert (
        text_of("value_error", {}, actual="a string", message=email)
        == "must be an email address such as ada@example.com"
    )
