"""The upstreams of the current settings, made and closed as the settings change."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from handfast import __version__
from handfast.core.exchange import Status
from handfast.gateway.backend import Backend
from handfast.gateway.breaker import SETTLED_SECONDS, Breaker, reconnect_rest, restart_rest
from handfast.gateway.call_places import CLOSED
from handfast.gateway.combined.backend import CombinedBackend
from handfast.gateway.combined.endpoint import Endpoint
from handfast.gateway.http_exchange import HttpProblem
from handfast.gateway.http_upstream import HttpUpstream
from handfast.gateway.launch import Launch, child_environment
from handfast.gateway.runtime import Runtime
from handfast.gateway.server_health import HealthReport, ServerHealth, State
from handfast.gateway.settings import ServerSettings, Settings, Transport
from handfast.gateway.settings.changes import changed_servers
from handfast.gateway.stdio_upstream import StdioUpstream


class Upstreams:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._by_name: dict[str, HttpUpstream | StdioUpstream] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self.combined = CombinedBackend(
            Endpoint(
                every_server=self.backends,
                seconds=lambda: runtime.settings.limits.learn_timeout_s,
                now=runtime.clock.monotonic,
                diagnose=runtime.journal.diagnose,
            )
        )
        self._open(name for name, server in runtime.settings.servers.items() if not server.disabled)

    def names(self) -> list[str]:
        return sorted(self._by_name)

    def backends(self) -> dict[str, Backend]:
        """Each server as what answers in the modern form; one that was started anew is another."""
        return {name: upstream.backend for name, upstream in self._by_name.items()}

    def health(self) -> dict[str, HealthReport]:
        """How each server of the settings is, by name."""
        disabled = [name for name, server in self._runtime.settings.servers.items() if server.disabled]
        waiting = self._runtime.places.waiting
        reports = {
            name: replace(upstream.health.report(), waiting=waiting(name)) for name, upstream in self._by_name.items()
        }
        reports |= {name: HealthReport(state=State.DISABLED) for name in disabled}
        return dict(sorted(reports.items()))

    def find(self, name: str) -> HttpUpstream | StdioUpstream:
        """Raises: HttpProblem 404."""
        upstream = self._by_name.get(name)
        if upstream is None:
            known = ", ".join(self.names()) or "none"
            raise HttpProblem(404, f"There is no server of this name. Servers: {known}.")
        return upstream

    def apply(self, old: Settings, new: Settings) -> None:
        """Take changed settings: only the servers whose command, url or environment changed start anew."""
        changes = changed_servers(old, new)
        for name in (*changes.removed, *changes.restarted):
            self._runtime.places.dismiss(name, CLOSED)
            self._close(self._by_name.pop(name))
        self._open((*changes.added, *changes.restarted))
        self._runtime.places.refill()
        if changes.added or changes.removed or changes.restarted:
            self.combined.servers_changed()

    def quiesce(self) -> None:
        for upstream in self._by_name.values():
            upstream.quiesce()

    async def close(self) -> None:
        await asyncio.gather(*(upstream.close() for upstream in self._by_name.values()), *self._closing)

    def _open(self, names: Iterable[str]) -> None:
        for name in names:
            self._by_name[name] = self._make(name, self._runtime.settings.servers[name])

    def _close(self, upstream: HttpUpstream | StdioUpstream) -> None:
        task = asyncio.create_task(upstream.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _make(self, name: str, server: ServerSettings) -> HttpUpstream | StdioUpstream:
        runtime = self._runtime
        if server.transport is Transport.HTTP:
            assert server.url is not None
            return HttpUpstream(
                runtime.server_side(name, (server.url,)),
                server.url,
                [(key.lower().encode(), value.encode()) for key, value in server.headers.items()],
                health=self._health_of(name, Transport.HTTP),
                limits=lambda: runtime.settings.limits,
                version=__version__,
            )
        assert server.command is not None
        command = (server.command, *server.args)
        return StdioUpstream(
            runtime.server_side(name, command),
            Launch(command, child_environment(server.env), server.cwd),
            health=self._health_of(name, Transport.STDIO),
            isolation=lambda: runtime.settings.servers[name].isolation,
            limits=lambda: runtime.settings.limits,
            version=__version__,
        )

    def _health_of(self, name: str, transport: Transport) -> ServerHealth:
        runtime = self._runtime
        now = runtime.clock.monotonic
        if transport is Transport.HTTP:
            breaker = Breaker(now, rest_after=lambda n: reconnect_rest(n, runtime.settings.limits.connection_failures))
        else:
            breaker = Breaker(
                now,
                rest_after=lambda n: restart_rest(n, runtime.settings.limits.restarts),
                settles_after=SETTLED_SECONDS,
            )

        def on_change(state: State, reason: str, status: Status) -> None:
            runtime.journal.server_state(name, state.value, reason, status)

        return ServerHealth(breaker, runtime.clock, on_change=on_change)
