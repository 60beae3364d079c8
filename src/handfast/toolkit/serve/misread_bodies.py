"""PlainBodies: what comes in over HTTP is looked at before the SDK reads it, and answered here where it is odd."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from handfast.toolkit.serve.answering import ServedToolbox
from handfast.toolkit.serve.misread_messages import answer_odd, is_plain

Event = MutableMapping[str, Any]  # Any: ASGI's own shape
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]


class PlainBodies:
    """Stands where the SDK has checked who calls and gathered the whole body."""

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
