"""Reads one message of a client and checks it by the rules of its era: gives a request, or the reply to send."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from handfast.core.call.strict_json import Ambiguous, decode_judged
from handfast.wire.codes import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
)
from handfast.wire.eras import LEGACY_REVISIONS, MODERN_REVISION, is_modern
from handfast.wire.members import member
from handfast.wire.message import BadMessage, Message, RequestId, read_message
from handfast.wire.modern_request import find_ambiguity, find_fault, find_legacy_method
from handfast.wire.replies import error_reply

# Legacy clients look for an error in the body of a 200; for modern ones the status says it too, as with the SDK.
_MODERN_STATUS: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}


SERVER_FAILED: Final = "The server failed. Report the request id in data to the operator."
Headers = list[tuple[bytes, bytes]]  # the names in lower case
SUPPORTED: Final[Sequence[str]] = (MODERN_REVISION, *reversed(LEGACY_REVISIONS))
_KNOWN: Final = frozenset(revision.encode() for revision in SUPPORTED)
_LEGACY: Final = frozenset(revision.encode() for revision in LEGACY_REVISIONS)


class PostReply(NamedTuple):
    status: int
    body: bytes = b""


HEARD: Final = PostReply(202)  # to a notification, or an answer to a request that was never sent


class Fault(Exception):
    """A request that is answered with a protocol error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def refuse_message(
    request_id: RequestId | None,
    code: int,
    text: str,
    *,
    data: Mapping[str, Any] | None = None,  # Any: JSON
) -> PostReply:
    """The reply to a message that is wrong in itself, in either era."""
    return PostReply(400, error_reply(request_id, code, text, data=data))


def fail_request(request_id: RequestId | None, fault: Fault, *, is_modern: bool) -> PostReply:
    """The reply to a valid message that cannot be fulfilled."""
    status = _MODERN_STATUS.get(fault.code, 200) if is_modern else 200
    return PostReply(status, error_reply(request_id, fault.code, fault.text))


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request that passed all checks of its era."""

    message: Message
    is_modern: bool
    headers: Headers


def version_of(headers: Headers) -> bytes | None:
    return next((value for name, value in headers if name == b"mcp-protocol-version"), None)


def read_request(raw: bytes, headers: Headers) -> ClientRequest | PostReply:
    """The request, or the reply to send instead."""
    try:
        message = read_message(raw)
    except BadMessage as problem:
        return refuse_message(problem.id, problem.code, problem.reason)
    if not message.is_version_2:
        return refuse_message(message.id, INVALID_REQUEST, 'The message is not of JSON-RPC 2.0. Send "jsonrpc": "2.0".')
    if isinstance(message.id, float):
        return refuse_message(None, INVALID_REQUEST, "The id must be a string or a whole number.")
    version = version_of(headers)
    if not message.is_request:
        return _heard(message, version)
    if is_modern(message, version):
        return _find_modern_fault(message, headers) or ClientRequest(message, True, headers)
    return _find_legacy_fault(message, version) or ClientRequest(message, False, headers)


def _heard(message: Message, version: bytes | None) -> PostReply:
    if version is not None and version not in _KNOWN:
        return _unsupported(message, version)
    if message.is_answer and version == MODERN_REVISION.encode():
        text = "A modern server asks nothing, so there is nothing to answer. Send a request."
        return refuse_message(None, INVALID_REQUEST, text)
    return HEARD


def _find_modern_fault(message: Message, headers: Headers) -> PostReply | None:
    if fault := find_fault(message, headers, SUPPORTED):
        return PostReply(400, fault)
    if missing := find_legacy_method(message):
        return PostReply(404, missing)
    return _find_ambiguity(message)


def _find_legacy_fault(message: Message, version: bytes | None) -> PostReply | None:
    # A client that falls back to the handshake may still send the header of its first attempt.
    if version is not None and version not in _LEGACY and message.method != "initialize":
        return _unsupported(message, version)
    if fault := find_ambiguity(message):
        return PostReply(400, fault)
    meta = member(message.params(), "_meta")
    if meta is not None and not meta.startswith(b"{"):
        return fail_request(message.id, Fault(INVALID_PARAMS, "params._meta must be an object."), is_modern=False)
    return _find_ambiguity(message)


def _find_ambiguity(message: Message) -> PostReply | None:
    """Checks all but the arguments of a call, which are judged on the call path, where a refusal is recorded."""
    try:
        if message.method == "tools/call":
            for name, value in message.params().items():
                if name != "arguments":
                    decode_judged(bytes(value))
        else:
            decode_judged(message.raw)
    except Ambiguous as problem:
        return refuse_message(message.id, INVALID_REQUEST, f"The request is ambiguous: {problem}. Send plain JSON.")
    return None


def _unsupported(message: Message, version: bytes) -> PostReply:
    text = "This MCP-Protocol-Version is not spoken here. Choose one of those in data.supported."
    data = {"supported": list(SUPPORTED), "requested": version.decode("latin-1")}
    return refuse_message(message.id, UNSUPPORTED_VERSION, text, data=data)
