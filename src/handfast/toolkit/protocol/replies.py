"""What goes back over HTTP: a status and a JSON-RPC message, or the status alone."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handfast.wire.codes import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
)
from handfast.wire.message import RequestId
from handfast.wire.replies import error_reply

# Legacy clients look for an error in the body of a 200; modern ones are told by the status too, as by the SDK.
_MODERN_STATUS: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}


SERVER_FAILED: Final = "The server failed. Report the request id in data to the operator."


class Reply(NamedTuple):
    status: int
    body: bytes = b""


HEARD: Final = Reply(202)  # a notification, or an answer to a question that was never asked


class Fault(Exception):
    """A request that is answered with an error of the protocol."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def refused(
    request_id: RequestId | None,
    code: int,
    text: str,
    *,
    data: Mapping[str, Any] | None = None,  # Any: JSON
) -> Reply:
    """For a message that is wrong in itself, whatever its era."""
    return Reply(400, error_reply(request_id, code, text, data=data))


def failed(request_id: RequestId | None, fault: Fault, *, is_modern: bool) -> Reply:
    """For a message that is sound and asks for what cannot be had."""
    status = _MODERN_STATUS.get(fault.code, 200) if is_modern else 200
    return Reply(status, error_reply(request_id, fault.code, fault.text))
