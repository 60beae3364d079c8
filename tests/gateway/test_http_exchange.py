"""One HTTP request as the gateway uses ASGI: bodies within their limit, and clients that leave."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from handfast.gateway.http_exchange import ClientLeft, Headers, HttpExchange, HttpProblem

Event = MutableMapping[str, Any]  # Any: ASGI's own shape


class Client:
    """The other end of ASGI, with what it sends scripted."""

    def __init__(self, *bodies: bytes, leaves: bool = False, headers: Headers | None = None) -> None:
        self.events: asyncio.Queue[Event] = asyncio.Queue()
        for body in bodies:
            self.events.put_nowait({"type": "http.request", "body": body, "more_body": True})
        last = {"type": "http.disconnect"} if leaves else {"type": "http.request", "body": b"", "more_body": False}
        self.events.put_nowait(last)
        self.sent: list[Event] = []
        self.http = HttpExchange({"method": "POST", "path": "/", "headers": headers or []}, self.events.get, self._take)

    async def _take(self, event: Event) -> None:
        self.sent.append(event)

    def leave(self) -> None:
        self.events.put_nowait({"type": "http.disconnect"})


def test_a_body_comes_in_pieces_and_may_be_as_large_as_its_limit() -> None:
    async def read() -> bytes:
        return await Client(b"ab", b"cd").http.read_body(4)

    assert asyncio.run(read()) == b"abcd"


@pytest.mark.parametrize("headers", [[], [(b"content-length", b"5")], [(b"content-length", b"nonsense")]])
def test_a_larger_one_is_refused_whether_it_says_so_or_not(headers: Headers) -> None:
    async def read() -> None:
        await Client(b"abc", b"de", headers=headers).http.read_body(4)

    with pytest.raises(HttpProblem) as refusal:
        asyncio.run(read())
    assert (refusal.value.status, refusal.value.text) == (
        413,
        "The body is over the limit of 4 bytes. Send a smaller one.",
    )


def test_a_client_that_leaves_before_its_body_is_whole_sent_no_request() -> None:
    async def read() -> None:
        await Client(b"ab", leaves=True).http.read_body(10)

    with pytest.raises(ClientLeft):
        asyncio.run(read())


def test_the_first_of_two_equal_headers_counts() -> None:
    async def header() -> bytes | None:
        return Client(headers=[(b"host", b"a"), (b"host", b"b")]).http.header(b"host")

    assert asyncio.run(header()) == b"a"


def test_a_client_that_leaves_is_noticed_once_and_sent_nothing_more() -> None:
    async def watch() -> tuple[list[str], list[str]]:
        client, noticed = Client(), asyncio.Event()
        seen: list[str] = []
        client.http.watch(lambda: (seen.append("left"), noticed.set())[0], after=0)  # type: ignore[func-returns-value]  # both
        await client.http.start_stream(200, [])
        await client.http.send_chunk(b"x")
        client.leave()
        await asyncio.wait_for(noticed.wait(), 5)
        await client.http.send_chunk(b"y")
        await client.http.end_stream()
        client.http.unwatch()
        return seen, [str(event.get("body")) for event in client.sent]

    assert asyncio.run(watch()) == (["left"], ["None", "b'x'"])


def test_a_quick_answer_is_not_watched_at_all() -> None:
    async def watch() -> int:
        client = Client()
        client.http.watch(lambda: None)
        client.http.unwatch()
        return client.events.qsize()

    assert asyncio.run(watch()) == 1
