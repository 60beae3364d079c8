"""The processes of one stdio server: started when its health allows, shared between clients, stopped at the end."""

import asyncio
from collections.abc import Callable

from handfast.core.call import rules
from handfast.core.call.exchange import Status
from handfast.gateway.admission.server_health import Era, ServerHealth, State
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.process.channel import Channel, ChannelOwner
from handfast.gateway.process.child import ChildStartFailed
from handfast.gateway.process.launch import Launch
from handfast.gateway.process.server_output import ServerOutput
from handfast.gateway.settings.blocks import Limits
from handfast.wire.message import Message
from handfast.wire.replies import initialize, notification

MODERN = "modern"  # the key of the child that modern clients share: it needs no handshake


class Children:
    def __init__(
        self,
        server: ServerSide,
        launch: Launch,
        owner: ChannelOwner,
        *,
        health: ServerHealth,
        limits: Callable[[], Limits],
        version: str,
    ) -> None:
        self._server = server
        self._launch = launch
        self._owner = owner
        self._health = health
        self._limits = limits
        self._version = version
        self._running: set[Channel] = set()
        self._stopping: set[Channel] = set()  # those that we are stopping
        self._shared: dict[str, asyncio.Task[Channel]] = {}
        self._is_closed = False

    async def start(self, owner: ChannelOwner | None = None) -> Channel:
        """Starts a child; `owner` is for a child that is not shared.

        Raises: UpstreamResting, ChildStartFailed, ConnectionError.
        """
        self._health.check_admission()
        output = ServerOutput(f"[{self._server.name}] ")
        channel = Channel(self._launch, owner or self._owner, limits=self._limits(), on_stderr=output)
        try:
            await channel.start()
        except ChildStartFailed as problem:
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
        self._server.learner.restart()
        self._server.journal.server_state(self._server.name, rules.SERVER_STARTED, f"Started as process {channel.pid}.")
        return channel

    async def greet(self, channel: Channel, render: Callable[[int], bytes]) -> Message:
        """Does the whole handshake on handfast's own behalf. Raises: ConnectionError, TimeoutError."""
        greeting = await self.initialize(channel, render)
        channel.send(notification("notifications/initialized"))
        return greeting

    async def initialize(self, channel: Channel, render: Callable[[int], bytes]) -> Message:
        """Sends initialize, and stops a child that does not answer it. Raises: ConnectionError, TimeoutError."""
        seconds = self._limits().handshake_timeout_s
        try:
            async with asyncio.timeout(seconds):
                greeting = await channel.ask(render)
        except BaseException as problem:
            if isinstance(problem, TimeoutError):
                self._health.failed(f"It did not answer initialize within {seconds:g} s.")
            await self.stop(channel)
            raise
        if self._health.state is not State.UP:
            self._health.succeeded()
        if not greeting.has_error:
            self._health.era = Era.LEGACY
        return greeting

    async def shared(self, key: str) -> Channel:
        """Returns the child that clients of one kind share; requests at the same moment start it only once."""
        task = self._shared.get(key)
        if task is None or (task.done() and (task.exception() is not None or not task.result().is_alive)):
            task = self._shared[key] = asyncio.create_task(self._start_shared(key))
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
        if channel.is_alive:
            self._stopping.add(channel)
        await channel.stop()

    def exited(self, channel: Channel, code: int) -> None:
        """Records the end of a child, which is a failure unless handfast stopped it."""
        self._running.discard(channel)
        self._health.exits += 1
        if channel not in self._stopping and not self._is_closed:
            self._health.failed(f"Its process exited with code {code}.")
        self._stopping.discard(channel)
        status = Status.ERROR if code else Status.SUCCESS
        reason = f"Process {channel.pid} exited with code {code}."
        self._server.journal.server_state(self._server.name, rules.SERVER_EXITED, reason, status)

    def dismiss(self, text: str) -> None:
        """Ends every request under way with this text."""
        for channel in self._running:
            channel.dismiss(text)

    async def close(self) -> None:
        self._is_closed = True
        await asyncio.gather(*(channel.close() for channel in self._running))

    async def _start_shared(self, key: str) -> Channel:
        channel = await self.start()
        if key == MODERN:
            return channel
        channel.greeting = await self.greet(channel, lambda own_id: initialize(own_id, key, {}, self._version))
        return channel
