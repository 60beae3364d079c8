"""The refusals of a view as errors: a code to branch on, and one line that says what to do."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from django.http.response import HttpResponse, HttpResponseBase
from rest_framework.exceptions import NotFound

from handfast.core.answers.errors import ErrorCode, ToolError
from handfast.django.discovery.assembly import OBJECTS
from handfast.django.discovery.tool import ViewTool
from handfast.django.invocation.answers import close_quietly, is_json
from handfast.django.invocation.field_errors import FieldErrors, Unquoting, read_errors

_CODES: Final[Mapping[int, ErrorCode]] = {
    400: ErrorCode.INVALID_INPUT,
    401: ErrorCode.PERMISSION_ERROR,
    402: ErrorCode.PERMISSION_ERROR,
    403: ErrorCode.PERMISSION_ERROR,
    404: ErrorCode.NOT_FOUND,
    405: ErrorCode.NOT_SUPPORTED,
    406: ErrorCode.NOT_SUPPORTED,
    408: ErrorCode.TIMEOUT,
    409: ErrorCode.CONFLICT,
    410: ErrorCode.NOT_FOUND,
    412: ErrorCode.STATE_ERROR,
    413: ErrorCode.INVALID_INPUT,
    415: ErrorCode.NOT_SUPPORTED,
    422: ErrorCode.INVALID_INPUT,
    423: ErrorCode.STATE_ERROR,
    424: ErrorCode.STATE_ERROR,
    428: ErrorCode.STATE_ERROR,
    429: ErrorCode.UNAVAILABLE,
    451: ErrorCode.PERMISSION_ERROR,
    503: ErrorCode.UNAVAILABLE,
}
# Texts of Django and REST framework that say less than we can.
_SAYS_NOTHING: Final = ("Gone", "matches the given query")
_SENTENCES: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.INVALID_INPUT: "The API refused these arguments{said}. Correct them and call again.",
    ErrorCode.PERMISSION_ERROR: "The API does not let this caller do that{said}. Ask the operator for the right to.",
    ErrorCode.CONFLICT: "That conflicts with what is there{said}. Read it, then call again.",
    ErrorCode.STATE_ERROR: "That cannot be done in the present state{said}. Read what is there, then call again.",
    ErrorCode.TIMEOUT: "The API took too long and gave up{said}. Call again later.",
    ErrorCode.NOT_SUPPORTED: "The view behind this tool does not take such a call{said}. Use another tool.",
}
_CRASHED: Final = (
    "The view behind this tool failed. It may have changed something: check before you call again,"
    " and tell the operator, whose log has the reason."
)


def refusal_of(tool: ViewTool, arguments: Mapping[str, Any], response: HttpResponseBase) -> ToolError:  # Any: JSON
    """Turns an answer with a status of 400 or above into an error of the tool."""
    status = response.status_code
    code = _CODES.get(status, ErrorCode.INTERNAL_ERROR if status >= 500 else ErrorCode.INVALID_INPUT)
    match code:
        case ErrorCode.INTERNAL_ERROR:
            # The text of the answer is not passed on: it may be a traceback, or a user's data.
            return crash_error()
        case ErrorCode.UNAVAILABLE:
            return _unavailable(response)
    errors = _errors(tool, arguments, response)
    if code is ErrorCode.NOT_FOUND:
        return _not_found(tool, arguments, str(errors))
    said = f": {errors}" if errors.places else ""
    kind = {"kind": "value", **errors.details} if code is ErrorCode.INVALID_INPUT else {}
    return ToolError(code, _SENTENCES[code].format(said=said), {"status": status, **kind})


def crash_error() -> ToolError:
    return ToolError(ErrorCode.INTERNAL_ERROR, _CRASHED)


def _errors(tool: ViewTool, arguments: Mapping[str, Any], response: HttpResponseBase) -> FieldErrors:  # Any: JSON
    body = _body(response)
    known = tool.input_schema.get("properties", {})
    return read_errors(body, known, Unquoting(arguments), list_under=OBJECTS if tool.takes_list else None)


def _body(response: HttpResponseBase) -> Any:  # Any: what a view answered
    """A view's errors before rendering, where it has them, with codes and original names; else the decoded body."""
    data = getattr(response, "data", None)
    if data is not None:
        return data
    if not isinstance(response, HttpResponse) or not is_json(response):
        close_quietly(response)
        return None
    try:
        return msgspec.json.decode(response.content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _not_found(tool: ViewTool, arguments: Mapping[str, Any], said: str) -> ToolError:  # Any: JSON
    """The error that names the arguments that found nothing, or quotes the author's text where that says more."""
    names = [each.name for each in tool.path.parameters if each.name in arguments]
    what = "The API found nothing there"
    if said and not said.endswith((*_SAYS_NOTHING, str(NotFound.default_detail).rstrip("."))):
        what = f"{what}: {said}"
    elif names:
        listed = "' and '".join(names)
        what = f"Nothing that this caller may see was found by '{listed}'"
    message = f"{what}. Check the arguments, or list what there is, and call again."
    return ToolError(ErrorCode.NOT_FOUND, message, {"arguments": names})


def _unavailable(response: HttpResponseBase) -> ToolError:
    said = response.headers.get("Retry-After", "")
    seconds = int(said) if said.isdecimal() and len(said) <= 9 else None
    wait = "a while" if seconds is None else f"{seconds} seconds"
    return ToolError(
        ErrorCode.UNAVAILABLE,
        f"The API takes no more calls for now. Wait {wait}, then call again.",
        {"status": response.status_code}
        if seconds is None
        else {"status": response.status_code, "retry_after_s": seconds},
    )
