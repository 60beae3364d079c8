"""One HTTP request and its answer: what is written for each, and clients that leave or do not read."""

import asyncio

import pytest

from handfast.core.call.caller import Caller
from handfast.gateway.http.exchange import EVENT_STREAM, Headers, HttpExchange, HttpProblem
from handfast.gateway.http.request_head import RequestHead, read_head


class Client:
    """The other end, with what is written to it."""

    caller = Caller(peer="192.0.2.7")

    def __init__(self, *, method: str = "POST", headers: Headers | None = None, version: str = "1.1") -> None:
        self.written: list[bytes] = []
        self.is_write_paused = False
        self.reads = asyncio.Event()
        given = headers or []
        head = RequestHead(method, "/", b"", given, dict(reversed(given)), version == "1.0")
        self.http = HttpExchange(self, head)

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def write_event(self, data: bytes) -> None:
        self.written.append(data)

    def end_of_head(self, http: HttpExchange) -> bytes:
        assert http is self.http
        return b"\r\n"

    async def read_body(self, limit: int) -> bytes:
        return b"x" * limit

    async def wait_for_room(self) -> None:
        await self.reads.wait()


def test_the_first_of_two_equal_headers_counts() -> None:
    http = Client(headers=[(b"host", b"a"), (b"host", b"b")]).http
    assert (http.header(b"host"), http.has_repeated_headers, http.caller.peer) == (b"a", True, "192.0.2.7")


def test_a_body_that_is_there_is_held_to_its_limit() -> None:
    async def read() -> bytes:
        http = HttpExchange(Client(), read_head(b"POST / HTTP/1.1\r\n\r\n"))
        http.body = b"12345"
        assert await http.read_body(5) == b"12345"
        return await http.read_body(4)

    with pytest.raises(HttpProblem) as refusal:
        asyncio.run(read())
    assert (refusal.value.status, refusal.value.rule, refusal.value.text) == (
        413,
        "request.body_too_large",
        "The body is over the limit of 4 bytes. Send a smaller one.",
    )


@pytest.mark.parametrize(
    ("status", "method", "body", "written"),
    [
        (200, "POST", b"ab", [b"HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 2\r\n\r\nab"]),
        (200, "HEAD", b"ab", [b"HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 2\r\n\r\n"]),
        (204, "POST", b"", [b"HTTP/1.1 204 No Content\r\na: b\r\n\r\n"]),
    ],
)
def test_an_answer_is_one_piece(status: int, method: str, body: bytes, written: list[bytes]) -> None:
    async def respond() -> list[bytes]:
        client = Client(method=method)
        await client.http.respond(status, [(b"a", b"b")], body)
        assert (client.http.has_started, client.http.is_complete) == (True, True)
        return client.written

    assert asyncio.run(respond()) == written


@pytest.mark.parametrize(
    ("status", "version", "written"),
    [
        (200, "1.1", [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"2\r\nab\r\n", b"0\r\n\r\n"]),
        (200, "1.0", [b"HTTP/1.1 200 OK\r\n\r\n", b"ab"]),
    ],
)
def test_a_stream_is_written_as_the_version_has_it(status: int, version: str, written: list[bytes]) -> None:
    async def stream() -> list[bytes]:
        client = Client(version=version)
        client.http.start_stream(status, [])
        await client.http.send_chunk(b"ab")
        await client.http.send_chunk(b"")
        before = client.http.is_complete
        await client.http.end_stream()
        assert (before, client.http.is_complete) == (False, True)
        return client.written

    assert asyncio.run(stream()) == written


def test_only_a_stream_of_events_that_is_read_and_goes_on_is_kept_alive() -> None:
    async def stream() -> list[bytes]:
        client = Client(version="1.0")
        client.http.keep_alive()
        client.http.start_stream(200, [EVENT_STREAM])
        client.written.clear()
        client.is_write_paused = True
        client.http.keep_alive()
        client.is_write_paused = False
        client.http.keep_alive()
        await client.http.end_stream()
        client.http.keep_alive()
        return client.written

    assert asyncio.run(stream()) == [b":\n"]


def test_a_client_that_leaves_is_noticed_once_and_sent_nothing_more() -> None:
    async def watch() -> tuple[list[str], list[bytes], bool]:
        client, seen = Client(), list[str]()
        client.http.watch(lambda: seen.append("left"))
        client.http.start_stream(200, [])
        await client.http.send_chunk(b"x")
        client.http.leave()
        client.http.leave()
        await client.http.send_chunk(b"y")
        await client.http.end_stream()
        return seen, client.written[1:], client.http.is_complete

    assert asyncio.run(watch()) == (["left"], [b"1\r\nx\r\n"], False)


@pytest.mark.parametrize("is_watched", [True, False])
def test_a_client_that_had_left_is_noticed_unless_watching_ends_first(is_watched: bool) -> None:
    async def watch() -> list[str]:
        client, seen = Client(), list[str]()
        client.http.leave()
        client.http.watch(lambda: seen.append("left"))
        assert seen == [], "not before the one who watches is ready for it"
        if not is_watched:
            client.http.unwatch()
        await asyncio.sleep(0)
        return seen

    assert asyncio.run(watch()) == (["left"] if is_watched else [])


def test_what_is_sent_waits_until_the_client_reads() -> None:
    async def send() -> list[bytes]:
        client = Client()
        client.http.start_stream(200, [])
        client.is_write_paused = True
        sending = asyncio.create_task(client.http.send_chunk(b"x"))
        await asyncio.sleep(0)
        assert len(client.written) == 1
        client.reads.set()
        await sending
        return client.written[1:]

    assert asyncio.run(send()) == [b"1\r\nx\r\n"]


@pytest.mark.requirement("F5")
def test_a_client_that_reads_nothing_counts_as_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handfast.gateway.http.exchange._UNREAD_SECONDS", 0.01)

    async def send() -> tuple[list[str], bool, int]:
        client, seen = Client(), list[str]()
        client.http.watch(lambda: seen.append("left"))
        client.http.start_stream(200, [])
        client.is_write_paused = True
        await client.http.send_chunk(b"x")
        return seen, client.http.has_left, len(client.written)

    assert asyncio.run(send()) == (["left"], True, 1)
