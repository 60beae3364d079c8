"""What an admin handler asks first: an actor, a confirmation and a reason."""

from collections.abc import Mapping
from typing import Literal, get_args

from handfast.core.answers.errors import ErrorCode, ToolError
from handfast.core.call.guardrails import GUARDRAIL_PROPERTIES, check_guardrails
from handfast.core.call.policy import Violation
from handfast.toolkit.writing.actor import is_known

GuardrailViolation = Literal["missing_actor", "missing_confirm", "missing_reason"]


class GuardrailViolationError(ToolError):
    """A destructive call that does not bring what it must; `violation` says which."""

    def __init__(self, violation: Violation) -> None:
        kind = _KINDS[violation.rule]
        super().__init__(ErrorCode.GUARDRAIL_VIOLATED, violation.message, {"violation": kind})
        self.violation: GuardrailViolation = kind


_KINDS: dict[str, GuardrailViolation] = {f"access.{kind}": kind for kind in get_args(GuardrailViolation)}


def require_admin_guardrails(arguments: Mapping[str, object], actor: object) -> None:
    """Refuse a call without an actor who can be named, a literal `confirm: true`, or a reason that can be read.

    Raises:
        GuardrailViolationError: with what is missing, and what to do.
    """
    violation = check_guardrails(arguments, has_actor=is_known(actor))
    if violation is not None:
        raise GuardrailViolationError(violation)


__all__ = ["GUARDRAIL_PROPERTIES", "GuardrailViolation", "GuardrailViolationError", "require_admin_guardrails"]
