"""A modern server: it speaks the gateway's inner form, so next to nothing is translated."""

from collections.abc import Awaitable, Callable

import msgspec

from handfast.core.call.caller import Caller
from handfast.gateway.admission.request_places import RequestPlaces
from handfast.gateway.callers.caller_ids import CallerIds, SharedRequest, asks_with_ids, brings_ids
from handfast.gateway.translate.backend import Requester
from handfast.gateway.translate.servers.line import Line, ServerSessionLost
from handfast.wire.eras import META_LOG_LEVEL
from handfast.wire.message import Message
from handfast.wire.methods import INTERACTIVE

# A server of 2025 decides by itself what it logs to a client that has named no level. This is its usual choice.
_USUAL_LEVEL = msgspec.Raw(b'"info"')


class ModernServer:
    def __init__(
        self,
        connect: Callable[[Requester, bool], Awaitable[Line]],
        leave: Callable[[Caller], None] = lambda _caller: None,
        *,
        tells_logs_apart: bool,
        ids: CallerIds | None = None,
        listening: RequestPlaces | None = None,
    ) -> None:
        """`connect` gives a line; its flag is whether the request names a log level: log messages name no request.

        `leave` closes what is kept for a caller alone. On a line that `tells_logs_apart` log messages cost nothing, so
        clients that take them get them unasked. `ids` keeps the callers of a shared line apart; None means one caller.
        `listening` bounds subscriptions, where each takes a connection.
        """
        self._ids = ids
        self._listening = listening
        self._connect = connect
        self._tells_logs_apart = tells_logs_apart
        self.leave = leave

    async def request(self, message: Message, origin: Requester) -> Message:
        """Raises: UpstreamFailed, Foreign, AmbiguousKeys, NotJson."""
        if message.method == "subscriptions/listen" and self._listening is not None:
            with self._listening.hold(origin.caller.address):
                return await self._ask(await self._connect(origin, False), message, origin)
        has_level = message.may_mention(META_LOG_LEVEL) and META_LOG_LEVEL in message.meta()
        if self._tells_logs_apart and origin.takes_logs and not has_level and message.method in INTERACTIVE:
            message = message.with_meta({META_LOG_LEVEL: _USUAL_LEVEL})
        try:
            return await self._ask(await self._connect(origin, has_level), message, origin)
        except ServerSessionLost:
            return await self._ask(await self._connect(origin, has_level), message, origin)

    async def _ask(self, line: Line, message: Message, origin: Requester) -> Message:
        ids = self._ids if line.is_shared else None

        def ask_shared(ids: CallerIds) -> SharedRequest:
            return ids.ask(message, lambda: (origin.caller.name, *line.incarnation))

        def is_own(found: Message) -> bool:
            return ids is None or not brings_ids(found) or ask_shared(ids).receive(found)

        def deliver(found: Message) -> None:
            if found.is_notification and is_own(found):
                origin.send(found.raw)

        if origin.flow is not None:
            origin.flow.attach(line.hold_back)
        room = None if origin.flow is None else origin.flow.room
        asked = message if ids is None or not asks_with_ids(message) else ask_shared(ids).asked
        found = await line.exchange(asked, deliver, origin.params, room)
        is_own(found)
        return found
