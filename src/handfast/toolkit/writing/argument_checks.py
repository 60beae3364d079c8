"""Checks for handlers without an args model: the guardrails of an admin tool, and arguments by type."""

import re
from collections.abc import Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any, Literal, TypeVar, overload

from handfast.core.answers.errors import ErrorCode, ToolError
from handfast.core.call import rules
from handfast.core.call.guardrails import check_guardrails, has_text
from handfast.core.call.policy import Violation
from handfast.core.words.redaction import scrub_name
from handfast.toolkit.writing.actor import identifier_of, is_known, name_of

DEFAULT_LIMIT = 50  # short, because an assistant reads every line of an answer
MOST_LIMIT = 500
ANONYMOUS = "mcp-anonymous"

T = TypeVar("T")

_NON_BLANK = "non-blank string"
_MOMENT = "date and time with a time zone, such as 2026-03-01T09:30:00Z"
# datetime.fromisoformat accepts any character between date and time.
_ISO_8601 = re.compile(r"[0-9W-]{8,10}[T ][0-9:.,]+(?:Z|[+-][0-9:]+)", re.ASCII)
_NAMES: dict[type, str] = {
    str: "string",
    int: "whole number",
    float: "number",
    bool: "boolean",
    dict: "JSON object",
    list: "JSON array",
}
GuardrailViolation = Literal["missing_actor", "missing_confirm", "missing_reason"]
_KINDS: dict[str, GuardrailViolation] = {
    rules.ACCESS_MISSING_ACTOR: "missing_actor",
    rules.ACCESS_MISSING_CONFIRM: "missing_confirm",
    rules.ACCESS_MISSING_REASON: "missing_reason",
}


class ArgumentValidationError(ToolError):
    """One argument is missing or of the wrong type."""

    def __init__(self, name: str, expected: str) -> None:
        message = f"Argument '{scrub_name(name)}' missing or not a {expected}"
        super().__init__(ErrorCode.INVALID_INPUT, message, {"kind": "shape"})
        self.name = name
        self.expected = expected


def _given(arguments: object, key: str) -> object:
    """The argument of this name, or None. Raises: ArgumentValidationError, if the arguments are not an object."""
    if not isinstance(arguments, Mapping):
        raise ArgumentValidationError("arguments", _NAMES[dict])
    return arguments.get(key)


def require_arg(arguments: Mapping[str, object], key: str, ty: type[T]) -> T:
    """The argument, of this type. As in JSON, a boolean is not a number, 2.0 is a whole number and 2 a number.

    Raises:
        ArgumentValidationError: it is missing or of another type.
    """
    value = _as_type(_given(arguments, key), ty)
    if value is None:
        raise ArgumentValidationError(key, _NAMES.get(ty, ty.__name__))
    return value


def _as_type(value: object, ty: type[T]) -> T | None:
    if isinstance(value, bool) and ty is not bool:
        return None
    converted: Any = value  # Any: of the type that is asked for, by the checks here
    if ty is int and isinstance(value, float) and value.is_integer():
        converted = int(value)
    if ty is float and isinstance(value, int):
        converted = _as_float(value)
    return converted if isinstance(converted, ty) else None


def _as_float(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def require_non_blank(arguments: Mapping[str, object], key: str) -> str:
    """The argument, a string with visible characters; returned as it was sent."""
    value = _given(arguments, key)
    if isinstance(value, str) and has_text(value):
        return value
    raise ArgumentValidationError(key, _NON_BLANK)


def get_optional_str(arguments: Mapping[str, object], key: str) -> str | None:
    """The same for an optional argument: None if it is absent or null."""
    return None if _given(arguments, key) is None else require_non_blank(arguments, key)


def require_dict(
    arguments: Mapping[str, object], key: str, *, value_type: type | None = None, deep_copy: bool = True
) -> dict[str, Any]:  # Any: JSON values, or all of `value_type`
    """The argument, an object; a deep copy unless that is switched off."""
    expected = "JSON object" if value_type is None else f"JSON object of {_NAMES.get(value_type, value_type.__name__)}s"
    value = _given(arguments, key)
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ArgumentValidationError(key, expected)
    if value_type is not None:
        value = {name: _as_type(inner, value_type) for name, inner in value.items()}
        if None in value.values():
            raise ArgumentValidationError(key, expected)
    try:
        return deepcopy(value) if deep_copy else value
    except (TypeError, ValueError, RecursionError):
        raise ArgumentValidationError(key, expected) from None  # it holds a value that cannot come from JSON


@overload
def parse_time_window(
    arguments: Mapping[str, object], *, until_required: Literal[True] = True
) -> tuple[datetime, datetime]: ...
@overload
def parse_time_window(arguments: Mapping[str, object], *, until_required: bool) -> tuple[datetime, datetime | None]: ...
def parse_time_window(
    arguments: Mapping[str, object], *, until_required: bool = True
) -> tuple[datetime, datetime | None]:
    """`since` and `until`, both with a time zone, the first before the second."""
    since = _require_moment(arguments, "since")
    if _given(arguments, "until") is None and not until_required:
        return since, None
    until = _require_moment(arguments, "until")
    if since >= until:
        raise ArgumentValidationError("until", "moment after 'since'")
    return since, until


def _require_moment(arguments: Mapping[str, object], key: str) -> datetime:
    value = _given(arguments, key)
    text = value.strip().upper() if isinstance(value, str) else ""
    try:
        moment = datetime.fromisoformat(text) if _ISO_8601.fullmatch(text) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ArgumentValidationError(key, _MOMENT)
    return moment


def parse_str_sequence(arguments: Mapping[str, object], key: str) -> tuple[str, ...]:
    """The argument, an array of strings that are not blank; empty if it is absent or null."""
    value = _given(arguments, key)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) and has_text(item) for item in value):
        raise ArgumentValidationError(key, "JSON array of non-blank strings")
    return tuple(value)


def coerce_pagination(arguments: Mapping[str, object], *, default_limit: int = DEFAULT_LIMIT) -> tuple[int, int]:
    """`offset` and `limit`, each with its default if it is absent or null."""
    default_limit = min(max(default_limit, 1), MOST_LIMIT)
    offset = 0 if _given(arguments, "offset") is None else _as_type(_given(arguments, "offset"), int)
    limit = default_limit if _given(arguments, "limit") is None else _as_type(_given(arguments, "limit"), int)
    if offset is None or offset < 0:
        raise ArgumentValidationError("offset", "whole number of 0 or more")
    if limit is None or not 1 <= limit <= MOST_LIMIT:
        raise ArgumentValidationError("limit", f"whole number from 1 to {MOST_LIMIT}")
    return offset, limit


def actor_id(actor: object) -> str | None:
    """The caller's id, or None."""
    return identifier_of(actor) or None


def require_actor_id(actor: object) -> str:
    """The caller's id.

    Raises:
        ArgumentValidationError: the caller has none.
    """
    found = identifier_of(actor)
    if not found:
        raise ArgumentValidationError("actor", "caller who is signed in with an id")
    return found


def actor_label(actor: object) -> str:
    """A name for the caller where nothing depends on it, such as in a log."""
    return name_of(actor) or identifier_of(actor) or ANONYMOUS


class GuardrailViolationError(ToolError):
    """A destructive call without a required actor, confirmation or reason; `violation` says which."""

    def __init__(self, violation: Violation) -> None:
        kind = _KINDS[violation.rule]
        super().__init__(ErrorCode.GUARDRAIL_VIOLATED, violation.message, {"violation": kind})
        self.violation: GuardrailViolation = kind


def require_admin_guardrails(arguments: Mapping[str, object], actor: object) -> None:
    """Refuses a call without a named actor, a literal `confirm: true`, or a visible reason.

    Raises:
        GuardrailViolationError: with what is missing, and what to do.
    """
    given: object = arguments
    # Arguments that are not an object count as empty.
    violation = check_guardrails(given if isinstance(given, Mapping) else {}, has_actor=is_known(actor))
    if violation is not None:
        raise GuardrailViolationError(violation)
