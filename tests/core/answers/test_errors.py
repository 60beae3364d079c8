"""The closed set of codes."""

from handfast.core.answers.errors import ErrorCode


def test_the_codes_are_exactly_these() -> None:
    assert [code.value for code in ErrorCode] == [
        "invalid_input",
        "not_found",
        "conflict",
        "state_error",
        "guardrail_violated",
        "permission_error",
        "not_supported",
        "not_implemented",
        "output_violation",
        "upstream_error",
        "unavailable",
        "timeout",
        "cancelled",
        "internal_error",
    ]
