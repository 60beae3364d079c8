"""Holes that were closed are opened again, one at a time, and the fuzzer finds each: so it would find them today.

Each function below names the one place that closes a hole, and does there what was done before.
"""

from collections.abc import AsyncIterator, Callable
from itertools import count

import pytest

from handfast.gateway.http.client import Response
from handfast.gateway.http.exchange import Headers, HttpExchange
from handfast.gateway.http.headers import UpstreamHeaders
from handfast.gateway.relay.event_relay import EventRelay
from tests.fuzz.fuzzing import cases_of, fuzzing
from tests.fuzz.routes import ROUTES
from tests.parts import Parts

MOST_CASES = 3000  # many times as many as each takes
HTTP_SERVERS = ("mcp/hl/legacy", "mcp/hm/modern")


def believe_clients_about_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any charset and encoding is taken, and what a client's headers say of the body goes on."""
    choose = UpstreamHeaders.choose

    def choose_all(self: UpstreamHeaders, headers: Headers, *, has_others: bool = True) -> Headers:
        described = [
            header for header in headers if header[0].startswith(b"content-") and header[0] != b"content-length"
        ]
        return described + choose(self, headers, has_others=has_others)

    def check_nothing(http: HttpExchange) -> None:
        pass

    monkeypatch.setattr("handfast.gateway.app.check_described", check_nothing)
    monkeypatch.setattr(UpstreamHeaders, "choose", choose_all)


def forward_whatever_has_no_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no id is a notification, whatever its method is."""

    def find_nothing(method: str, *, has_id: bool) -> None:
        pass

    monkeypatch.setattr("handfast.wire.message.find_method_fault", find_nothing)


def relay_what_is_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments and unknown fields of a stream go on as the bytes they came in."""
    run = EventRelay.run

    class Overheard:
        def __init__(self, relay: EventRelay, response: Response) -> None:
            self._relay, self._response = relay, response

        async def chunks(self) -> AsyncIterator[bytes]:
            async for chunk in self._response.chunks():
                for line in chunk.split(b"\n"):
                    if not line.startswith((b"data:", b"id:", b"event:", b"retry:")):
                        await self._relay._http.send_chunk(line + b"\n")
                yield chunk

    async def run_and_relay(
        self: EventRelay, response: Response, *, on_progress: Callable[[], None] | None = None
    ) -> None:
        await run(self, Overheard(self, response), on_progress=on_progress)  # type: ignore[arg-type]  # all it asks for

    monkeypatch.setattr(EventRelay, "run", run_and_relay)


def keep_ids_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event's id goes on whatever characters are in it."""
    monkeypatch.setattr("handfast.wire.sse._safe_id", lambda found: found)


def leave_characters_that_split_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """U+2028 and its like stay as they are in the data of an event."""
    monkeypatch.setattr("handfast.wire.sse._escape", lambda found: found[0])


def find(reopened: str, *, sort: str, routes: tuple[str, ...], wanted: str) -> None:
    """Run cases until the wanted kind of finding is among what was found."""
    cases = cases_of(sort, tuple(route for route in ROUTES if route.name in routes))
    with fuzzing() as fuzzer:
        for seed in count(1):
            if wanted in fuzzer.places or fuzzer.cases >= MOST_CASES:
                break
            fuzzer.run_chunk(seed, cases, shrinks=False)
    assert wanted in fuzzer.places, f"{reopened}: not in {fuzzer.cases} cases, only {sorted(fuzzer.places)}"


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("wanted", ["headers.up (content-type)", "requests.differ (Express 4)"])
def test_a_charset_that_is_believed_is_found(parts: Parts, monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    believe_clients_about_their_bytes(monkeypatch)
    find("headers", sort="requests", routes=HTTP_SERVERS, wanted=wanted)


@pytest.mark.requirement("S2")
@pytest.mark.parametrize("route", ["mcp/sl/legacy", "mcp/hm/modern", "wrap/wm/modern"])
def test_a_call_without_an_id_that_passes_is_found(parts: Parts, monkeypatch: pytest.MonkeyPatch, route: str) -> None:
    forward_whatever_has_no_id(monkeypatch)
    find("ids", sort="requests", routes=(route,), wanted="requests.unrecorded ()")


@pytest.mark.requirement("S4")
@pytest.mark.parametrize("reopen", [relay_what_is_no_data, keep_ids_as_they_come])
def test_an_event_between_the_fields_is_found(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, reopen: Callable[[pytest.MonkeyPatch], None]
) -> None:
    reopen(monkeypatch)
    find("events", sort="answers", routes=HTTP_SERVERS, wanted="answers.contract (pay: httpx-sse)")


@pytest.mark.requirement("S4")
def test_an_event_that_some_clients_tear_is_found(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_characters_that_split_lines(monkeypatch)
    find("characters", sort="answers", routes=HTTP_SERVERS, wanted="answers.torn (httpx-sse)")
