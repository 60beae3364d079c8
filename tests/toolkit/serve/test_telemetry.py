"""Spans around messages: made where somebody would see them, and spared where nobody does."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.server._otel import OpenTelemetryMiddleware
from mcp.types import CLIENT_INFO_META_KEY
from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider

from handfast.toolkit import Toolbox
from handfast.toolkit.serve import telemetry
from handfast.toolkit.serve.serving import build_server
from handfast.toolkit.serve.telemetry import Telemetry, spare_unheard_spans


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The messages that the SDK's own middleware was left."""
    seen: list[object] = []

    async def note(self: object, ctx: Any, call_next: Any) -> Any:
        seen.append(ctx.meta)
        return await call_next(ctx)

    monkeypatch.setattr(OpenTelemetryMiddleware, "__call__", note)
    return seen


def passed(meta: object) -> str:
    async def answer(_: Any) -> Any:
        return "answered"

    return str(asyncio.run(Telemetry()(SimpleNamespace(meta=meta), answer)))  # type: ignore[arg-type]  # as much as it reads


def test_nobody_listens_so_nothing_is_made(spans: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "get_tracer_provider", ProxyTracerProvider)
    for meta in (None, {}, {CLIENT_INFO_META_KEY: {"name": "c"}}):
        assert passed(meta) == "answered"
    assert spans == []


def test_a_trace_that_comes_along_is_passed_on(spans: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "get_tracer_provider", ProxyTracerProvider)
    meta = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    assert passed(meta) == "answered"
    assert spans == [meta]


def test_whoever_set_a_provider_gets_every_span(spans: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "get_tracer_provider", NoOpTracerProvider)
    assert passed(None) == "answered"
    assert spans == [None]


def test_ours_stands_where_the_sdk_has_its_own_and_an_authors_stays() -> None:
    class Own(OpenTelemetryMiddleware):
        """An author's."""

    own = Own()
    chain: list[Any] = [OpenTelemetryMiddleware(), own]
    spare_unheard_spans(chain)
    assert type(chain[0]) is Telemetry
    assert chain[1] is own
    served = build_server(Toolbox("t")).middleware
    assert OpenTelemetryMiddleware not in map(type, served)
    assert Telemetry in map(type, served)
