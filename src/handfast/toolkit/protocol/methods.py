"""The answer to one POST with a message or a batch, method by method, in the era of the client."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from handfast.core.call.exchange import RecordingFailed
from handfast.toolkit.protocol.requests import (
    HEARD,
    SERVER_FAILED,
    SUPPORTED,
    ClientRequest,
    Fault,
    Headers,
    PostReply,
    fail_request,
    read_request,
    refuse_message,
    version_of,
)
from handfast.toolkit.registry import UnknownTool
from handfast.toolkit.running.call_result import no_such_tool, result_of
from handfast.toolkit.running.dispatch import Answer
from handfast.wire.codes import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RECORDING_FAILED,
)
from handfast.wire.eras import LEGACY_REVISION, LEGACY_REVISIONS, META_SERVER
from handfast.wire.headers import find_param_mismatch
from handfast.wire.members import member, text_member
from handfast.wire.replies import answer, error_reply
from handfast.wire.scan import NotJson, scan_array

Result = dict[str, Any]  # Any: JSON
_CAPABILITIES: Final[Mapping[str, object]] = {"tools": {}}
_NO_METHOD: Final = "There is no such method here. This server offers tools: use tools/list and tools/call."
# Short, so that changed permissions show soon; a call is always judged by the current ones.
_TTL_MS: Final = 60_000
# Lists differ by caller, so no intermediary may cache them for others.
_KEPT: Final[Mapping[str, object]] = {"ttlMs": _TTL_MS, "cacheScope": "private"}
_WITH_BATCHES: Final = (None, b"2025-03-26")  # clients of this revision send no header, which came later
_LONGEST: Final = 100  # messages in a batch: more than any client sends, and a bound on the cost of one request


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What the endpoint offers one caller, in the form that the protocol needs."""

    name: str
    version: str
    instructions: str
    refuses_by_protocol: bool  # refused arguments are answered with a protocol error, not a result

    list_tools: Callable[[], Sequence[Mapping[str, Any]]]  # Any: JSON
    call: Callable[[str, bytes | None], Answer]
    """Calls a tool by its name with its arguments as they came. Raises: UnknownTool, RecordingFailed."""

    mirrored: Callable[[str], bytes | None]
    """The input schema of a tool that needs arguments repeated in headers; None for other tools."""

    report: Callable[[Exception], str]
    """Logs an unexpected exception, and returns the id of the log entry."""

    @property
    def server_info(self) -> dict[str, str]:
        return {"name": self.name, "version": self.version}


Method = Callable[[ClientRequest, Offer], Result]


def answer_request(asked: ClientRequest, offer: Offer) -> PostReply:
    """The one answer to a request, under its id, even if an unexpected exception occurs."""
    request_id, method = asked.message.id, asked.message.method or ""
    try:
        find = (_MODERN if asked.is_modern else _LEGACY).get(method)
        if find is None:
            raise Fault(METHOD_NOT_FOUND, _NO_METHOD)
        result = find(asked, offer)
        return PostReply(200, answer(request_id, _stamped(result, offer) if asked.is_modern else result))
    except Fault as fault:
        return fail_request(request_id, fault, is_modern=asked.is_modern)
    except Exception as error:  # noqa: BLE001 - the edge of one message, and its report is a log entry
        # Status 200, as by the SDK's server, because some clients drop body and code of a 500.
        data = {"request_id": offer.report(error)}
        return PostReply(200, error_reply(request_id, INTERNAL_ERROR, SERVER_FAILED, data=data))


def _stamped(result: Result, offer: Offer) -> Result:
    """The result with the members that every modern result has."""
    return {"resultType": "complete", **result, "_meta": {**result.get("_meta", {}), META_SERVER: offer.server_info}}


# --- the handshake, and what replaced it -----------------------------------------------------------------------------


def _initialize(asked: ClientRequest, offer: Offer) -> Result:
    params = asked.message.params()
    version = text_member(params, "protocolVersion")
    said = [member(params, name) or b"" for name in ("capabilities", "clientInfo")]
    if version is None or not all(value.startswith(b"{") for value in said):
        raise Fault(INVALID_PARAMS, "initialize must say protocolVersion (a string), capabilities and clientInfo.")
    result: Result = {
        "protocolVersion": version if version in LEGACY_REVISIONS else LEGACY_REVISION,
        "capabilities": _CAPABILITIES,
        "serverInfo": offer.server_info,
    }
    return result | _instructions(offer)


def _discover(_asked: ClientRequest, offer: Offer) -> Result:
    return {"supportedVersions": SUPPORTED, "capabilities": _CAPABILITIES, **_instructions(offer), **_KEPT}


def _instructions(offer: Offer) -> Result:
    return {"instructions": offer.instructions} if offer.instructions else {}


def _ping(_asked: ClientRequest, _offer: Offer) -> Result:
    return {}


# --- tools -----------------------------------------------------------------------------------------------------------


def _list_tools(asked: ClientRequest, offer: Offer) -> Result:
    if member(asked.message.params(), "cursor") is not None:
        raise Fault(INVALID_PARAMS, "This cursor was not given here: the list comes in one piece. Leave cursor out.")
    tools = offer.list_tools()
    return {"tools": tools, **_KEPT} if asked.is_modern else {"tools": tools}


def _call_tool(asked: ClientRequest, offer: Offer) -> Result:
    params = asked.message.params()
    name = text_member(params, "name")
    if name is None:
        raise Fault(INVALID_PARAMS, "params.name must be the name of a tool.")
    arguments = member(params, "arguments")
    schema = offer.mirrored(name) if asked.is_modern else None
    if schema is not None and (mismatch := find_param_mismatch(asked.headers, arguments, schema)):
        raise Fault(HEADER_MISMATCH, mismatch)
    try:
        found = offer.call(name, arguments)
    except UnknownTool:
        raise Fault(INVALID_PARAMS, no_such_tool(name)) from None
    except RecordingFailed:
        raise Fault(RECORDING_FAILED, "Calls cannot be recorded at the moment, so none is made.") from None
    if found.is_refused and offer.refuses_by_protocol:
        raise Fault(INVALID_PARAMS, found.text)
    result = result_of(found)
    if found.payload is not None:
        # The same bytes that were judged, because encoding again could change them.
        result["structuredContent"] = msgspec.Raw(found.text.encode())
    if not asked.is_modern:
        del result["resultType"]
    return result


_BOTH: Final[Mapping[str, Method]] = {"tools/list": _list_tools, "tools/call": _call_tool}
_LEGACY: Final[Mapping[str, Method]] = {**_BOTH, "initialize": _initialize, "ping": _ping}
_MODERN: Final[Mapping[str, Method]] = {**_BOTH, "server/discover": _discover}


# --- the body of one POST --------------------------------------------------------------------------------------------


def answer_body(body: bytes, headers: Headers, offer: Offer) -> PostReply:
    is_batch = body.lstrip(b" \t\r\n").startswith(b"[")
    if is_batch and version_of(headers) in _WITH_BATCHES:
        return _answer_batch(body, headers, offer)
    asked = read_request(body, headers)
    return asked if isinstance(asked, PostReply) else answer_request(asked, offer)


def _answer_batch(body: bytes, headers: Headers, offer: Offer) -> PostReply:
    try:
        messages = scan_array(body)
    except NotJson:
        return refuse_message(None, PARSE_ERROR, "The batch is not valid JSON. Send an array of messages.")
    if not 0 < len(messages) <= _LONGEST:
        return refuse_message(
            None, INVALID_REQUEST, f"A batch holds 1 to {_LONGEST} messages. Send them in such batches."
        )
    answers = [reply.body for raw in messages if (reply := _answer_in_batch(raw, headers, offer)).body]
    return PostReply(200, b"[" + b",".join(answers) + b"]") if answers else HEARD


def _answer_in_batch(raw: bytes, headers: Headers, offer: Offer) -> PostReply:
    asked = read_request(raw, headers)
    if isinstance(asked, PostReply):
        return asked
    if asked.message.method == "initialize":
        return refuse_message(
            asked.message.id, INVALID_REQUEST, "initialize must not be part of a batch. Send it alone."
        )
    return answer_request(asked, offer)
