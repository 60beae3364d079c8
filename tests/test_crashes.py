"""What is logged of an exception that nobody foresaw."""

import pytest

from handfast.crashes import describe_crash, where_it_happened


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError


def crash(text: str) -> Exception:
    try:
        try:
            raise KeyError(text)
        except KeyError:
            raise ValueError(f"while reading https://host/x?key={text}")  # noqa: B904 - what a slip looks like
    except ValueError as error:
        return error


@pytest.mark.requirement("S10")
def test_a_crash_is_told_with_its_causes_and_places_and_without_secrets() -> None:
    text = describe_crash(crash("sk-abcdefghijklmnop"))
    assert "sk-abc" not in text
    first, second = text.split("\nwhich led to:\n")
    assert first.splitlines()[-1] == "KeyError: '[redacted]'"
    assert second.splitlines()[-1] == "ValueError: while reading https://host/x?[redacted]"
    assert 'test_crashes.py", line' in first
    assert 'test_crashes.py", line' in second


@pytest.mark.requirement("S10")
def test_a_crash_tells_of_what_it_hides_on_purpose_nothing() -> None:
    error = crash("x")
    error.__suppress_context__ = True
    assert describe_crash(error).count("Error: ") == 1


def test_an_exception_that_cannot_be_printed_is_told_by_its_class() -> None:
    assert describe_crash(Unprintable()) == "Unprintable: "


def test_causes_without_end_come_to_an_end() -> None:
    error = ValueError("x")
    for _ in range(20):
        error.__cause__, error = error, ValueError("x")
    error = ValueError("last")
    error.__cause__ = error
    assert describe_crash(error).count("ValueError") == 5


def test_a_place_is_told_without_the_text_of_the_error() -> None:
    where = where_it_happened(crash("x"))
    assert where.endswith("in crash")
    assert "reading" not in where
    assert where_it_happened(ValueError()) == "an unknown place"
