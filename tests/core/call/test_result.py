"""Rules for results, called directly: presence, size, depth, words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.policy import OutputPolicy, Posture, Violation
from handfast.core.call.result import (
    ambiguous_violation,
    blocked_text,
    check_guards,
    check_presence,
    schema_violation,
)


@pytest.mark.requirement("004-8")
def test_missing_content_is_a_violation_only_where_it_is_to_be_blocked() -> None:
    assert check_presence(OutputPolicy()) is None
    assert check_presence(OutputPolicy(missing_structured_content=Posture.BLOCK)) == Violation(
        "result.missing", "the tool declares an output schema but sent no structured content"
    )


@pytest.mark.requirement("004-6")
@given(size=st.integers(2, 300), limit=st.integers(1, 300))
def test_size_is_counted_in_bytes_of_the_text(size: int, limit: int) -> None:
    violation = check_guards(b'"' + b"x" * (size - 2) + b'"', OutputPolicy(max_bytes=limit))
    expected = f"the structured content has {size} bytes, over the limit of {limit}"
    assert violation == (Violation("result.max_bytes", expected) if size > limit else None)


@pytest.mark.requirement("004-6")
@given(depth=st.integers(0, 90), limit=st.integers(1, 90), is_object=st.booleans())
def test_depth_is_counted_in_levels(depth: int, limit: int, is_object: bool) -> None:
    opener, closer = (b'{"a":', b"}") if is_object else (b"[", b"]")
    violation = check_guards(opener * depth + b"1" + closer * depth, OutputPolicy(max_depth=limit))
    expected = f"the structured content is nested deeper than the limit of {limit} levels"
    assert violation == (Violation("result.max_depth", expected) if depth > limit else None)


@pytest.mark.requirement("004-6")
def test_the_defaults_are_five_mebibytes_and_sixty_four_levels() -> None:
    policy = OutputPolicy()
    assert (policy.max_bytes, policy.max_depth) == (5 * 1024 * 1024, 64)
    assert check_guards(b'"' + b"x" * (5 * 1024 * 1024 - 2) + b'"', policy) is None
    assert check_guards(b"[" * 64 + b"]" * 64, policy) is None


@pytest.mark.requirement("D16")
def test_size_comes_before_depth() -> None:
    violation = check_guards(b"[[[]]]", OutputPolicy(max_bytes=5, max_depth=1))
    assert violation is not None
    assert violation.rule == "result.max_bytes"


@pytest.mark.requirement("D16")
def test_words_of_all_violations_are_joined() -> None:
    assert schema_violation(("a: x", "b: y")) == Violation(
        "result.schema", "the structured content does not match the declared output schema: a: x; b: y"
    )
    assert schema_violation(()).message.endswith("declared output schema: the schema was not met")
    assert ambiguous_violation("why") == Violation("result.ambiguous", "the structured content is ambiguous: why")


@pytest.mark.requirement("004-4")
def test_the_text_in_place_of_a_result_says_what_happened_and_what_to_do() -> None:
    assert blocked_text("add", "it is wrong") == (
        "The result of 'add' was blocked: it is wrong. The tool did run; do not repeat the call unless that is safe. "
        "Report this to the operator, who finds it under `handfast activity list --status blocked`."
    )
