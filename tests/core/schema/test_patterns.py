"""Each pattern is given to the engine that can match it, or its fault is named."""

import pytest

from handfast.core.schema.patterns import backtracking_engine, can_match, linear_engine, pattern_fault

pytestmark = pytest.mark.requirement("S3")

SIZE = 1 << 20


@pytest.mark.parametrize(
    "pattern", ["(a", "[z-a]", "*a", "(?=", "a{2,1}", "(?=a)(b", "\ud800"], ids=lambda text: ascii(text)
)
def test_what_is_no_regular_expression_is_named_as_such(pattern: str) -> None:
    assert pattern_fault(pattern, SIZE) == "is not a valid regular expression"


@pytest.mark.parametrize("pattern", [r"\p{Nonsense}", r"(?<x>a)\k<x>", r"(?=x)\p{Nonsense}{2}"])
def test_what_no_engine_has_is_not_called_invalid(pattern: str) -> None:
    assert pattern_fault(pattern, SIZE) == "uses something that no engine here can match"


@pytest.mark.parametrize(
    "pattern", [r"^(\p{L}{1,1000}){1,50}$", "(?:.{1000}){1000}", "(?:ab){3}" * 1_000, "(?=a)", "a++(?=b)"]
)
def test_size_and_look_around_are_no_faults_of_the_pattern(pattern: str) -> None:
    assert pattern_fault(pattern, SIZE) == ""


@pytest.mark.parametrize("pattern", [r"^(?=.*[A-Z])", "(?!-)", "(?<=a)b", "(?<!a)b", r"(a)\1"])
def test_only_the_backtracking_engine_looks_around(pattern: str) -> None:
    assert (can_match(pattern, linear_engine(SIZE)), can_match(pattern, backtracking_engine(SIZE))) == (False, True)
