"""What is written to an upstream, which redirects are followed, and uvicorn at the other end."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from handfast.gateway.http.client import (
    BodyTooLarge,
    HttpClient,
    RequestUnsafe,
    ServerUrl,
    UpstreamFailed,
    UpstreamProtocolError,
    UpstreamTimeout,
    UpstreamUnavailable,
    UrlUnusable,
)
from handfast.gateway.http.connection import WRITE_PIECE
from tests.gateway.http_servers import (
    OK,
    Run,
    Script,
    Visit,
    answer_always,
    calling,
    post,
    post_and_read,
    serving,
)


@pytest.mark.parametrize(
    ("url", "endpoint", "origin"),
    [
        ("http://Example.com", ServerUrl("http", "example.com", 80, "/"), "http://example.com"),
        ("https://example.com/a?b=c#d", ServerUrl("https", "example.com", 443, "/a?b=c"), "https://example.com"),
        ("http://example.com:443/", ServerUrl("http", "example.com", 443, "/"), "http://example.com:443"),
        ("http://[::1]:8000/mcp", ServerUrl("http", "::1", 8000, "/mcp"), "http://[::1]:8000"),
        ("http://[fe80::1%eth0]/", ServerUrl("http", "fe80::1%eth0", 80, "/"), "http://[fe80::1]"),
        ("https://bücher.example/ä", ServerUrl("https", "xn--bcher-kva.example", 443, "/%C3%A4"), None),
        ("http://h/a%2Fb?q=%20&r=[1]", ServerUrl("http", "h", 80, "/a%2Fb?q=%20&r=[1]"), "http://h"),
    ],
)
def test_a_url_is_taken_apart_and_its_path_and_query_are_kept(
    url: str, endpoint: ServerUrl, origin: str | None
) -> None:
    assert ServerUrl.parse(url) == endpoint
    assert endpoint.origin == (origin or "https://xn--bcher-kva.example")


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://h/", "h:80", "http://", "http://h:0/", "http://h:99999/", "http://h:x/", "http://[::1/"),
        *("http://h/a b", "http://h/\r\nX: y", "http://h/\ta", "http://" + "a" * 64 + ".com/"),
        *("http://me:secret@h/", "http://secret@h/"),
    ],
)
def test_a_url_that_cannot_be_called_is_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(UrlUnusable) as refused:
        HttpClient(url)
    assert "secret" not in str(refused.value)


@pytest.mark.requirement("B7")
def test_the_request_on_the_wire_is_exactly_this(run: Run[None]) -> None:
    seen: list[bytes] = []

    async def script(visit: Visit) -> None:
        while True:
            seen.append(await visit.read_request())
            await visit.write(OK)

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url + "?a=1") as client:
            ours = [b"Connection", b"content-length", b"Transfer-Encoding", b"HOST", b"Accept-Encoding"]
            headers = [(b"X-One", b"1"), *((name, b"theirs") for name in ours), (b"x-two", b"\xe9")]
            for response in (
                await client.request("POST", headers, b"{}", response_timeout=10),
                await client.request("POST", [], response_timeout=10),
                await client.request("GET", [], target="/other", response_timeout=None),
            ):
                assert await response.read(2) == b"ok"
            common = f"Host: {client.origin.removeprefix('http://')}\r\nAccept-Encoding: identity\r\n".encode()
            assert seen == [
                b"POST /mcp?a=1 HTTP/1.1\r\n" + common + b"X-One: 1\r\nx-two: \xe9\r\nContent-Length: 2\r\n\r\n{}",
                b"POST /mcp?a=1 HTTP/1.1\r\n" + common + b"Content-Length: 0\r\n\r\n",
                b"GET /other HTTP/1.1\r\n" + common + b"\r\n",
            ]

    run(scenario())


@pytest.mark.requirement("B7")
@pytest.mark.parametrize("bad", [b"a\rb", b"a\nb", b"a\r\nX: y", b"a\0b", b"\r\n"])
def test_a_line_break_or_nul_is_refused_before_anything_is_written(bad: bytes, run: Run[None]) -> None:
    async def scenario() -> None:
        async with serving(answer_always) as server, calling(server.url) as client:
            text = bad.decode()
            for method, target, headers in (
                ("POST", None, [(b"X", bad)]),
                ("POST", None, [(bad, b"x")]),
                ("POST", "/" + text, []),
                (text, None, []),
            ):
                with pytest.raises(RequestUnsafe):
                    await client.request(method, headers, target=target, response_timeout=10)
            assert server.visits == 0

    run(scenario())


@pytest.mark.parametrize("name", [b"", b"a b", b"a:", b" a", b"\xe9", b"a\t"])
def test_what_is_no_header_name_is_refused(name: bytes, run: Run[None]) -> None:
    async def scenario() -> None:
        async with calling("http://127.0.0.1:1/") as client:
            with pytest.raises(RequestUnsafe):
                await client.request("POST", [(name, b"x")], response_timeout=10)

    run(scenario())


@pytest.mark.requirement("B6")
def test_a_large_request_waits_for_a_slow_server_and_arrives_whole(run: Run[None]) -> None:
    body = bytes(range(256)) * (WRITE_PIECE // 8)  # 2 MiB; the last piece is not special
    body += b"end"
    arrived_head, may_read = asyncio.Event(), asyncio.Event()
    arrived: list[bytes] = []

    async def script(visit: Visit) -> None:
        head = await visit.read_head()
        arrived_head.set()
        await may_read.wait()
        arrived.append(await visit.read_body(head))
        await visit.write(OK)
        await visit.until_closed()

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            big = body * 8  # more than the kernel's buffers take
            call = asyncio.create_task(post_and_read(client, big))
            await arrived_head.wait()
            for _ in range(200):
                await asyncio.sleep(0)
            (connection,) = client._pool._open
            assert connection._transport is not None
            assert 0 < connection._transport.get_write_buffer_size() <= 3 * WRITE_PIECE
            may_read.set()
            assert await call == (200, b"ok")
            assert arrived == [big]

    run(scenario())


def test_an_answer_before_the_request_was_written_whole_is_returned_and_ends_the_writing(run: Run[None]) -> None:
    async def script(visit: Visit) -> None:
        await visit.read_head()
        await visit.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\n")
        await visit.write(b"big")
        assert await visit.count_rest() < 1 << 24

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            assert await post_and_read(client, bytes(1 << 25)) == (413, b"big")
            assert await post_and_read(client, bytes(1 << 25)) == (413, b"big")
            assert server.visits == 2

    run(scenario())


def test_an_early_200_does_not_stop_the_request(run: Run[None]) -> None:
    size = 1 << 24

    async def script(visit: Visit) -> None:
        head = await visit.read_head()
        await visit.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert len(await visit.read_body(head)) == size
        await visit.write(b"4\r\nread\r\n0\r\n\r\n")
        await visit.until_closed()

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            assert await post_and_read(client, bytes(size)) == (200, b"read")

    run(scenario())


def redirecting(status: int, *locations: str) -> tuple[Script, list[bytes]]:
    requests: list[bytes] = []

    async def script(visit: Visit) -> None:
        for location in locations:
            head = await visit.read_head()
            requests.append(head.partition(b" HTTP")[0] + b" " + await visit.read_body(head))
            answer = f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
            await visit.write(answer.encode())
        head = await visit.read_head()
        requests.append(head.partition(b" HTTP")[0] + b" " + await visit.read_body(head))
        await visit.write(OK)

    return script, requests


@pytest.mark.requirement("B7")
@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize(
    ("location", "target"), [("/mcp/", b"/mcp/"), ("there?x=1#y", b"/there?x=1"), ("?z", b"/mcp?z")]
)
def test_one_redirect_within_the_origin_is_followed_with_method_and_body(
    status: int, location: str, target: bytes, run: Run[None]
) -> None:
    script, requests = redirecting(status, location)

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            assert await post_and_read(client) == (200, b"ok")
            assert requests == [b"POST /mcp {}", b"POST " + target + b" {}"]

    run(scenario())


@pytest.mark.requirement("B7")
@pytest.mark.parametrize(
    ("status", "locations"),
    [
        (307, ["/two", "/three"]),
        (302, ["/two"]),
        (307, ["http://127.0.0.1:1/mcp"]),
        (307, ["https://127.0.0.1/mcp"]),
        (308, ["//example.com/mcp"]),
        (307, ["http://user@127.0.0.1/mcp"]),
        (307, ["http://[bad/"]),
        (307, [""]),
        (307, ["/a b"]),
        (307, ["/ä"]),
    ],
)
def test_any_other_redirect_is_returned_as_it_came(status: int, locations: list[str], run: Run[None]) -> None:
    script, requests = redirecting(status, *locations)

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            response = await post(client)
            assert (response.status, response.header(b"location")) == (status, locations[-1].encode())
            assert len(requests) == len(locations)

    run(scenario())


async def application(scope: Any, receive: Any, send: Any) -> None:  # Any: ASGI's own shapes
    assert scope["type"] == "http"
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    if scope["path"] == "/events":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for number in range(20):
            event = b"data: %d\n\n" % number
            await send({"type": "http.response.body", "body": event, "more_body": True})
            await asyncio.sleep(0.001)
        await send({"type": "http.response.body", "body": b""})
        return
    size = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": 200, "headers": [size]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def uvicorn_url() -> Iterator[str]:
    # The socket listens from here on, so nobody has to wait for the server to start.
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, loop="asyncio", http="httptools", ws="none", lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def test_uvicorn_answers_many_callers_at_once(uvicorn_url: str, run: Run[None]) -> None:
    async def caller(client: HttpClient, number: int) -> None:
        for size in (0, 1, 1000, 300_000):
            body = b"%d" % (number % 10) * size
            assert await post_and_read(client, body) == (200, body)

    async def scenario() -> None:
        async with calling(uvicorn_url, max_connections=8) as client:
            await asyncio.gather(*(caller(client, number) for number in range(16)))
            assert len(client._pool._open) <= 8

    run(scenario())


def test_uvicorn_streams_events_whole_and_in_order(uvicorn_url: str, run: Run[None]) -> None:
    async def scenario() -> None:
        async with calling(uvicorn_url + "/events") as client:
            response = await client.request("GET", [], response_timeout=10)
            assert response.header(b"content-type") == b"text/event-stream"
            taken = [chunk async for chunk in response.chunks()]
            assert b"".join(taken) == b"".join(b"data: %d\n\n" % number for number in range(20))
            assert len(taken) > 1

    run(scenario())


def test_every_failure_is_caught_by_one_name() -> None:
    kinds = (UpstreamUnavailable, UpstreamProtocolError, UpstreamTimeout, BodyTooLarge)
    assert all(issubclass(kind, UpstreamFailed) for kind in kinds)
