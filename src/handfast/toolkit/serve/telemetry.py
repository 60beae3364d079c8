"""Telemetry: makes the SDK's spans around messages only if a tracer records them or a message carries a trace.

Without a tracer provider spans have no effect, and making them takes a sixth of a call's time.
"""

from collections.abc import Mapping
from typing import Any, Final

from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from mcp.types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, LOG_LEVEL_META_KEY, PROTOCOL_VERSION_META_KEY
from opentelemetry.trace import NonRecordingSpan, ProxyTracerProvider, get_current_span, get_tracer_provider

from handfast.toolkit.serve.answering import Context

# The protocol's own keys, as the SDK names them, in which no propagator finds a trace.
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
    """Replaces the SDK's middleware, and calls it only for messages for which a span has an effect."""

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if _is_unheard(ctx.meta):
            return await call_next(ctx)
        return await super().__call__(ctx, call_next)


def _is_unheard(meta: Mapping[str, Any] | None) -> bool:  # Any: JSON
    """Whether a span has no effect: no tracer records it, and the message carries no trace."""
    return (
        (not meta or meta.keys() <= _PROTOCOLS_OWN)
        and type(get_tracer_provider()) is ProxyTracerProvider
        and type(get_current_span()) is NonRecordingSpan
    )


def spare_unheard_spans(middleware: list[ServerMiddleware[Any]]) -> None:  # Any: its lifespan
    """Replaces the SDK's middleware with ours."""
    for place, each in enumerate(middleware):
        if type(each) is OpenTelemetryMiddleware:
            middleware[place] = Telemetry()
