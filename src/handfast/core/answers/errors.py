"""The closed set of error codes, and the exception that carries one."""

from collections.abc import Mapping
from enum import StrEnum


class ErrorCode(StrEnum):
    """Why a call failed. Callers branch on the code, never on the message. Adding one is a recorded decision."""

    INVALID_INPUT = "invalid_input"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    STATE_ERROR = "state_error"
    GUARDRAIL_VIOLATED = "guardrail_violated"
    PERMISSION_ERROR = "permission_error"
    NOT_SUPPORTED = "not_supported"
    NOT_IMPLEMENTED = "not_implemented"
    OUTPUT_VIOLATION = "output_violation"
    UPSTREAM_ERROR = "upstream_error"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    INTERNAL_ERROR = "internal_error"


class ToolError(Exception):
    """A tool's own failure: a code to branch on, words for the agent, and details that may grow.

    `recoverable` says whether another call may succeed; None means the default of the code.
    """

    def __init__(
        self,
        code: str,
        message: str,
        details: Mapping[str, object] | None = None,
        *,
        recoverable: bool | None = None,
    ) -> None:
        if not isinstance(message, str):
            # Most likely an exception object, whose text is not meant for the agent.
            raise TypeError(
                "The message of a ToolError must be text for the agent; write what happened and what to do."
            )
        super().__init__(message)
        self.code = str(code)
        self.message = message
        self.details: dict[str, object] = dict(details or {})
        self.recoverable = recoverable


def error_invalid_input(message: str, **details: object) -> ToolError:
    return ToolError(ErrorCode.INVALID_INPUT, message, {"kind": "value", **details})


def error_not_found(message: str, **details: object) -> ToolError:
    return ToolError(ErrorCode.NOT_FOUND, message, details)


def error_not_implemented(message: str, **details: object) -> ToolError:
    """For a tool that ships in two phases; the detail `slice` names the phase that brings it."""
    return ToolError(ErrorCode.NOT_IMPLEMENTED, message, details)
