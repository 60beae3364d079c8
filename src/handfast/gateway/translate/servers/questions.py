"""What a legacy server asks its client in the middle of a call, in the form a modern client answers. Pure."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from handfast.wire.codes import INTERNAL_ERROR
from handfast.wire.message import AmbiguousKeys, Members, Message, RequestId, read_level
from handfast.wire.replies import error_reply
from handfast.wire.scan import NotJson
from handfast.wire.splice import drop

_ONLY_LEGACY_PARAMS: Final = (("task",), ("elicitationId",))
URL_ELICITATION_REQUIRED: Final = -32042


def to_input_request(question: Message) -> dict[str, Any]:  # Any: JSON
    """One entry of `inputRequests`. Raises: NotJson."""
    assert question.method is not None
    found: dict[str, Any] = {"method": question.method}  # Any: JSON
    params = read_level(question.raw).get("params")
    if params is not None:
        found["params"] = msgspec.Raw(drop(bytes(params), _ONLY_LEGACY_PARAMS))
    return found


def to_answer(question: RequestId, response: bytes) -> bytes:
    """A client's response as the server's answer. Raises: NotJson."""
    result = msgspec.Raw(drop(response, [("resultType",)]))
    return msgspec.json.encode({"jsonrpc": "2.0", "id": question, "result": result})


def to_refusal(question: Message) -> bytes:
    """The answer to a question that the client will not answer: a dismissal, where the protocol has one."""
    assert question.id is not None
    if question.method == "elicitation/create":
        return msgspec.json.encode({"jsonrpc": "2.0", "id": question.id, "result": {"action": "cancel"}})
    return error_reply(question.id, INTERNAL_ERROR, "The client did not answer in time.")


def responses_in(message: Message) -> dict[str, bytes]:
    """The client's answers, by the name of the question; those that are not objects are left out."""
    found = message.params().get("inputResponses")
    try:
        members: Members = {} if found is None else read_level(bytes(found))
    except (AmbiguousKeys, NotJson):
        return {}
    return {key: bytes(value) for key, value in members.items() if bytes(value).startswith(b"{")}


def urls_required(answer: Message) -> dict[str, Any]:  # Any: JSON
    """The `inputRequests` for an error that says that the user must visit a URL first."""
    if answer.error_code() != URL_ELICITATION_REQUIRED:
        return {}
    try:
        data = read_level(bytes(read_level(bytes(read_level(answer.raw)["error"]))["data"]))
        wanted: Iterable[msgspec.Raw] = msgspec.json.decode(data["elicitations"], type=list[msgspec.Raw])
        return {
            f"url-{number}": {
                "method": "elicitation/create",
                "params": msgspec.Raw(drop(bytes(params), _ONLY_LEGACY_PARAMS)),
            }
            for number, params in enumerate(wanted, 1)
        }
    except (KeyError, AmbiguousKeys, NotJson, msgspec.DecodeError, RecursionError):
        return {}
