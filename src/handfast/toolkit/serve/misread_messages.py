"""Messages that the SDK would drop, or read in one of several ways: found and answered before the SDK reads them."""

from collections.abc import Awaitable, Callable, MutableMapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
from mcp.shared.exceptions import MCPError
from starlette.requests import Request
from starlette.responses import Response

from handfast.core.call import rules
from handfast.core.call.exchange import RecordingFailed
from handfast.core.call.strict_json import Ambiguous, decode_arguments
from handfast.toolkit.running.call_result import result_of
from handfast.toolkit.running.dispatch import ToolCaller
from handfast.toolkit.serve.answering import ServedToolbox, actor_of, dispatch_call
from handfast.wire.codes import INVALID_REQUEST
from handfast.wire.eras import says_modern
from handfast.wire.message import AmbiguousKeys, BadMessage, Message, RequestId, read_message
from handfast.wire.replies import answer as reply
from handfast.wire.replies import error_reply
from handfast.wire.scan import NotJson

_NO_REQUEST = "The message is not a JSON-RPC request. Send one with jsonrpc, id, method and params."
Event = MutableMapping[str, Any]  # Any: ASGI's own shape
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]


def is_plain(text: bytes) -> bool:
    """Whether it is an object that every parser reads alike, and a call's arguments are an object or absent."""
    try:
        value = decode_arguments(text)
    except Ambiguous:
        return False
    if not isinstance(value, dict):
        return False
    if value.get("method") != "tools/call":
        return True
    params = value.get("params")
    if not isinstance(params, dict):
        return True
    arguments = params.get("arguments")
    return arguments is None or isinstance(arguments, dict)


class OddAnswer(NamedTuple):
    message: bytes
    is_error: bool  # a protocol error; the refusal of a call is a result


async def answer_odd(text: bytes, toolbox: ServedToolbox, request: Any = None) -> OddAnswer | None:  # Any: of Starlette
    """The answer to a message that is not plain: an error or a refused call; None if it needs no answer."""
    context = SimpleNamespace(request=request)
    try:
        message = read_message(text)
    except BadMessage as problem:
        return _recorded(toolbox, context, rules.REQUEST_REFUSED, problem.id, problem.code, problem.reason)
    if not message.is_request:
        return None
    rule = rules.MESSAGE_AMBIGUOUS
    try:
        refused = _refused_call(message)
        if refused is not None:
            return await _refuse(message, *refused, toolbox, context)
        decode_arguments(text)
        rule, told = rules.REQUEST_REFUSED, _NO_REQUEST
    except (AmbiguousKeys, NotJson) as problem:
        told = f"The request is ambiguous: {problem}. Send each key once."
    except Ambiguous as problem:
        told = f"The request is ambiguous: {problem}. Send plain JSON."
    if message.method != "tools/call":
        return _error(message.id, INVALID_REQUEST, told)
    return _recorded(toolbox, context, rule, message.id, INVALID_REQUEST, told)


def _recorded(
    toolbox: ServedToolbox,
    context: Any,  # Any: as in `actor_of`
    rule: str,
    request_id: RequestId | None,
    code: int,
    text: str,
) -> OddAnswer:
    """The error for a message that is a call or may be one, once it is on record."""
    try:
        toolbox.registry.record_refused_request(rule, text, actor=actor_of(toolbox, context))
    except MCPError as problem:
        return _error(request_id, problem.error.code, problem.error.message)
    except RecordingFailed:
        pass  # it is refused even so
    return _error(request_id, code, text)


def _error(request_id: RequestId | None, code: int, text: str) -> OddAnswer:
    return OddAnswer(error_reply(request_id, code, text), is_error=True)


def _refused_call(message: Message) -> tuple[str, bytes] | None:
    """Name and arguments of a call that the call path refuses for any tool. Raises: AmbiguousKeys, NotJson."""
    params = message.params()
    try:
        name = msgspec.json.decode(params.get("name", b"null"))
    except msgspec.MsgspecError:
        return None
    arguments = bytes(params.get("arguments", b"null"))
    if message.method != "tools/call" or not isinstance(name, str):
        return None
    try:
        return None if isinstance(decode_arguments(arguments), dict | None) else (name, arguments)
    except Ambiguous:
        return name, arguments


async def _refuse(message: Message, name: str, arguments: bytes, toolbox: ServedToolbox, context: Any) -> OddAnswer:
    """Refuses a call on the usual path, so that text and record are those of every refused call."""
    try:
        answer = await dispatch_call(toolbox, name, arguments, ToolCaller(actor=actor_of(toolbox, context)))
    except MCPError as problem:
        return _error(message.id, problem.error.code, problem.error.message)
    result = result_of(answer)
    if not says_modern(message):
        del result["resultType"]
    return OddAnswer(reply(message.id, result), is_error=False)


class MisreadBodies:
    """ASGI middleware behind the SDK's authentication and reading of the body; answers misread messages itself."""

    def __init__(self, app: Callable[[Event, Receive, Send], Awaitable[None]], toolbox: ServedToolbox) -> None:
        self._app = app
        self._toolbox = toolbox

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        first: Event | None = await receive()
        body = (first or {}).get("body", b"")
        if body and not is_plain(body):
            await self._answer(body, scope, receive, send)
            return

        async def replay() -> Event:
            nonlocal first
            event, first = first, None
            return await receive() if event is None else event

        await self._app(scope, replay, send)

    async def _answer(self, body: bytes, scope: Event, receive: Receive, send: Send) -> None:
        answer = await answer_odd(body, self._toolbox, Request(scope))
        if answer is None:
            response = Response(status_code=202)
        else:
            response = Response(answer.message, 400 if answer.is_error else 200, media_type="application/json")
        await response(scope, receive, send)
