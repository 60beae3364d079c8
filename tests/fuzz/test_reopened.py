"""Holes that were closed are opened again, one at a time, and the fuzzer finds each: so it would find them today.

Each function below names the one place that closes a hole, and does there what was done before.
"""

from collections.abc import AsyncIterator, Callable

import pytest

from handfast.gateway.event_relay import EventRelay
from handfast.gateway.http_client import Response
from handfast.gateway.http_exchange import Headers, HttpExchange
from handfast.gateway.http_headers import UpstreamHeaders
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


@pytest.mark.parametrize(
    ("reopen", "sort", "routes", "wanted"),
    [
        (believe_clients_about_their_bytes, "requests", HTTP_SERVERS, "headers.up (content-type)"),
        (believe_clients_about_their_bytes, "requests", HTTP_SERVERS, "requests.differ (Express 4)"),
        (forward_whatever_has_no_id, "requests", ("mcp/sl/legacy",), "requests.unrecorded ()"),
        (forward_whatever_has_no_id, "requests", ("mcp/hm/modern",), "requests.unrecorded ()"),
        (forward_whatever_has_no_id, "requests", ("wrap/wm/modern",), "requests.unrecorded ()"),
        (relay_what_is_no_data, "answers", HTTP_SERVERS, "answers.contract (pay: httpx-sse)"),
        (keep_ids_as_they_come, "answers", HTTP_SERVERS, "answers.contract (pay: httpx-sse)"),
        (leave_characters_that_split_lines, "answers", HTTP_SERVERS, "answers.torn (httpx-sse)"),
    ],
)
def test_a_hole_that_is_opened_again_is_found(
    parts: Parts,
    monkeypatch: pytest.MonkeyPatch,
    reopen: Callable[[pytest.MonkeyPatch], None],
    sort: str,
    routes: tuple[str, ...],
    wanted: str,
) -> None:
    reopen(monkeypatch)
    cases = cases_of(sort, tuple(route for route in ROUTES if route.name in routes))
    with fuzzing() as fuzzer:
        seed = 1
        while wanted not in fuzzer.places and fuzzer.cases < MOST_CASES:
            fuzzer.run_chunk(seed, cases, shrinks=False)
            seed += 1
        found = fuzzer.cases
    assert wanted in fuzzer.places, f"not within {found} cases, only {sorted(fuzzer.places)}"
