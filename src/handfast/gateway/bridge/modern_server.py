"""A modern server: it is asked as the rest of the gateway speaks, so nothing is translated."""

from collections.abc import Awaitable, Callable

from handfast.gateway.backend import Origin
from handfast.gateway.bridge.line import Line
from handfast.wire.eras import META_LOG_LEVEL
from handfast.wire.message import Message


class ModernServer:
    def __init__(self, connect: Callable[[str, bool], Awaitable[Line]]) -> None:
        """`connect` gives a line for a caller, who may want log messages: only those do not say whose they are."""
        self._connect = connect

    async def request(self, message: Message, origin: Origin) -> bytes:
        """Raises: UpstreamFailed, AmbiguousKeys, NotJson."""
        has_level = message.may_mention(META_LOG_LEVEL) and META_LOG_LEVEL in message.meta()
        line = await self._connect(origin.caller, has_level)

        def deliver(found: Message) -> None:
            if found.is_notification:
                origin.send(found.raw)

        return (await line.exchange(message, deliver, origin.params)).raw
