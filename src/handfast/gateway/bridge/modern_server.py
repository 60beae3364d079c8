"""A modern server: it is asked as the rest of the gateway speaks, so nothing is translated."""

from collections.abc import Awaitable, Callable

from handfast.gateway.backend import Origin
from handfast.gateway.bridge.line import Line
from handfast.wire.message import Message


class ModernServer:
    def __init__(self, connect: Callable[[], Awaitable[Line]]) -> None:
        """`connect` gives the line that all callers share; requests carry all that a server needs to know of them."""
        self._connect = connect

    async def request(self, message: Message, origin: Origin) -> bytes:
        """Raises: UpstreamFailed."""
        line = await self._connect()

        def deliver(found: Message) -> None:
            if found.is_notification:
                origin.send(found.raw)

        return (await line.exchange(message, deliver, origin.params)).raw

    async def close(self) -> None:
        """The line is not ours to close."""
