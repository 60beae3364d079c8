"""`handfast wrap` where bytes cannot be relayed: eras that differ, a server over HTTP, a compact surface."""

import asyncio
import contextlib
import signal
from functools import partial
from secrets import token_hex

from handfast.core.call.caller import Caller
from handfast.gateway.build import BuiltServer
from handfast.gateway.refused_calls import record_refused_call
from handfast.gateway.relay.wrap import Misfit
from handfast.gateway.runtime import Runtime
from handfast.gateway.settings.blocks import Surface
from handfast.gateway.translate.clients.stdio import StdioFront
from handfast.gateway.translate.compact.surface import ChosenSurface

_ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM, signal.SIGINT)


async def serve_on_stdio(runtime: Runtime, name: str, server: BuiltServer, *, misfit: Misfit | None = None) -> None:
    """Serves the client on stdio, or takes it over from the relay, until it leaves; then closes the server."""

    def surface() -> Surface:
        found = runtime.settings.servers.get(name)
        return Surface.FULL if found is None else found.surface

    front = StdioFront(
        ChosenSurface(server.backend, server.compact, surface),
        message_limit=runtime.settings.limits.message_bytes,
        diagnose=lambda rule, reason: runtime.journal.diagnose(name, rule, reason),
        caller=Caller(session=token_hex(8)),  # its tasks are those of this process alone
        record_refused=partial(record_refused_call, runtime, name),
    )
    loop = asyncio.get_running_loop()
    for number in _ENDS:
        with contextlib.suppress(NotImplementedError, RuntimeError):
            loop.add_signal_handler(number, front.stop)
    try:
        if misfit is None:
            await front.run()
        else:
            server.backend.native.knows(is_modern=misfit.is_server_modern)
            await front.take_over(misfit.input, misfit.output, misfit.unread)
    finally:
        await server.close()
