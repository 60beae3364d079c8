"""The processes of one stdio server, or the streams of one: opened when its health allows, shared between clients."""

import asyncio
from collections.abc import Awaitable, Callable

from handfast.core.call import rules
from handfast.core.call.exchange import Status
from handfast.gateway.admission.server_health import Era, ServerHealth, State
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.http.response import Headers
from handfast.gateway.process.channel import Channel, ChannelOwner, MessageRefused
from handfast.gateway.process.pipe import PipeFailed, Reach
from handfast.gateway.process.server_output import ServerOutput
from handfast.gateway.settings.blocks import Limits
from handfast.wire.message import Message
from handfast.wire.replies import initialize, notification

MODERN = "modern"  # the key of the child that modern clients share: it needs no handshake


class Children:
    def __init__(
        self,
        server: ServerSide,
        reach: Reach,
        owner: ChannelOwner,
        *,
        health: ServerHealth,
        limits: Callable[[], Limits],
        version: str,
    ) -> None:
        self._server = server
        self._reach = reach
        self._owner = owner
        self._health = health
        self._limits = limits
        self._version = version
        self._running: set[Channel] = set()
        self._stopping: set[Channel] = set()  # those that we are stopping
        self._shared: dict[str, asyncio.Task[Channel]] = {}
        self._is_closed = False

    async def start(
        self, owner: ChannelOwner | None = None, *, headers: Headers | None = None, is_renewed: bool = False
    ) -> Channel:
        """Starts a child; `owner` is for a child that is not shared, `headers` are those of its client.

        Raises: UpstreamResting, PipeFailed, ConnectionError.
        """
        self._health.check_admission()
        output = ServerOutput(f"[{self._server.name}] ")
        channel = Channel(self._reach, owner or self._owner, limits=self._limits(), on_stderr=output, headers=headers)
        try:
            await channel.start()
        except PipeFailed as problem:
            self._server.journal.server_state(
                self._server.name, rules.SERVER_FAILED, f"It did not start: {problem}", Status.ERROR
            )
            self._health.failed(f"The server {problem}")
            raise
        self._running.add(channel)
        self._health.starts += 1
        if self._is_closed:
            await self.stop(channel)
            raise ConnectionError("the gateway is stopping")
        if is_renewed or len(self._running) == 1:
            # The program may be another by now. One more process beside others says nothing about theirs.
            self._server.learner.restart()
        self._server.journal.server_state(self._server.name, rules.SERVER_STARTED, channel.started)
        return channel

    async def greet(self, channel: Channel, render: Callable[[int], bytes]) -> Message:
        """Does the whole handshake on handfast's own behalf. Raises: ConnectionError, TimeoutError, PipeFailed."""
        greeting = await self.initialize(channel, render)
        channel.send(notification("notifications/initialized"))
        return greeting

    async def initialize(self, channel: Channel, render: Callable[[int], bytes]) -> Message:
        """Raises: ConnectionError, TimeoutError, PipeFailed."""
        greeting = await self.await_start(channel, render, "initialize")
        if self._health.state is not State.UP:
            self._health.succeeded()
        if not greeting.has_error:
            self._health.era = Era.LEGACY
        return greeting

    async def await_start(self, channel: Channel, render: Callable[[int], bytes], method: str) -> Message:
        """The answer to the first request of a child; one that does not answer is stopped.

        Raises: ConnectionError, TimeoutError, PipeFailed.
        """
        seconds = self._limits().handshake_timeout_s
        try:
            async with asyncio.timeout(seconds):
                return await channel.ask(render)
        except BaseException as problem:
            is_late = isinstance(problem, TimeoutError)
            reason = f"It did not answer {method} within {seconds:g} s." if is_late else str(problem)
            if isinstance(problem, TimeoutError | MessageRefused):
                self._health.failed(reason)
            await self.stop(channel)
            if not channel.is_process and isinstance(problem, TimeoutError | ConnectionError):
                raise PipeFailed(f"did not complete its handshake. {reason}") from None
            raise

    async def shared(self, key: str) -> Channel:
        """Returns the child that clients of one kind share; requests at the same moment start it only once."""
        task = self._shared.get(key)
        if task is None or (task.done() and (task.exception() is not None or not task.result().is_alive)):
            start = self.start(is_renewed=task is not None)
            task = self._shared[key] = asyncio.create_task(self._start_shared(key, start))
            # The clients may all have left when it fails, and asyncio reports an exception that was not retrieved.
            task.add_done_callback(lambda started: started.cancelled() or started.exception())
        return await asyncio.shield(task)

    def running(self, key: str) -> Channel | None:
        """Returns the shared child of this kind if it is running already."""
        task = self._shared.get(key)
        if task is None or not task.done() or task.cancelled() or task.exception() is not None:
            return None
        return task.result() if task.result().is_alive else None

    def forget(self, key: str) -> None:
        """Forgets this shared child, so that the next request starts a new one."""
        self._shared.pop(key, None)

    async def stop_shared(self, key: str) -> None:
        """Stops a shared child that is no longer needed."""
        task = self._shared.pop(key, None)
        if task is not None and task.done() and not task.cancelled() and task.exception() is None:
            await self.stop(task.result())

    async def stop(self, channel: Channel) -> None:
        if not channel.has_ended:
            self._stopping.add(channel)
        await channel.stop()

    def exited(self, channel: Channel, code: int) -> None:
        """Records the end of a child, which is a failure unless handfast stopped it."""
        status = Status.ERROR if code else Status.SUCCESS
        reason = channel.ended(code)
        self._running.discard(channel)
        self._health.exits += 1
        if channel not in self._stopping and not self._is_closed:
            shown = f"Its process exited with code {code}." if channel.is_process else reason
            # A process of one session that worked says nothing about the next one: its client may have ended it.
            is_of_one = channel.has_answered and not self._is_shared(channel)
            if channel.is_process or code or channel.had_requests:  # else a stream on which nothing was waited for
                (self._health.note_error if is_of_one else self._health.failed)(shown)
        self._stopping.discard(channel)
        self._server.journal.server_state(self._server.name, rules.SERVER_EXITED, reason, status)

    def _is_shared(self, channel: Channel) -> bool:
        ended = [task for task in self._shared.values() if task.done() and not task.cancelled()]
        return any(task.exception() is None and task.result() is channel for task in ended)

    def dismiss(self, text: str) -> None:
        """Ends every request under way with this text."""
        for channel in self._running:
            channel.dismiss(text)

    async def close(self) -> None:
        self._is_closed = True
        await asyncio.gather(*(channel.close() for channel in self._running))
        await self._reach.close()

    async def _start_shared(self, key: str, start: Awaitable[Channel]) -> Channel:
        channel = await start
        if key == MODERN:
            return channel
        channel.greeting = await self.greet(channel, lambda own_id: initialize(own_id, key, {}, self._version))
        return channel
