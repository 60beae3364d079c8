"""Telemetry: the SDK's spans around each message, made only where a tracer records them or a trace is passed on.

Without a tracer provider they come to nothing, and making them costs a sixth of a call.
"""

from collections.abc import Mapping
from typing import Any, Final

from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from mcp.types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, LOG_LEVEL_META_KEY, PROTOCOL_VERSION_META_KEY
from opentelemetry.trace import NonRecordingSpan, ProxyTracerProvider, get_current_span, get_tracer_provider

from handfast.toolkit.serve.answering import Context

# What the protocol itself puts there, as the SDK names it: no trace is in these, whatever propagator reads them.
_PROTOCOLS_OWN: Final = frozenset(
    {
        PROTOCOL_VERSION_META_KEY,
        CLIENT_CAPABILITIES_META_KEY,
        CLIENT_INFO_META_KEY,
        LOG_LEVEL_META_KEY,
        "progress_token",
    }
)


class Telemetry(OpenTelemetryMiddleware):
    """Stands in for the SDK's own, and leaves to it every message that a span would make a difference to."""

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if _is_unheard(ctx.meta):
            return await call_next(ctx)
        return await super().__call__(ctx, call_next)


def _is_unheard(meta: Mapping[str, Any] | None) -> bool:  # Any: JSON
    """Whether a span would change nothing: no tracer records any, and no trace comes with the message."""
    return (
        (not meta or meta.keys() <= _PROTOCOLS_OWN)
        and type(get_tracer_provider()) is ProxyTracerProvider
        and type(get_current_span()) is NonRecordingSpan
    )


def spare_unheard_spans(middleware: list[ServerMiddleware[Any]]) -> None:  # Any: its lifespan
    """Put ours where the SDK has put its own."""
    for place, each in enumerate(middleware):
        if type(each) is OpenTelemetryMiddleware:
            middleware[place] = Telemetry()
