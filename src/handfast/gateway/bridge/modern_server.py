"""A modern server: it is asked as the rest of the gateway speaks, so next to nothing is translated."""

from collections.abc import Awaitable, Callable

from handfast.gateway.backend import Origin
from handfast.gateway.bridge.line import Line
from handfast.wire.eras import INTERACTIVE, META_LOG_LEVEL
from handfast.wire.message import Message, read_message
from handfast.wire.reshape import put

# A server of 2025 decides by itself what it logs to a client that has named no level. This is its usual choice.
_USUAL_LEVEL = b'"info"'


class ModernServer:
    def __init__(self, connect: Callable[[str, bool], Awaitable[Line]], *, tells_logs_apart: bool) -> None:
        """`connect` gives a line for a caller, who may want log messages: only those do not say whose they are.

        On a line that `tells_logs_apart` they cost nothing, and whoever takes them gets them unasked.
        """
        self._connect = connect
        self._tells_logs_apart = tells_logs_apart

    async def request(self, message: Message, origin: Origin) -> bytes:
        """Raises: UpstreamFailed, AmbiguousKeys, NotJson."""
        has_level = message.may_mention(META_LOG_LEVEL) and META_LOG_LEVEL in message.meta()
        line = await self._connect(origin.caller, has_level)
        if self._tells_logs_apart and origin.takes_logs and not has_level and message.method in INTERACTIVE:
            message = read_message(put(message.raw, {("params", "_meta", META_LOG_LEVEL): _USUAL_LEVEL}))

        def deliver(found: Message) -> None:
            if found.is_notification:
                origin.send(found.raw)

        return (await line.exchange(message, deliver, origin.params)).raw
