"""What each method is answered with, in the era of whoever asks."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from handfast.core.call.exchange import RecordingFailed
from handfast.toolkit.protocol.offer import Offer
from handfast.toolkit.protocol.replies import SERVER_FAILED, Fault, Reply, failed
from handfast.toolkit.protocol.requests import SUPPORTED, Asked
from handfast.toolkit.registry import UnknownTool
from handfast.toolkit.running.call_result import no_such_tool, result_of
from handfast.wire.codes import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RECORDING_FAILED,
)
from handfast.wire.eras import LEGACY_REVISION, LEGACY_REVISIONS, META_SERVER
from handfast.wire.headers import find_param_mismatch
from handfast.wire.members import member, text_member
from handfast.wire.replies import answer, error_reply

Result = dict[str, Any]  # Any: JSON
Method = Callable[[Asked, Offer], Result]

_CAPABILITIES: Final[Mapping[str, object]] = {"tools": {}}
_NO_METHOD: Final = "There is no such method here. This server offers tools: use tools/list and tools/call."
# A permission that is given or taken is soon seen; a call is always judged by those of its own moment.
_TTL_MS: Final = 60_000
# What a caller sees is its own: nothing that stands in between may keep it for others.
_KEPT: Final[Mapping[str, object]] = {"ttlMs": _TTL_MS, "cacheScope": "private"}


def answer_request(asked: Asked, offer: Offer) -> Reply:
    """Whatever happens, one answer under the id that was sent."""
    request_id, method = asked.message.id, asked.message.method or ""
    try:
        find = (_MODERN if asked.is_modern else _LEGACY).get(method)
        if find is None:
            raise Fault(METHOD_NOT_FOUND, _NO_METHOD)
        result = find(asked, offer)
        return Reply(200, answer(request_id, _stamped(result, offer) if asked.is_modern else result))
    except Fault as fault:
        return failed(request_id, fault, is_modern=asked.is_modern)
    except Exception as error:  # noqa: BLE001 - the edge of one message, and its report is a log entry
        # With 200, as the SDK's server has it: some clients drop what a 500 says, and its number.
        data = {"request_id": offer.report(error)}
        return Reply(200, error_reply(request_id, INTERNAL_ERROR, SERVER_FAILED, data=data))


def _stamped(result: Result, offer: Offer) -> Result:
    """With what every modern result says."""
    return {"resultType": "complete", **result, "_meta": {**result.get("_meta", {}), META_SERVER: offer.server_info}}


# --- the handshake, and what replaced it -----------------------------------------------------------------------------


def _initialize(asked: Asked, offer: Offer) -> Result:
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


def _discover(_asked: Asked, offer: Offer) -> Result:
    return {"supportedVersions": SUPPORTED, "capabilities": _CAPABILITIES, **_instructions(offer), **_KEPT}


def _instructions(offer: Offer) -> Result:
    return {"instructions": offer.instructions} if offer.instructions else {}


def _ping(_asked: Asked, _offer: Offer) -> Result:
    return {}


# --- tools -----------------------------------------------------------------------------------------------------------


def _list_tools(asked: Asked, offer: Offer) -> Result:
    if member(asked.message.params(), "cursor") is not None:
        raise Fault(INVALID_PARAMS, "This cursor was not given here: the list comes in one piece. Leave cursor out.")
    tools = offer.list_tools()
    return {"tools": tools, **_KEPT} if asked.is_modern else {"tools": tools}


def _call_tool(asked: Asked, offer: Offer) -> Result:
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
        # The very bytes that were judged: writing them once more could only change them.
        result["structuredContent"] = msgspec.Raw(found.text.encode())
    if not asked.is_modern:
        del result["resultType"]
    return result


_BOTH: Final[Mapping[str, Method]] = {"tools/list": _list_tools, "tools/call": _call_tool}
_LEGACY: Final[Mapping[str, Method]] = {**_BOTH, "initialize": _initialize, "ping": _ping}
_MODERN: Final[Mapping[str, Method]] = {**_BOTH, "server/discover": _discover}
