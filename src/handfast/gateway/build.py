"""How the parts of one server are put together: its relay, the backends that speak the inner form, the clients' side.

client ── ServerEndpoint ┬─ relay ──────────────────────────────────────────────── server
                         └─ ModernFront | LegacyFront ── surface ── JudgedServer ── the relay's connections
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from handfast import __version__
from handfast.core.call import rules
from handfast.core.call.exchange import Status
from handfast.gateway.admission.breaker import SETTLED_SECONDS, Breaker, reconnect_rest, restart_rest
from handfast.gateway.admission.server_health import ServerHealth, State
from handfast.gateway.all_servers import AllServers
from handfast.gateway.callers.caller_ids import CallerIds
from handfast.gateway.callers.held_calls import GIVEN_UP, HeldCalls
from handfast.gateway.callers.opaque import Seal
from handfast.gateway.calls.param_headers import modern_headers
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.endpoint import ServerEndpoint
from handfast.gateway.http.headers import UpstreamHeaders
from handfast.gateway.process.event_pipe import EventAddress
from handfast.gateway.process.launch import Launch, child_environment
from handfast.gateway.process.pipe import Reach
from handfast.gateway.refused_calls import record_left, record_refused_call, record_templated, record_unrouted
from handfast.gateway.relay.http_relay import HttpRelay
from handfast.gateway.relay.stdio_relay import StdioRelay
from handfast.gateway.runtime import Runtime
from handfast.gateway.sessions.session_table import TRANSLATED_SESSIONS, note_evicted
from handfast.gateway.settings import ServerSettings, Transport
from handfast.gateway.settings.blocks import Isolation, Limits, Surface
from handfast.gateway.translate.backend import Backend
from handfast.gateway.translate.clients.legacy_http import LegacyFront
from handfast.gateway.translate.clients.modern_http import ModernFront
from handfast.gateway.translate.combined.backend import CombinedBackend
from handfast.gateway.translate.combined.endpoint import CombinedEndpoint, Starts
from handfast.gateway.translate.compact.backend import CompactBackend
from handfast.gateway.translate.compact.surface import ChosenSurface
from handfast.gateway.translate.servers.era_probe import NativeServer
from handfast.gateway.translate.servers.http_sessions import HttpSessions
from handfast.gateway.translate.servers.judged_server import JudgedServer
from handfast.gateway.translate.servers.legacy_server import LegacyServer
from handfast.gateway.translate.servers.modern_server import ModernServer
from handfast.gateway.translate.servers.stdio_sessions import StdioSessions

# Idle and disabled servers have no change to record.
_STATES = {State.UP: rules.SERVER_UP, State.FAILING: rules.SERVER_FAILING, State.OPEN: rules.SERVER_OPEN}


@dataclass(frozen=True, slots=True)
class BuiltServer:
    """One server: relayed where the eras of client and server fit, else translated by its backend."""

    side: ServerSide
    relay: HttpRelay | StdioRelay
    sessions: HttpSessions | StdioSessions
    backend: JudgedServer
    compact: CompactBackend

    @property
    def health(self) -> ServerHealth:
        return self.relay.health

    @property
    def asked_since(self) -> float | None:
        """Since when its process is starting, in the loop's time; None where it is not, or there is none."""
        return self.backend.native.asked_since if self.relay.is_process else None

    def choose_backend(self, surface: Surface) -> Backend:
        return self.compact if surface is Surface.COMPACT else self.backend

    async def close(self) -> None:
        """Stops the relay's sessions first, so that requests under way in them end with the reason that was given."""
        self.side.learner.close()
        self.relay.stop()
        await self.backend.close()
        await self.sessions.close()
        await self.relay.close()


def build_server(runtime: Runtime, name: str, settings: ServerSettings) -> BuiltServer:
    """Builds a server of the settings, for the transport that they name."""
    if settings.url is not None:
        return build_url_server(runtime, name, settings)
    assert settings.command is not None
    launch = Launch((settings.command, *settings.args), child_environment(settings.env), settings.cwd)
    return build_stdio_server(runtime, name, launch)


def build_url_server(
    runtime: Runtime, name: str, settings: ServerSettings, *, has_one_caller: bool = False
) -> BuiltServer:
    """Over Streamable HTTP, or the transport before it, which is as one more pipe. Raises: UrlUnusable."""
    assert settings.url is not None
    headers = UpstreamHeaders(
        [(key.lower().encode(), value.encode()) for key, value in settings.headers.items()],
        [name.lower().encode() for name in settings.forward_headers],
    )
    if settings.transport is Transport.HTTP:
        return _build_http_server(runtime, name, settings.url, headers, has_one_caller=has_one_caller)
    limits = _limits_of(runtime)
    breaker = Breaker(
        runtime.clock.monotonic,
        rest_after=lambda n: reconnect_rest(n, limits().connection_failures),
        settles_after=SETTLED_SECONDS,
    )
    reach = EventAddress(settings.url, headers)
    return _build_piped_server(runtime, name, (settings.url,), reach, breaker, has_one_caller=has_one_caller)


def _build_http_server(
    runtime: Runtime, name: str, url: str, headers: UpstreamHeaders, *, has_one_caller: bool
) -> BuiltServer:
    side = runtime.server_side(name, (url,))
    limits = _limits_of(runtime)
    health = _watch_health(
        runtime,
        name,
        Breaker(runtime.clock.monotonic, rest_after=lambda n: reconnect_rest(n, limits().connection_failures)),
    )
    relay = HttpRelay(side, url, headers, health=health, limits=limits)
    sessions = HttpSessions(
        relay,
        modern_headers=lambda message: modern_headers(side, message),
        held=_hold_calls(side, limits),
        refused=partial(side.journal.diagnose, name, rules.MESSAGE_UNOWNED),
        version=__version__,
        limits=limits,
    )
    era = NativeServer(
        ModernServer(
            sessions.modern_line,
            tells_logs_apart=True,  # each request has its own stream
            ids=None if has_one_caller else _caller_ids(runtime, name),
            listening=relay.listening_places,
        ),
        LegacyServer(sessions, limits=limits, now=side.now, on_evict=partial(note_evicted, side.journal, name)),
        memory=side.memory,
        leave_modern=sessions.leave_modern,
        is_busy=lambda: relay.is_busy,
    )
    relay.attach_era(era)
    backend = JudgedServer(side, era, health=health, limits=limits, request_places=relay.request_places)
    return BuiltServer(side, relay, sessions, backend, CompactBackend(side, backend))


def build_stdio_server(runtime: Runtime, name: str, launch: Launch, *, has_one_caller: bool = False) -> BuiltServer:
    limits = _limits_of(runtime)
    breaker = Breaker(
        runtime.clock.monotonic,
        rest_after=lambda n: restart_rest(n, limits().restarts),
        settles_after=SETTLED_SECONDS,
    )
    return _build_piped_server(runtime, name, launch.command, launch, breaker, has_one_caller=has_one_caller)


def _build_piped_server(
    runtime: Runtime, name: str, address: Sequence[str], reach: Reach, breaker: Breaker, *, has_one_caller: bool
) -> BuiltServer:
    side = runtime.server_side(name, address)
    limits = _limits_of(runtime)
    ids = None if has_one_caller else _caller_ids(runtime, name)
    health = _watch_health(runtime, name, breaker)
    evicted = partial(note_evicted, side.journal, name)

    def isolation() -> Isolation:
        found = runtime.settings.servers.get(name)
        return Isolation.AUTO if found is None else found.isolation

    def isolates() -> bool:
        return isolation() is Isolation.SESSION

    relay = StdioRelay(side, reach, health=health, isolation=isolation, limits=limits, version=__version__, ids=ids)
    sessions = StdioSessions(
        relay.children,
        relay,
        held=_hold_calls(side, limits),
        refused=partial(side.journal.diagnose, name, rules.MESSAGE_UNOWNED),
        version=__version__,
        limits=limits,
        now=side.now,
        isolates=isolates,
        has_sessions=relay.has_sessions,
        on_evict=evicted,
    )
    era = NativeServer(
        ModernServer(sessions.modern_line, sessions.leave, tells_logs_apart=False, ids=ids),
        LegacyServer(sessions, limits=limits, now=side.now, isolates=isolates, on_evict=evicted),
        memory=side.memory,
        leave_modern=sessions.leave_modern,
        leave_legacy=sessions.leave_legacy,
        is_busy=sessions.is_busy,
    )
    relay.attach_era(era, sessions.list_changed)
    backend = JudgedServer(side, era, health=health, limits=limits)
    return BuiltServer(side, relay, sessions, backend, CompactBackend(side, backend))


def build_endpoint(runtime: Runtime, name: str, built: BuiltServer) -> ServerEndpoint:
    """Builds `/mcp/<server>` in front of a server of the settings."""
    at_first = runtime.settings.servers[name]

    def settings() -> ServerSettings:
        return runtime.settings.servers.get(name, at_first)

    def is_relayed(session: bytes) -> bool:
        # A stdio server has no sessions of its own: the relay opened them all, and refuses those that it does not know.
        return isinstance(built.relay, StdioRelay) or session in built.relay.sessions

    surface = ChosenSurface(built.backend, built.compact, lambda: settings().surface)
    fronts = build_fronts(runtime, name, surface)
    return ServerEndpoint(built.relay, built.backend.native, *fronts, settings=settings, is_relayed=is_relayed)


def build_all_servers(runtime: Runtime, every_server: Callable[[], dict[str, Backend]], starts: Starts) -> AllServers:
    """Builds `/mcp` in front of all current servers."""
    combined = CombinedBackend(
        CombinedEndpoint(
            every_server=every_server,
            starts=starts,
            seconds=lambda: runtime.settings.limits.learn_timeout_s,
            now=runtime.clock.monotonic,
            diagnose=runtime.journal.diagnose,
            seal=Seal(runtime.recorder.derive_key("combined")),
            record_refused=partial(record_unrouted, runtime),
            record_left=partial(record_left, runtime),
            record_templated=partial(record_templated, runtime),
        )
    )
    return AllServers(combined, *build_fronts(runtime, "", combined))


def build_fronts(runtime: Runtime, name: str, backend: Backend) -> tuple[ModernFront, LegacyFront]:
    """Builds the fronts for clients of both eras; an empty name stands for the backend of all servers."""
    legacy = LegacyFront(
        backend,
        runtime.journal,
        name,
        limits=_limits_of(runtime),
        record_refused=partial(record_refused_call, runtime, name),
        now=runtime.clock.monotonic,
        most_sessions=TRANSLATED_SESSIONS,
    )
    return ModernFront(backend, diagnose=partial(runtime.journal.diagnose, name)), legacy


def _hold_calls(side: ServerSide, limits: Callable[[], Limits]) -> HeldCalls:
    """Builds the table of one server's calls that wait for the client's answer; evictions are recorded."""
    on_evict = partial(side.journal.diagnose, side.name, rules.QUESTION_EVICTED, GIVEN_UP)
    return HeldCalls(lambda: limits().question_timeout_s, on_evict=on_evict)


def _limits_of(runtime: Runtime) -> Callable[[], Limits]:
    return lambda: runtime.settings.limits


def _caller_ids(runtime: Runtime, name: str) -> CallerIds:
    return CallerIds(Seal(runtime.recorder.derive_key("callers")), name)


def _watch_health(runtime: Runtime, name: str, breaker: Breaker) -> ServerHealth:
    def on_change(state: State, reason: str, status: Status) -> None:
        runtime.journal.server_state(name, _STATES[state], reason, status)

    return ServerHealth(breaker, runtime.clock, on_change=on_change)
