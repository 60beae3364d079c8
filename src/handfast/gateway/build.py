"""How the parts of one server are put together: its relay, the backends that speak the inner form, the clients' side.

client ── ServerEndpoint ┬─ relay ──────────────────────────────────────────────── server
                         └─ ModernFront | LegacyFront ── surface ── JudgedServer ── the relay's connections
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from handfast import __version__
from handfast.core.call.exchange import Status
from handfast.gateway.admission.breaker import SETTLED_SECONDS, Breaker, reconnect_rest, restart_rest
from handfast.gateway.admission.server_health import ServerHealth, State
from handfast.gateway.callers.caller_ids import CallerIds
from handfast.gateway.callers.opaque import Seal
from handfast.gateway.calls.param_headers import modern_headers
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.calls.session_owner import held_calls, note_evicted
from handfast.gateway.endpoint import ServerEndpoint
from handfast.gateway.http.headers import UpstreamHeaders
from handfast.gateway.process.launch import Launch, child_environment
from handfast.gateway.refused_calls import record_refused_call
from handfast.gateway.relay.http_relay import HttpRelay
from handfast.gateway.relay.stdio_relay import StdioRelay
from handfast.gateway.runtime import Runtime
from handfast.gateway.settings import ServerSettings, Transport
from handfast.gateway.settings.blocks import Isolation, Limits, Surface
from handfast.gateway.translate.backend import Backend
from handfast.gateway.translate.clients.legacy_http import LegacyFront
from handfast.gateway.translate.clients.modern_http import ModernFront
from handfast.gateway.translate.compact.backend import CompactBackend
from handfast.gateway.translate.compact.surface import ChosenSurface
from handfast.gateway.translate.servers.era_probe import NativeServer
from handfast.gateway.translate.servers.http_sessions import HttpSessions
from handfast.gateway.translate.servers.judged_server import JudgedServer
from handfast.gateway.translate.servers.legacy_server import LegacyServer
from handfast.gateway.translate.servers.modern_server import ModernServer
from handfast.gateway.translate.servers.stdio_sessions import StdioSessions


@dataclass(frozen=True, slots=True)
class BuiltServer:
    """One server: relayed where the eras fit, else asked in the inner form by its backend."""

    side: ServerSide
    relay: HttpRelay | StdioRelay
    sessions: HttpSessions | StdioSessions
    backend: JudgedServer
    compact: CompactBackend

    @property
    def health(self) -> ServerHealth:
        return self.relay.health

    def choose_backend(self, surface: Surface) -> Backend:
        return self.compact if surface is Surface.COMPACT else self.backend

    async def close(self) -> None:
        """The sessions of clients first: what is under way in them ends with the reason that was given."""
        self.side.learner.close()
        self.relay.stop()
        await self.backend.close()
        await self.sessions.close()
        await self.relay.close()


def build_server(runtime: Runtime, name: str, settings: ServerSettings) -> BuiltServer:
    """A server of the settings, over whichever transport they name."""
    if settings.transport is Transport.HTTP:
        return build_http_server(runtime, name, settings)
    assert settings.command is not None
    launch = Launch((settings.command, *settings.args), child_environment(settings.env), settings.cwd)
    return build_stdio_server(runtime, name, launch)


def build_http_server(
    runtime: Runtime, name: str, settings: ServerSettings, *, has_one_caller: bool = False
) -> BuiltServer:
    assert settings.url is not None
    side = runtime.server_side(name, (settings.url,))
    limits = _limits_of(runtime)
    health = _watch_health(
        runtime,
        name,
        Breaker(runtime.clock.monotonic, rest_after=lambda n: reconnect_rest(n, limits().connection_failures)),
    )
    headers = UpstreamHeaders(
        [(key.lower().encode(), value.encode()) for key, value in settings.headers.items()],
        [name.lower().encode() for name in settings.forward_headers],
    )
    relay = HttpRelay(side, settings.url, headers, health=health, limits=limits)
    sessions = HttpSessions(
        relay,
        modern_headers=lambda message: modern_headers(side, message),
        held=held_calls(side, limits),
        refused=partial(side.journal.diagnose, name, "message.unowned"),
        version=__version__,
        limits=limits,
    )
    era = NativeServer(
        ModernServer(
            sessions.modern_line,
            tells_logs_apart=True,  # a stream for each request
            ids=None if has_one_caller else _caller_ids(runtime, name),
            listening=relay.listening_places,
        ),
        LegacyServer(sessions, limits=limits, now=side.now, on_evict=lambda: note_evicted(side)),
        leave_modern=sessions.leave_modern,
        is_busy=lambda: relay.is_busy,
    )
    relay.attach_era(era)
    backend = JudgedServer(side, era, health=health, limits=limits, request_places=relay.request_places)
    return BuiltServer(side, relay, sessions, backend, CompactBackend(side, backend))


def build_stdio_server(runtime: Runtime, name: str, launch: Launch, *, has_one_caller: bool = False) -> BuiltServer:
    side = runtime.server_side(name, launch.command)
    limits = _limits_of(runtime)
    ids = None if has_one_caller else _caller_ids(runtime, name)
    breaker = Breaker(
        runtime.clock.monotonic,
        rest_after=lambda n: restart_rest(n, limits().restarts),
        settles_after=SETTLED_SECONDS,
    )
    health = _watch_health(runtime, name, breaker)

    def isolation() -> Isolation:
        found = runtime.settings.servers.get(name)
        return Isolation.AUTO if found is None else found.isolation

    def isolates() -> bool:
        return isolation() is Isolation.SESSION

    relay = StdioRelay(side, launch, health=health, isolation=isolation, limits=limits, version=__version__, ids=ids)
    sessions = StdioSessions(
        relay.children,
        relay,
        held=held_calls(side, limits),
        refused=partial(side.journal.diagnose, name, "message.unowned"),
        version=__version__,
        limits=limits,
        now=side.now,
        isolates=isolates,
        on_evict=lambda: note_evicted(side),
    )
    era = NativeServer(
        ModernServer(sessions.modern_line, sessions.leave, tells_logs_apart=False, ids=ids),
        LegacyServer(sessions, limits=limits, now=side.now, isolates=isolates, on_evict=lambda: note_evicted(side)),
        leave_modern=sessions.leave_modern,
        is_busy=sessions.is_busy,
    )
    relay.attach_era(era, sessions.list_changed)
    backend = JudgedServer(side, era, health=health, limits=limits)
    return BuiltServer(side, relay, sessions, backend, CompactBackend(side, backend))


def build_endpoint(runtime: Runtime, name: str, built: BuiltServer) -> ServerEndpoint:
    """`/mcp/<server>` in front of a server of the settings."""
    at_first = runtime.settings.servers[name]

    def settings() -> ServerSettings:
        return runtime.settings.servers.get(name, at_first)

    surface = ChosenSurface(built.backend, built.compact, lambda: settings().surface)
    return ServerEndpoint(built.relay, built.backend.native, *build_fronts(runtime, name, surface), settings=settings)


def build_fronts(runtime: Runtime, name: str, backend: Backend) -> tuple[ModernFront, LegacyFront]:
    """Clients of both eras in front of a backend; without a name it is that of all servers."""
    diagnose = partial(runtime.journal.diagnose, name)
    legacy = LegacyFront(
        backend,
        limits=_limits_of(runtime),
        diagnose=diagnose,
        record_refused=partial(record_refused_call, runtime, name),
        now=runtime.clock.monotonic,
    )
    return ModernFront(backend, diagnose=diagnose), legacy


def _limits_of(runtime: Runtime) -> Callable[[], Limits]:
    return lambda: runtime.settings.limits


def _caller_ids(runtime: Runtime, name: str) -> CallerIds:
    return CallerIds(Seal(runtime.recorder.derive_key("callers")), name)


def _watch_health(runtime: Runtime, name: str, breaker: Breaker) -> ServerHealth:
    def on_change(state: State, reason: str, status: Status) -> None:
        runtime.journal.server_state(name, state.value, reason, status)

    return ServerHealth(breaker, runtime.clock, on_change=on_change)
