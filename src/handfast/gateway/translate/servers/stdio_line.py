"""A line to a stdio server: a channel to its process, which several callers may share."""

import asyncio
from collections.abc import Awaitable, Callable

from handfast.gateway.calls.flow import HoldBack
from handfast.gateway.http.response import Headers, UpstreamFailed
from handfast.gateway.process.channel import Channel
from handfast.gateway.translate.servers.line import Deliver, Room, ServerExited, ServerSessionLost
from handfast.wire.message import Message
from handfast.wire.methods import HARMLESS, INTERACTIVE


class StdioLine:
    def __init__(self, channel: Channel, *, stop: Callable[[Channel], Awaitable[None]] | None = None) -> None:
        """`stop` ends the process with the line; without it the process is shared and goes on."""
        self._channel = channel
        self._stop = stop
        self._open: dict[int, _Waiter] = {}
        self.last_used = 0.0
        self.has_called = False

    @property
    def is_idle(self) -> bool:
        return not self._open

    def deliver_to_latest(self, message: Message) -> None:
        """Delivers what names no request to the latest one, on a line that one caller has to itself."""
        if self._open:
            self._open[max(self._open)].deliver(message)

    @property
    def is_alive(self) -> bool:
        return self._channel.is_alive

    @property
    def has_given_up(self) -> bool:
        return self._channel.has_given_up

    @property
    def is_shared(self) -> bool:
        return self._stop is None

    @property
    def incarnation(self) -> tuple[str, ...]:
        return (self._channel.incarnation,)

    @property
    def hold_back(self) -> HoldBack | None:
        return None if self._stop is None else self._channel.hold_back

    async def exchange(
        self,
        message: Message,
        deliver: Deliver,
        headers: Headers | None = None,  # noqa: ARG002 - a line has no headers
        room: Room | None = None,  # noqa: ARG002 - and what comes on it cannot wait by itself
    ) -> Message:
        # The probe is not repeated: some legacy servers exit on it, which answers it.
        self.has_called = self.has_called or message.method in INTERACTIVE
        is_harmless = message.method in HARMLESS and message.method != "server/discover"
        waiter = _Waiter(deliver, is_harmless=is_harmless)
        own_id = self._channel.send_request(message, waiter)
        self._open[own_id] = waiter
        try:
            return await waiter.answer
        except asyncio.CancelledError:
            self._channel.abandon(own_id, "The client cancelled the request.")
            raise
        finally:
            del self._open[own_id]

    async def send(self, raw: bytes) -> None:
        if not self.is_alive:
            raise UpstreamFailed("The server has exited.")
        self._channel.send(raw)

    async def finished(self) -> None:
        """Returns at once: what was under way ended with the process."""

    async def close(self) -> None:
        if self._stop is not None:
            await self._stop(self._channel)


class _Waiter:
    """Listens for one request's answer."""

    def __init__(self, deliver: Deliver, *, is_harmless: bool) -> None:
        self._deliver = deliver
        self._is_harmless = is_harmless
        self.answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

    def deliver(self, message: Message) -> None:
        if not message.is_answer:
            self._deliver(message)
        elif not self.answer.done():
            self.answer.set_result(message)

    def fail(self, text: str) -> None:
        if not self.answer.done():
            self.answer.set_exception(UpstreamFailed(text))

    def lost(self, text: str, *, was_sent: bool) -> None:
        if not self.answer.done():
            may_repeat = self._is_harmless or not was_sent
            self.answer.set_exception(ServerSessionLost(text) if may_repeat else ServerExited(text))
