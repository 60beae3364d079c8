"""Log lines of handlers for failed calls: three kinds with fixed fields, from one logger, without secrets."""

import json
import logging
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from uuid import UUID

from pydantic import ValidationError

from handfast.boundary import errors_of
from handfast.core.answers.errors import ToolError
from handfast.core.events import (
    MCP_HANDLER_ARGUMENT_INVALID,
    MCP_HANDLER_GUARDRAIL_VIOLATED,
    MCP_HANDLER_INVOKE_FAILED,
)
from handfast.core.words.model_errors import UNSEEN, describe_model_errors
from handfast.core.words.redaction import is_secret_name, redact_value, scrub_name, scrub_sentence, scrub_text

logger = logging.getLogger("handfast.toolkit.handlers")

_OWN_FIELDS = frozenset({"tool_name", "error_type", "error", "event", "log_level"})
_RECORDS_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_LONGEST_WORDS = 500  # the same as for any other text in a line
_LARGEST = 2**64  # a larger number is not an id, and Python refuses to print very long ones


def log_handler_argument_invalid(tool: str, exc: BaseException) -> None:
    """Logs that arguments were refused."""
    _log(logging.WARNING, MCP_HANDLER_ARGUMENT_INVALID, tool, exc, {})


def log_handler_invoke_failed(tool: str, exc: BaseException, **context: object) -> None:
    """Logs that a handler failed; the context identifies the case, such as `task_id=…`.

    Raises:
        ValueError: a key of the context would hide one of the line's own fields.
    """
    _log(logging.ERROR, MCP_HANDLER_INVOKE_FAILED, tool, exc, context)


def log_handler_guardrail_violated(tool: str, exc: BaseException) -> None:
    """Logs that a destructive call lacked an actor, a confirmation or a reason."""
    context = {"violation": getattr(exc, "violation", "")}
    _log(logging.WARNING, MCP_HANDLER_GUARDRAIL_VIOLATED, tool, exc, context)


def _log(level: int, event: str, tool: str, exc: BaseException, context: Mapping[str, object]) -> None:
    """Logs one line: the event, the tool, the class of the error and its scrubbed text."""
    hidden = sorted((_OWN_FIELDS | _RECORDS_FIELDS).intersection(context))
    if hidden:
        message = f"The context has keys that the log line needs for itself: {', '.join(hidden)}. Call them otherwise."
        raise ValueError(message)
    fields = {
        "event": event,
        "log_level": logging.getLevelName(level).lower(),
        "tool_name": scrub_name(tool),
        "error_type": scrub_name(type(exc).__name__),
        "error": describe_exception(exc),
        **{scrub_name(key): scrub_context_value(key, value) for key, value in context.items()},
    }
    # No exc_info, because a traceback contains the exception's own text.
    logger.log(
        level, "%s: %s: %s: %s", *(fields[key] for key in ("event", "tool_name", "error_type", "error")), extra=fields
    )


def describe_exception(exc: BaseException) -> str:
    """An exception's text without secrets; a model's errors in our words, as pydantic's quote the values."""
    if isinstance(exc, ToolError):
        return scrub_text(exc.message)
    if isinstance(exc, ValidationError):
        words = describe_model_errors(errors_of(exc), UNSEEN, show_names=True)
        return scrub_sentence("; ".join(str(told) for told in words))[:_LONGEST_WORDS]
    try:
        return scrub_text(str(exc))
    except Exception:  # noqa: BLE001  # an exception that cannot be printed; its class is in the line
        return ""


def scrub_context_value(key: str, value: object) -> object:
    """A value of the context in loggable form: numbers unchanged, all else as text without secrets."""
    if is_secret_name(key):
        return "[redacted]"
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, Enum):
        return scrub_text(value.name)
    if isinstance(value, int):
        return value if abs(value) < _LARGEST else "<int>"
    if isinstance(value, BaseException):
        return describe_exception(value)
    if isinstance(value, str | date | time | Decimal | UUID | PurePath):
        return scrub_text(str(value))
    return _structure(value) if isinstance(value, dict | list | tuple) else f"<{scrub_name(type(value).__name__)}>"


def _structure(value: object) -> str:
    try:
        text = json.dumps(redact_value(value), default=lambda inner: f"<{type(inner).__name__}>", ensure_ascii=False)
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"
    return scrub_text(text)
