"""The return values of explicit handlers: texts of a `status` envelope, made from data or an exception."""

import json
import logging

from pydantic_core import to_jsonable_python

from handfast.core.answers.codes import CODE_OF_DOMAIN, CodeBook
from handfast.core.answers.envelopes import Json, status_payload
from handfast.core.answers.errors import ErrorCode, ToolError
from handfast.core.answers.outcome import Failed, Succeeded, make_failure, outcome_of_error
from handfast.core.events import (
    MCP_HANDLER_CAPABILITY_GAP,
    MCP_HANDLER_NOT_IMPLEMENTED,
    MCP_HANDLER_SERVICE_FALLBACK,
)
from handfast.core.words.redaction import scrub_name, scrub_text
from handfast.toolkit.writing.handler_log import logger
from handfast.toolkit.writing.pages import PaginationMeta

_CORE = CodeBook()
_UNEXPECTED = "The tool failed. Do not repeat the call unless that is safe, and report this to the operator."
# Texts for exceptions whose own text is not safe to show.
_SENTENCES = {
    "invalid_argument": "The tool cannot use what the arguments say. Correct them and call again.",
    "not_found": "What the arguments name does not exist. Look up what does and call again.",
    "conflict": "This does not fit the present state. Read the state again and repeat the call.",
    "guardrail_violated": "The call is not allowed as it is. Check what the tool asks for and call again.",
    "not_supported": "The tool cannot do this here. Use another one.",
}


def ok(data: object = None, *, pagination: PaginationMeta | None = None) -> str:
    """The text of a success. Models, dates, UUIDs and the like become JSON as pydantic writes them.

    Raises:
        ValueError: JSON cannot hold the data, such as NaN or a lone surrogate.
    """
    page = None if pagination is None else pagination.model_dump(mode="json")
    text = _text(status_payload(Succeeded(to_jsonable_python(data), page), tool="", codes=_CORE))
    text.encode()  # raises in the handler rather than while sending
    return text


def err(exc: BaseException, *, domain_code: str | None = None, tool: str | None = None) -> str:
    """The text of a failure. Only the texts of ToolErrors are shown; of other exceptions only the class.

    `domain_code` is one of the standard ones, or a code that the server declared.
    """
    code = _code(exc, domain_code)
    codes = _CORE if code in _CORE else CodeBook([code])  # its meaning is looked up when the answer is rendered
    if isinstance(exc, ToolError):
        outcome = outcome_of_error(ToolError(code, exc.message, _writable(exc), recoverable=exc.recoverable), codes)
    else:
        outcome = make_failure(code, _SENTENCES.get(domain_code or "", _UNEXPECTED), codes)
    return _failure(outcome, codes, error_type=type(exc).__name__, tool=tool or "")


def _code(exc: BaseException, domain_code: str | None) -> str:
    own = exc.code if isinstance(exc, ToolError) else ErrorCode.INTERNAL_ERROR
    code = str(CODE_OF_DOMAIN.get(domain_code, domain_code)) if domain_code else str(own)
    return code if code.isidentifier() and code.islower() else ErrorCode.INTERNAL_ERROR


def _writable(error: ToolError) -> dict[str, object]:
    """The details of a failure, or none if JSON cannot hold them."""
    try:
        json.dumps(error.details, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return {}
    return error.details


def capability_gap(tool: str, reason: str) -> str:
    """The text of a failure whose cause is that the system behind the handler cannot do this."""
    text = _log(logging.INFO, MCP_HANDLER_CAPABILITY_GAP, tool, reason)
    message = f"'{scrub_name(tool)}' cannot do this here: {text}. Use another tool."
    return _failure(
        make_failure(ErrorCode.NOT_SUPPORTED, message, _CORE), _CORE, error_type="CapabilityGapError", tool=tool
    )


def not_supported(tool: str, reason: str) -> str:
    """The text of a failure of a tool that is announced but not implemented."""
    text = _log(logging.WARNING, MCP_HANDLER_NOT_IMPLEMENTED, tool, reason)
    message = f"'{scrub_name(tool)}' is not supported: {text}. Use another tool."
    return _failure(
        make_failure(ErrorCode.NOT_SUPPORTED, message, _CORE), _CORE, error_type="NotSupportedError", tool=tool
    )


def service_fallback(tool: str, reason: str) -> str:
    """The text of a failure of a handler that bypassed its service. handfast has none; logs handlers that do."""
    _log(logging.WARNING, MCP_HANDLER_SERVICE_FALLBACK, tool, reason)
    outcome = make_failure(ErrorCode.INTERNAL_ERROR, _UNEXPECTED, _CORE)
    return _failure(outcome, _CORE, error_type="ServiceFallbackError", tool=tool)


def _failure(outcome: Failed, codes: CodeBook, *, error_type: str, tool: str) -> str:
    payload = status_payload(outcome, tool=scrub_name(tool), codes=codes)
    return _text({**payload, "error_type": scrub_name(error_type)})


def _text(payload: Json) -> str:
    return json.dumps(payload, ensure_ascii=False, allow_nan=False)


def _log(level: int, event: str, tool: str, reason: str) -> str:
    """Logs an event; returns the reason in a form that may be shown."""
    shown = scrub_text(reason).rstrip(".")
    fields = {"event": event, "tool_name": scrub_name(tool), "reason": shown}
    logger.log(level, "%s: %s: %s", event, fields["tool_name"], shown, extra=fields)
    return shown
