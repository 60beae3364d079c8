"""The servers of the current settings, each with its endpoint, made and closed as the settings change."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from handfast.core.access.identity import Identity
from handfast.core.access.permissions import Denied, deny_call, may_call, may_enter
from handfast.gateway.admission.call_places import CLOSED
from handfast.gateway.admission.server_health import HealthReport, State
from handfast.gateway.build import build_all_servers, build_endpoint, build_server
from handfast.gateway.eager_start import EagerStart
from handfast.gateway.endpoint import ServerEndpoint
from handfast.gateway.http.exchange import HttpProblem
from handfast.gateway.runtime import Runtime
from handfast.gateway.settings import Settings
from handfast.gateway.settings.changes import ServerChanges, changed_servers
from handfast.gateway.translate.backend import Backend
from handfast.gateway.translate.combined.names import public_server, split_name

RESTARTED = "The server was restarted by a change of settings before it answered. Repeat the call if that is safe."
STOPPED = "The gateway stopped before the server answered. The call may have run: repeat it only if that is safe."
REMOVED = "The server was taken out of the settings before it answered. The call may have run."


class Servers:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._by_name: dict[str, _Served] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._eager = EagerStart(self._learn)
        self._is_started = False
        self.all = build_all_servers(runtime, self.backends, self)
        self.combined = self.all.combined
        self._open(name for name, server in runtime.settings.servers.items() if not server.disabled)

    def start(self) -> None:
        """Start what is to run before a client asks for it."""
        self._is_started = True
        self._eager.begin(name for name in self._by_name if self._runtime.settings.starts_eagerly(name))

    async def _learn(self, name: str) -> None:
        """Raises: UpstreamFailed."""
        await self._by_name[name].built.backend.native.is_modern()
        await self.combined.learn(name)

    def starting_for(self, server: str) -> float | None:
        """How long its process has been starting; None where it is up, down or not asked for yet."""
        served = self._by_name.get(server)
        since = None if served is None else served.built.asked_since
        return None if since is None else asyncio.get_running_loop().time() - since

    def remembered(self, server: str, what: str) -> bytes | None:
        """What it listed to everybody when it was last started."""
        served = self._by_name.get(server)
        return None if served is None else served.built.side.memory.get(self._shown(server, what))

    def remember(self, server: str, what: str, found: bytes) -> None:
        served = self._by_name.get(server)
        if served is not None:
            served.built.side.memory.keep(self._shown(server, what), found)

    def _shown(self, server: str, what: str) -> str:
        return f"{self._runtime.settings.servers[server].surface}: {what}"

    def names(self) -> list[str]:
        return sorted(self._by_name)

    def backends(self) -> dict[str, Backend]:
        """Returns the backend of each server; a restart or a change of surface replaces it with another object."""
        servers = self._runtime.settings.servers
        return {name: served.built.choose_backend(servers[name].surface) for name, served in self._by_name.items()}

    def deny_call(self, server: str, tool: str, identity: Identity) -> tuple[str, str, Denied | None]:
        """The server and its own name for a tool, and why the caller may not call it; None where that is not known.

        Without a server the tool's name is one of the combined endpoint.
        """
        if not server:
            prefix, rest = split_name(tool) or ("", "")
            server = next((name for name in self.names() if public_server(name) == prefix), "")
            if not server:
                return "", tool, None
            tool = rest
        served = self._by_name.get(server)
        if served is None:
            return server, tool, None
        contract = served.built.side.learner.contracts.find(tool)
        if contract is not None and may_call(identity, server, tool, contract.kind):
            return server, tool, None
        if not may_enter(identity, server):
            return server, tool, None  # as a server that is not there; at its own address nobody gets so far
        return server, tool, None if contract is None else deny_call(server, tool, contract.kind)

    def health(self) -> dict[str, HealthReport]:
        """Returns the health of each server of the settings, by name."""
        disabled = [name for name, server in self._runtime.settings.servers.items() if server.disabled]
        waiting = self._runtime.places.waiting
        reports = {
            name: replace(served.built.health.report(), waiting=waiting(name)) for name, served in self._by_name.items()
        }
        reports |= {name: HealthReport(state=State.DISABLED) for name in disabled}
        return dict(sorted(reports.items()))

    def find(self, name: str, identity: Identity | None = None) -> ServerEndpoint:
        """Raises: HttpProblem 404, which names the servers that the caller may enter."""
        served = self._by_name.get(name)
        if served is None:
            known = ", ".join(each for each in self.names() if may_enter(identity, each)) or "none"
            raise HttpProblem(404, f"There is no server of this name. Servers: {known}.")
        return served.endpoint

    def apply(self, old: Settings, new: Settings) -> None:
        """Applies changed settings: only servers whose command, url or environment changed are restarted."""
        changes = changed_servers(old, new)
        for name in (*changes.removed, *changes.restarted):
            self._eager.give_up(name)
            self._runtime.places.dismiss(name, CLOSED)
            self._close(self._by_name.pop(name), RESTARTED if name in changes.restarted else REMOVED)
        self._open((*changes.added, *changes.restarted))
        if self._is_started:
            self._eager.begin(name for name in self._by_name if self._becomes_eager(name, old, changes))
        self._runtime.places.refill()
        if changes != ServerChanges():
            self.combined.servers_changed()

    def _becomes_eager(self, name: str, old: Settings, changes: ServerChanges) -> bool:
        if not self._runtime.settings.starts_eagerly(name):
            return False
        return name in (*changes.added, *changes.restarted) or not old.starts_eagerly(name)

    def quiesce(self) -> None:
        self.all.quiesce()
        for served in self._by_name.values():
            served.quiesce()

    async def close(self) -> None:
        await self.close_servers()
        await self.close_fronts()

    async def close_servers(self) -> None:
        """Ends calls under way together with their servers and says so; a call dropped by its front would not."""
        for served in self._by_name.values():
            served.dismiss(STOPPED)
        await self._eager.close()
        await asyncio.gather(*(served.built.close() for served in self._by_name.values()), *self._closing)

    async def close_fronts(self) -> None:
        for served in self._by_name.values():
            await served.endpoint.close(STOPPED)
        await self.all.close(STOPPED)

    def _open(self, names: Iterable[str]) -> None:
        for name in names:
            served = self._by_name[name] = _Served(self._runtime, name)
            served.built.backend.native.on_known = partial(self.combined.server_is_up, name)

    def _close(self, served: "_Served", text: str) -> None:
        served.dismiss(text)
        task = asyncio.create_task(served.close(text))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


class _Served:
    """A server and the endpoint in front of it."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        self.built = build_server(runtime, name, runtime.settings.servers[name])
        self.endpoint = build_endpoint(runtime, name, self.built)

    def quiesce(self) -> None:
        self.endpoint.quiesce()
        self.built.relay.quiesce()

    def dismiss(self, text: str) -> None:
        """Ends calls under way with this text, which is also recorded; subscriptions end without it."""
        self.endpoint.quiesce()
        self.built.relay.dismiss(text)

    async def close(self, text: str) -> None:
        await self.built.close()  # first: a call that ends with its server says so, one dropped by its front does not
        await self.endpoint.close(text)
