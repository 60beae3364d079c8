"""Running the gateway: a bound socket, clients on it, settings watched, everything closed at the end."""

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from ipaddress import ip_address
from pathlib import Path

from handfast.gateway.admission.draining import Drain
from handfast.gateway.app import GatewayApp
from handfast.gateway.edge.acceptor import BACKLOG
from handfast.gateway.edge.http_listener import HttpListener
from handfast.gateway.edge.tls import Certificate
from handfast.gateway.process.own_process import settle_memory
from handfast.gateway.reload import watching
from handfast.gateway.runtime import Runtime
from handfast.gateway.servers import Servers
from handfast.gateway.settings import Settings, open_to_all
from handfast.gateway.settings.blocks import AuthMode

_ENDING_SECONDS = 1  # for answers that report the end of a server, which take milliseconds
_LOOK_SECONDS = 1.0  # between two looks at the certificate's files
_GOODBYE_SECONDS = 2  # for what is left to be sent once the servers are gone


class AddressUnavailable(Exception):
    """The gateway cannot listen on the configured address."""


def bind(settings: Settings) -> socket.socket:
    """Raises: AddressUnavailable."""
    host, port = settings.listen_address
    listener = None
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        if (
            settings.auth.mode is AuthMode.NONE
            and not ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback
        ):
            listener.close()
            raise AddressUnavailable(open_to_all(settings.listen))
    except OSError as problem:
        if listener is not None:
            listener.close()
        why = problem.strerror or str(problem)
        raise AddressUnavailable(
            f"cannot listen on {settings.listen}: {why}. Stop what uses it, or choose another with --listen."
        ) from None
    listener.listen(BACKLOG)
    return listener


def address_of(listener: socket.socket, *, has_tls: bool = False) -> str:
    host, port = listener.getsockname()[:2]
    scheme = "https" if has_tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


@contextlib.asynccontextmanager
async def gateway(runtime: Runtime, listener: socket.socket, *, drain: Drain | None = None) -> AsyncIterator[Servers]:
    """A gateway that serves for the length of the block. Raises: StoreError, TlsUnusable."""
    upstreams = Servers(runtime)
    drain = drain or Drain()
    try:
        app = GatewayApp(runtime, upstreams, drain)
        certificate = _certificate(runtime.settings)
    except BaseException:
        listener.close()
        await runtime.close()
        raise
    clients = HttpListener(app.handle, limits=lambda: runtime.settings.limits, note=app.note)
    app.sign_in.start(clients.end_requests)
    await clients.start(listener, tls=None if certificate is None else certificate.context)
    upstreams.start()
    following = asyncio.create_task(_follow(certificate)) if certificate is not None else None
    try:
        yield upstreams
    finally:
        if following is not None:
            following.cancel()
        app.sign_in.close()
        # Calls under way may finish first; then their servers close, and calls that still wait end with that reason.
        drain.begin()
        runtime.places.close()
        upstreams.quiesce()
        await drain.finished(runtime.settings.limits.drain_timeout_s)
        await upstreams.close_servers()
        await drain.settled(_ENDING_SECONDS)
        await upstreams.close_fronts()
        await clients.close(_GOODBYE_SECONDS)
        await runtime.close()


def _certificate(settings: Settings) -> Certificate | None:
    """Raises: TlsUnusable."""
    tls = settings.tls
    return None if tls.certificate is None or tls.key is None else Certificate(tls.certificate, tls.key)


async def _follow(certificate: Certificate) -> None:
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        certificate.look()


async def serve(
    runtime: Runtime,
    listener: socket.socket,
    *,
    path: Path | None,
    load: Callable[[], Settings],
    on_ready: Callable[[str], None],
) -> None:
    """Serves until SIGINT or SIGTERM; a second one ends the wait for calls. SIGHUP reloads the settings."""
    stop = asyncio.Event()
    drain = Drain()

    def on_signal() -> None:
        if stop.is_set():
            drain.hurry()
        stop.set()

    async with gateway(runtime, listener, drain=drain) as upstreams:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, on_signal)
        # A closed terminal also sends SIGHUP, and the gateway must then end with it.
        with watching(runtime, path, load, on_change=upstreams.apply, reloads_on_hangup=not sys.stdin.isatty()):
            settle_memory()
            on_ready(address_of(listener, has_tls=runtime.settings.tls.certificate is not None))
            await stop.wait()
