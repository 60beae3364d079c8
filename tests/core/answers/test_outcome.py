"""The one outcome, and how it follows from errors and rules."""

import pytest

from handfast.core.answers.codes import CodeBook
from handfast.core.answers.errors import (
    ErrorCode,
    ToolError,
    error_invalid_input,
    error_not_found,
    error_not_implemented,
)
from handfast.core.answers.outcome import Failed, code_of_rule, make_failure, outcome_of_error

CODES = CodeBook(["own_error"])


@pytest.mark.requirement("002-6")
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ToolError("own_error", "No."), Failed("own_error", "No.", True, {})),
        (ToolError("not_supported", "No.", recoverable=True), Failed("not_supported", "No.", True, {})),
        (ToolError(ErrorCode.CONFLICT, "No.", {"id": 1}), Failed("conflict", "No.", True, {"id": 1})),
        (error_invalid_input("No.", field="a"), Failed("invalid_input", "No.", True, {"kind": "value", "field": "a"})),
        (error_not_found("No."), Failed("not_found", "No.", True, {})),
        (error_not_implemented("No.", slice="4"), Failed("not_implemented", "No.", False, {"slice": "4"})),
    ],
)
def test_a_tools_own_error_is_recoverable_as_its_code_says_unless_it_says_otherwise(
    error: ToolError, outcome: Failed
) -> None:
    assert outcome_of_error(error, CODES) == outcome


def test_a_code_that_was_not_declared_is_nobodys_outcome() -> None:
    with pytest.raises(KeyError):
        outcome_of_error(ToolError("nobodys", "No."), CODES)
    with pytest.raises(KeyError):
        make_failure("nobodys", "No.", CODES)


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("access.missing_actor", ErrorCode.GUARDRAIL_VIOLATED),
        ("access.missing_confirm", ErrorCode.GUARDRAIL_VIOLATED),
        ("access.scope", ErrorCode.PERMISSION_ERROR),
        ("arguments.nested_wrapper", ErrorCode.INVALID_INPUT),
        ("arguments.schema", ErrorCode.INVALID_INPUT),
        ("dispatch.unknown_action", ErrorCode.INVALID_INPUT),
        ("result.schema", ErrorCode.OUTPUT_VIOLATION),
        ("result.ambiguous", ErrorCode.OUTPUT_VIOLATION),
    ],
)
def test_every_rule_has_its_code(rule: str, code: ErrorCode) -> None:
    assert code_of_rule(rule) is code
