"""One server of the settings behind its transport: made from what the settings say, with a watch on its health."""

from handfast import __version__
from handfast.core.call.exchange import Status
from handfast.gateway.admission.breaker import SETTLED_SECONDS, Breaker, reconnect_rest, restart_rest
from handfast.gateway.admission.server_health import ServerHealth, State
from handfast.gateway.callers.caller_ids import CallerIds
from handfast.gateway.callers.opaque import Seal
from handfast.gateway.http.headers import UpstreamHeaders
from handfast.gateway.process.launch import Launch
from handfast.gateway.relay.http_relay import HttpUpstream
from handfast.gateway.relay.stdio_relay import StdioUpstream
from handfast.gateway.runtime import Runtime
from handfast.gateway.settings import ServerSettings
from handfast.gateway.settings.blocks import Isolation

Upstream = HttpUpstream | StdioUpstream


def http_upstream(runtime: Runtime, name: str, server: ServerSettings, *, has_one_caller: bool = False) -> HttpUpstream:
    assert server.url is not None
    breaker = Breaker(
        runtime.clock.monotonic,
        rest_after=lambda n: reconnect_rest(n, runtime.settings.limits.connection_failures),
    )
    return HttpUpstream(
        runtime.server_side(name, (server.url,)),
        server.url,
        UpstreamHeaders(
            [(key.lower().encode(), value.encode()) for key, value in server.headers.items()],
            [name.lower().encode() for name in server.forward_headers],
        ),
        health=_health(runtime, name, breaker),
        limits=lambda: runtime.settings.limits,
        version=__version__,
        ids=None if has_one_caller else _caller_ids(runtime, name),
    )


def stdio_upstream(runtime: Runtime, name: str, launch: Launch, *, has_one_caller: bool = False) -> StdioUpstream:
    breaker = Breaker(
        runtime.clock.monotonic,
        rest_after=lambda n: restart_rest(n, runtime.settings.limits.restarts),
        settles_after=SETTLED_SECONDS,
    )

    def isolation() -> Isolation:
        found = runtime.settings.servers.get(name)
        return Isolation.AUTO if found is None else found.isolation

    return StdioUpstream(
        runtime.server_side(name, launch.command),
        launch,
        health=_health(runtime, name, breaker),
        isolation=isolation,
        limits=lambda: runtime.settings.limits,
        version=__version__,
        ids=None if has_one_caller else _caller_ids(runtime, name),
    )


def _caller_ids(runtime: Runtime, name: str) -> CallerIds:
    return CallerIds(Seal(runtime.recorder.derive_key("callers")), name)


def _health(runtime: Runtime, name: str, breaker: Breaker) -> ServerHealth:
    def on_change(state: State, reason: str, status: Status) -> None:
        runtime.journal.server_state(name, state.value, reason, status)

    return ServerHealth(breaker, runtime.clock, on_change=on_change)
