"""The closed set of codes, and what the exceptions carry."""

import pytest

from handfast.core.answers.errors import CallRefused, ErrorCode, ToolInputError


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


@pytest.mark.requirement("000-4")
def test_wrong_arguments_are_refused_as_invalid_input() -> None:
    refused = ToolInputError("Argument 'x' is missing. Add it.")
    assert isinstance(refused, CallRefused)
    assert (refused.code, refused.message) == (ErrorCode.INVALID_INPUT, "Argument 'x' is missing. Add it.")
