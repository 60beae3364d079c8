"""Messages that handfast itself writes: errors, refused calls, its own requests."""

from collections.abc import Mapping
from typing import Any

import msgspec

from handfast.wire.message import Message, RequestId

_encode = msgspec.json.Encoder().encode
_RELATED_TASK = "io.modelcontextprotocol/related-task"


def error_reply(
    request_id: RequestId | None,
    code: int,
    message: str,
    *,
    data: Mapping[str, Any] | None = None,  # Any: JSON
) -> bytes:
    return error_message(request_id, code, message, data=data).raw


def error_message(
    request_id: RequestId | None,
    code: int,
    message: str,
    *,
    data: Mapping[str, Any] | None = None,  # Any: JSON
) -> Message:
    """The error as a Message, equal to the one that parsing its bytes would give."""
    error: dict[str, Any] = {"code": code, "message": message}  # Any: JSON
    if data is not None:
        error["data"] = data
    text = _encode(error)
    raw = _encode({"jsonrpc": "2.0", "id": request_id, "error": msgspec.Raw(text)})
    return Message(raw, request_id, has_error=True, is_version_2=True, _error=text)


def answer(request_id: RequestId | None, result: Mapping[str, Any]) -> bytes:  # Any: JSON
    return answer_message(request_id, result).raw


def answer_message(request_id: RequestId | None, result: Mapping[str, Any]) -> Message:  # Any: JSON
    """The answer as a Message, equal to the one that parsing its bytes would give."""
    text = _encode(result)
    raw = _encode({"jsonrpc": "2.0", "id": request_id, "result": msgspec.Raw(text)})
    return Message(raw, request_id, is_version_2=True, _result=text)


def tool_error(
    request_id: RequestId,
    text: str,
    *,
    is_modern: bool,
    task_id: str = "",
    meta: Mapping[str, object] | None = None,
) -> bytes:
    """An answer whose result says that the call failed, which clients show to the model; without structuredContent."""
    result = msgspec.Raw(error_result(text, is_modern=is_modern, task_id=task_id, meta=meta))
    return _encode({"jsonrpc": "2.0", "id": request_id, "result": result})


def error_result(text: str, *, is_modern: bool, task_id: str = "", meta: Mapping[str, object] | None = None) -> bytes:
    """The result alone. `task_id` is put into its _meta, as 2025-11-25 requires of an answer to tasks/result."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}  # Any: JSON
    if is_modern:
        result = {"resultType": "complete", **result}
    if task_id or meta:
        result["_meta"] = {**({_RELATED_TASK: {"taskId": task_id}} if task_id else {}), **(meta or {})}
    return _encode(result)


def request(request_id: RequestId, method: str, params: Mapping[str, Any] | None = None) -> bytes:  # Any: JSON
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}  # Any: JSON
    if params is not None:
        message["params"] = params
    return _encode(message)


def initialize(request_id: RequestId, revision: str, capabilities: object, version: str) -> bytes:
    """The legacy `initialize` request with handfast as the client."""
    client = {"name": "handfast", "version": version}
    params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client}
    return request(request_id, "initialize", params)


def notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:  # Any: JSON
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}  # Any: JSON
    if params is not None:
        message["params"] = params
    return _encode(message)
