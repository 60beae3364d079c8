"""The outcome of a toolkit tool's call, which every envelope renders."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import msgspec

from handfast.core.answers.codes import CodeBook
from handfast.core.answers.errors import ErrorCode, ToolError

_NOTHING: Mapping[str, object] = MappingProxyType({})


class Succeeded(msgspec.Struct, frozen=True):
    """A success. `data` is JSON; `pagination` (total, offset, limit) is set if a handler gives it separately."""

    data: object
    pagination: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure. `message` tells the agent what happened, then what to do. Callers branch on `code`."""

    code: str
    message: str
    is_recoverable: bool
    details: Mapping[str, object] = field(default_factory=lambda: _NOTHING)


Outcome = Succeeded | Failed


def make_failure(code: str, message: str, codes: CodeBook, **details: object) -> Failed:
    return Failed(str(code), message, codes.meaning(code).is_recoverable, details)


def outcome_of_error(error: ToolError, codes: CodeBook) -> Failed:
    """The outcome for a tool's own failure. Raises: KeyError, for a code that its server did not declare."""
    meaning = codes.meaning(error.code)
    is_recoverable = meaning.is_recoverable if error.recoverable is None else error.recoverable
    return Failed(error.code, error.message, is_recoverable, error.details)


def code_of_rule(rule: str) -> ErrorCode:
    """The code of a call or result that was stopped by a rule."""
    if rule.startswith("access.missing_"):
        return ErrorCode.GUARDRAIL_VIOLATED
    if rule.startswith("access."):
        return ErrorCode.PERMISSION_ERROR
    if rule.startswith("result."):
        return ErrorCode.OUTPUT_VIOLATION
    return ErrorCode.INVALID_INPUT
