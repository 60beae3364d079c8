"""The three forms in which an outcome may be sent: rendering, schema, and reading it back."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, assert_never

from handfast.core.answers.codes import CODE_OF_DOMAIN, DOMAIN_CODES, CodeBook
from handfast.core.answers.errors import ErrorCode
from handfast.core.answers.outcome import Failed, Outcome, Succeeded

Json = dict[str, Any]  # Any: JSON values

META_CODE: Final = "handfast/code"
META_RECOVERABLE: Final = "handfast/recoverable"
META_DETAILS: Final = "handfast/details"

_PAGINATION_SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {name: {"type": "integer", "minimum": 0} for name in ("total", "offset", "limit")},
    "required": ["total", "offset", "limit"],
    "additionalProperties": False,
}
_NULL: Final[Json] = {"type": "null"}
_ERROR_TYPES: Final = {
    ErrorCode.INVALID_INPUT.value: "ArgumentValidationError",
    ErrorCode.GUARDRAIL_VIOLATED.value: "GuardrailViolationError",
}


class Envelope(StrEnum):
    """plain: the tool's own result. result: `{success, data, error}`. status: `{status, …}`."""

    PLAIN = "plain"
    RESULT = "result"
    STATUS = "status"


class NotAnEnvelope(ValueError):
    """A payload that does not have the form it should have."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """One outcome in one form: `payload` is the structured content and, as JSON, the text; failures may be text only.

    A payload that should be an object but is not stays unchanged and is not wrapped; the schema check reports it.
    """

    payload: Any  # Any: JSON; None where there is only text
    text: str = ""
    meta: Mapping[str, object] | None = None


def render(envelope: Envelope, outcome: Outcome, *, tool: str, codes: CodeBook, wraps: bool = False) -> Rendered:
    """Renders an outcome. `wraps`: the plain form puts the tool's data under `result`, because it is not an object."""
    if isinstance(outcome, Succeeded):
        return Rendered(success_payload(envelope, outcome, wraps=wraps))
    match envelope:
        case Envelope.PLAIN:
            return _plain_failure(outcome)
        case Envelope.RESULT:
            return Rendered(result_payload(outcome))
        case Envelope.STATUS:
            return Rendered(status_payload(outcome, tool=tool, codes=codes))
        case _:
            assert_never(envelope)


def success_payload(envelope: Envelope, outcome: Succeeded, *, wraps: bool = False) -> Any:  # Any: JSON
    """The structured content of a success; most calls need only this function of the file."""
    if envelope is Envelope.PLAIN:
        data = _paged(outcome)
        return {"result": data} if wraps else data
    if envelope is Envelope.RESULT:
        return result_payload(outcome)
    return _status_success(outcome)


def _plain_failure(outcome: Failed) -> Rendered:
    meta: Json = {META_CODE: outcome.code, META_RECOVERABLE: outcome.is_recoverable}
    if outcome.details:
        meta[META_DETAILS] = dict(outcome.details)
    return Rendered(None, outcome.message, meta)


def result_payload(outcome: Outcome) -> Json:
    if isinstance(outcome, Succeeded):
        return {"success": True, "data": _paged(outcome), "error": None}
    error = {
        "code": outcome.code,
        "message": outcome.message,
        "details": dict(outcome.details),
        "recoverable": outcome.is_recoverable,
    }
    return {"success": False, "data": None, "error": error}


def status_payload(outcome: Outcome, *, tool: str, codes: CodeBook) -> Json:
    if isinstance(outcome, Succeeded):
        return _status_success(outcome)
    payload: Json = {
        "status": "error",
        "error_type": error_type(outcome.code),
        "domain_code": codes.meaning(outcome.code).domain_code,
        "message": outcome.message,
        "tool": tool,
        "code": outcome.code,
        "recoverable": outcome.is_recoverable,
    }
    if outcome.details:
        payload["details"] = dict(outcome.details)
    return payload


def _status_success(outcome: Succeeded) -> Json:
    payload: Json = {"status": "ok", "data": outcome.data}
    if outcome.pagination is not None:
        payload["pagination"] = dict(outcome.pagination)
    return payload


def _paged(outcome: Succeeded) -> object:
    if outcome.pagination is None:
        return outcome.data
    return {"items": outcome.data, "pagination": dict(outcome.pagination)}


def error_type(code: str) -> str:
    """The `error_type` of a code: `not_found` is NotFoundError; two codes have names that callers already know."""
    known = _ERROR_TYPES.get(code)
    return known or "".join(part.title() for part in code.removesuffix("_error").split("_")) + "Error"


# --- the way back -------------------------------------------------------------------------------------------------


def read_plain(rendered: Rendered, *, wraps: bool = False) -> Outcome:
    """Reads an outcome from the plain form. Raises: NotAnEnvelope."""
    if rendered.payload is not None:
        return Succeeded(rendered.payload["result"] if wraps else rendered.payload)
    meta = rendered.meta or {}
    code, is_recoverable, details = meta.get(META_CODE), meta.get(META_RECOVERABLE), meta.get(META_DETAILS, {})
    if not isinstance(code, str) or not isinstance(is_recoverable, bool) or not isinstance(details, dict):
        raise NotAnEnvelope("The failure carries no code.")
    return Failed(code, rendered.text, is_recoverable, details)


def read_result(payload: object) -> Outcome:
    """Reads an outcome from the result form. Raises: NotAnEnvelope."""
    match payload:
        case {"success": True, "data": data, "error": None}:
            return Succeeded(data)
        case {
            "success": False,
            "data": None,
            "error": {"code": str(code), "message": str(message), "details": dict(details), "recoverable": bool(hope)},
        }:
            return Failed(code, message, hope, details)
    raise NotAnEnvelope("The payload is no {success, data, error}.")


def read_status(payload: object, codes: CodeBook) -> Outcome:
    """Reads an outcome from the status form. Raises: NotAnEnvelope."""
    more: Json = payload if isinstance(payload, dict) else {}
    match payload:
        case {"status": "ok", "data": data, **rest} if rest.keys() <= {"pagination"}:
            pagination = rest.get("pagination")
            if not isinstance(pagination, dict | None):
                raise NotAnEnvelope("The pagination of the payload is not an object.")
            return Succeeded(data, pagination)
        case {"status": "error", "domain_code": str(domain_code), "message": str(message)}:
            code = more.get("code", CODE_OF_DOMAIN.get(domain_code))
            if not isinstance(code, str) or code not in codes:
                raise NotAnEnvelope("The payload has a code that this server did not declare.")
            hope = more.get("recoverable", codes.meaning(code).is_recoverable)
            details = more.get("details", {})
            return Failed(str(code), message, bool(hope), details if isinstance(details, dict) else {})
    raise NotAnEnvelope("The payload is no {status, …}.")


# --- what is published --------------------------------------------------------------------------------------------


def envelope_schema(envelope: Envelope, data: Mapping[str, Any] | None, codes: CodeBook) -> tuple[Json, bool]:
    """The output schema of a tool whose data meets `data` (None: anything), and whether plain wraps it."""
    inner: Json = dict(data or {})
    definitions: Json = {key: inner.pop(key) for key in ("$defs", "definitions") if key in inner}
    match envelope:
        case Envelope.PLAIN:
            if is_object_schema(data or {}):
                # `type` at the root itself, because clients of 2025 refuse a whole list for one schema without it.
                return {"type": "object", **inner, **definitions}, False
            schema, wraps = _object({"result": inner}, required=("result",)), True
        case Envelope.RESULT:
            schema, wraps = _result_schema(inner, codes), False
        case Envelope.STATUS:
            schema, wraps = _status_schema(inner), False
        case _:
            assert_never(envelope)
    return {**schema, **definitions}, wraps


def is_object_schema(schema: Mapping[str, Any]) -> bool:
    """Whether a schema's root says, itself or through one reference, that every value is an object."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        target = schema.get("$defs", {}).get(reference.removeprefix("#/$defs/"))
        return isinstance(target, dict) and target.get("type") == "object"
    return schema.get("type") == "object"


def _result_schema(data: Json, codes: CodeBook) -> Json:
    error = _object(
        {
            "code": {"enum": list(codes.names)},
            "message": {"type": "string"},
            "details": {"type": "object"},
            "recoverable": {"type": "boolean"},
        },
        required=("code", "message", "details", "recoverable"),
    )
    return _either(
        {"success": {"const": True}, "data": data, "error": _NULL},
        {"success": {"const": False}, "data": _NULL, "error": error},
        names=("success", "data", "error"),
    )


def _status_schema(data: Json) -> Json:
    good = _object(
        {"status": {"const": "ok"}, "data": data, "pagination": _PAGINATION_SCHEMA}, required=("status", "data")
    )
    text = {"type": "string"}
    bad = _object(
        {
            "status": {"const": "error"},
            "error_type": text,
            "domain_code": {"enum": sorted(DOMAIN_CODES)},
            "message": text,
            "tool": text,
            "code": text,  # codes not listed: this form serves hundreds of tools, and callers branch on domain_code
            "recoverable": {"type": "boolean"},
            "details": {"type": "object"},
        },
        required=("status", "error_type", "domain_code", "message", "tool", "code", "recoverable"),
    )
    return {"type": "object", "oneOf": [good, bad]}


def _either(good: Json, bad: Json, *, names: tuple[str, ...]) -> Json:
    return {"type": "object", "oneOf": [_object(good, required=names), _object(bad, required=names)]}


def _object(properties: Json, *, required: tuple[str, ...]) -> Json:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
