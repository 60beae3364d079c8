"""Connections: reused, dropped, waited for, verified, and never made."""

import asyncio
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from handfast.gateway.http.client import (
    HttpClient,
    UpstreamProtocolError,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from tests.gateway.http_servers import (
    OK,
    Run,
    Visit,
    answer_always,
    answering,
    calling,
    post,
    post_and_read,
    say_one_thing,
    serving,
    turn_until,
)


@pytest.mark.requirement("F1")
def test_a_connection_is_free_only_once_its_answer_was_paired(run: Run[None]) -> None:
    async def scenario() -> None:
        async with (
            serving(answer_always) as server,
            calling(server.url, waits_for_pairing=True, max_connections=1) as client,
        ):
            response = await post(client)
            assert await response.read(100) == b"ok"
            with pytest.raises(UpstreamTimeout):
                await post(client, seconds=0.05)
            response.release()
            response.abort()  # comes too late to matter
            second = await post(client)
            assert (server.visits, await second.read(100)) == (1, b"ok")
            second.abort()  # it was not the one that was asked for
            third = await post(client)
            assert (server.visits, await third.read(100)) == (2, b"ok")
            del third  # forgotten, and closed all the same
            assert (await post(client)).status == 200
            assert server.visits == 3

    run(scenario())


@pytest.mark.requirement("F1")
def test_a_peer_that_speaks_before_its_answer_was_paired_loses_the_connection(run: Run[None]) -> None:
    async def twice_then_once(visit: Visit) -> None:
        await visit.read_request()
        await visit.write(OK)
        if visit.number == 1:
            await visit.write(OK)
            await visit.until_closed()
        await visit.hold()

    async def scenario() -> None:
        async with serving(twice_then_once) as server, calling(server.url, waits_for_pairing=True) as client:
            response = await post(client)
            await server.ended(1)
            response.release()
            assert (await post_and_read(client), server.visits) == ((200, b"ok"), 2)

    run(scenario())


@pytest.mark.requirement("F1")
def test_a_status_that_says_it_all_keeps_the_connection_and_a_body_nobody_asked_for_costs_it(run: Run[None]) -> None:
    async def scenario() -> None:
        accepted = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
        async with (
            serving(answering(accepted, OK, OK)) as server,
            calling(server.url, waits_for_pairing=True) as client,
        ):
            (await post(client)).dismiss()
            (await post(client)).dismiss()
            assert server.visits == 1
            (await post(client)).dismiss()
            assert server.visits == 2

    run(scenario())


@pytest.mark.requirement("B7")
def test_one_connection_serves_one_caller_after_another(run: Run[None]) -> None:
    async def scenario() -> None:
        async with serving(answer_always) as server, calling(server.url) as client:
            for _ in range(50):
                assert await post_and_read(client) == (200, b"ok")
            assert server.visits == 1

    run(scenario())


def test_the_connection_freed_last_is_used_first(run: Run[None]) -> None:
    used: list[tuple[bytes, int]] = []
    both = asyncio.Barrier(2)
    second = asyncio.Event()

    async def script(visit: Visit) -> None:
        while True:
            body = await visit.read_body(await visit.read_head())
            used.append((body, visit.number))
            if body in (b"first", b"last"):
                await both.wait()
            if body == b"last":
                await second.wait()
            await visit.write(OK)

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            last = asyncio.create_task(post_and_read(client, b"last"))
            await post_and_read(client, b"first")
            second.set()
            await last
            await post_and_read(client, b"then")
            await post_and_read(client, b"then")
            numbers = dict(used[:2])
            assert used[2:] == [(b"then", numbers[b"last"])] * 2

    run(scenario())


@pytest.mark.requirement("B7")
def test_an_idle_connection_is_dropped_by_us_before_the_server_would(run: Run[None]) -> None:
    async def script(visit: Visit) -> None:
        await visit.read_request()
        await visit.write(OK)
        await visit.until_closed()

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url, idle_seconds=0.05) as client:
            for count in (1, 2):
                assert await post_and_read(client) == (200, b"ok")
                await server.ended(count)
            assert server.visits == 2

    run(scenario())


@pytest.mark.requirement("B7")
def test_a_connection_closed_while_idle_is_not_used_even_if_the_loop_has_not_seen_it(run: Run[None]) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    closed = threading.Event()

    def serve() -> None:
        for _ in range(2):
            accepted, _address = listening.accept()
            accepted.recv(1 << 16)
            accepted.sendall(OK)
            accepted.close()
            closed.set()

    async def scenario() -> None:
        async with calling(f"http://127.0.0.1:{listening.getsockname()[1]}/") as client:
            response = await post(client)
            assert await response.read(2) == b"ok"
            closed.wait(10)  # on purpose without giving the loop a turn
            assert await post_and_read(client) == (200, b"ok")

    thread = threading.Thread(target=serve)
    thread.start()
    run(scenario())
    thread.join()
    listening.close()


def test_a_server_that_speaks_unasked_loses_its_connection(run: Run[None]) -> None:
    async def script(visit: Visit) -> None:
        await visit.read_request()
        await visit.write(OK)
        await may_speak.wait()
        await visit.write(OK)
        await visit.until_closed()

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url, idle_seconds=60) as client:
            assert await post_and_read(client) == (200, b"ok")
            may_speak.set()
            await server.ended(1)
            assert await post_and_read(client) == (200, b"ok")
            assert server.visits == 2

    may_speak = asyncio.Event()
    run(scenario())


@pytest.mark.requirement("B7")
@pytest.mark.parametrize("answered_before", [0, 1])
def test_a_request_is_never_repeated_once_it_was_written(answered_before: int, run: Run[None]) -> None:
    requests: list[bytes] = []

    async def script(visit: Visit) -> None:
        for _ in range(answered_before):
            await visit.read_request()
            await visit.write(OK)
        requests.append(await visit.read_request())

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url) as client:
            for _ in range(answered_before):
                await post_and_read(client)
            with pytest.raises(UpstreamProtocolError):
                await post(client)
            assert (server.visits, len(requests)) == (1, 1)

    run(scenario())


def test_a_full_pool_serves_waiters_in_order_and_cancelled_ones_leak_nothing(run: Run[None]) -> None:
    served: list[bytes] = []
    may_answer = asyncio.Semaphore(0)

    async def script(visit: Visit) -> None:
        while True:
            served.append(await visit.read_body(await visit.read_head()))
            await may_answer.acquire()
            await visit.write(OK)

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url, max_connections=1) as client:
            calls = [asyncio.create_task(post_and_read(client, b"%d" % number)) for number in range(6)]
            await turn_until(lambda: bool(served))
            calls[1].cancel()  # still in the queue
            await asyncio.wait([calls[1]])
            assert len(client._pool._waiters) == 4
            may_answer.release()
            await turn_until(lambda: len(client._pool._waiters) == 3)
            calls[2].cancel()  # has been given its place, or is just using it
            await asyncio.wait([calls[1], calls[2]])
            for _ in calls:
                may_answer.release()
            assert await asyncio.gather(calls[0], *calls[3:]) == [(200, b"ok")] * 4
            assert [body for body in served if body != b"2"] == [b"0", b"3", b"4", b"5"]
            assert client._pool._free_places == 1

    run(scenario())


def test_at_most_so_many_connections_are_open_at_once(run: Run[None]) -> None:
    async def scenario() -> None:
        async with serving(answer_always) as server, calling(server.url, max_connections=4) as client:
            assert await asyncio.gather(*(post_and_read(client) for _ in range(100))) == [(200, b"ok")] * 100
            assert server.visits <= 4

    run(scenario())


def test_time_in_the_queue_and_time_without_a_head_both_count_against_the_timeout(run: Run[None]) -> None:
    arrived = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.read_request()
        arrived.set()
        await visit.until_closed()

    async def scenario() -> None:
        async with serving(script) as server, calling(server.url, max_connections=1) as client:
            silent = asyncio.create_task(post(client, seconds=10))
            await arrived.wait()
            with pytest.raises(UpstreamTimeout, match="busy"):
                await post(client, seconds=0.01)
            silent.cancel()
            await server.ended(1)
            with pytest.raises(UpstreamTimeout, match="did not answer in time"):
                await post(client, seconds=0.02)
            await server.ended(2)
            assert client._pool._free_places == 1

    run(scenario())


def test_each_request_has_its_own_timeout_though_one_timer_serves_all(run: Run[None]) -> None:
    async def script(visit: Visit) -> None:
        await visit.read_request()
        await visit.until_closed()

    async def scenario() -> None:
        ended: list[float] = []

        async def expire_after(client: HttpClient, seconds: float) -> None:
            with pytest.raises(UpstreamTimeout):
                await post(client, seconds=seconds)
            ended.append(seconds)

        async with serving(script) as server, calling(server.url) as client:
            await asyncio.gather(*(expire_after(client, seconds) for seconds in (0.09, 0.03, 0.15, 0.06)))
            assert ended == [0.03, 0.06, 0.09, 0.15]

    run(scenario())


def test_closing_ends_what_is_under_way_and_refuses_what_comes_after(run: Run[None]) -> None:
    async def scenario() -> None:
        async with serving(say_one_thing) as server:
            client = HttpClient(server.url, max_connections=1)
            response = await post(client)
            queued = [asyncio.create_task(post(client)) for _ in range(3)]
            await turn_until(lambda: len(client._pool._waiters) == 3)
            await client.close()
            await client.close()
            await server.ended(1)
            await asyncio.wait(queued)
            assert [type(call.exception()) for call in queued] == [UpstreamUnavailable] * 3
            with pytest.raises(UpstreamUnavailable):
                await post(client)
            with pytest.raises(UpstreamProtocolError):
                await response.read(100)
            assert server.visits == 1

    run(scenario())


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as briefly:
        return int(briefly.getsockname()[1])


def test_a_server_that_cannot_be_reached_is_named_with_what_to_check(run: Run[None]) -> None:
    async def scenario() -> None:
        refused = f"http://127.0.0.1:{unused_port()}"
        for url, check in (
            (refused, "refused the connection. Check that the server runs and listens on this port."),
            ("http://nothing.invalid", "has a host name that does not resolve. Check its spelling and the DNS."),
        ):
            async with calling(url + "/secret") as client:
                with pytest.raises(UpstreamUnavailable) as failed:
                    await post(client)
                assert str(failed.value) == f"{url} {check}"
                assert client._pool._free_places == 256

    run(scenario())


def test_a_server_that_never_completes_the_connection_is_given_up(run: Run[None]) -> None:
    async def scenario() -> None:
        async with serving(lambda visit: visit.hold()) as server:
            url = server.url.replace("http://", "https://")
            async with calling(url, connect_timeout=0.05) as client:
                with pytest.raises(UpstreamUnavailable, match="did not accept a connection in time"):
                    await post(client)
            async with calling(url) as client:
                with pytest.raises(UpstreamUnavailable, match="did not accept a connection in time"):
                    await post(client, seconds=0.05)

    run(scenario())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    output = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *output]
    subprocess.run(made, check=True, capture_output=True)
    return folder


def test_https_verifies_the_certificate_and_reuses_the_connection(certificate: Path, run: Run[None]) -> None:
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    trusting = ssl.create_default_context(cafile=str(certificate / "cert.pem"))
    big = bytes(range(256)) * 4096

    async def script(visit: Visit) -> None:
        while True:
            head = await visit.read_head()
            body = await visit.read_body(head)
            await visit.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body)

    async def scenario() -> None:
        async with serving(script, tls=server_side) as server:
            async with calling(server.url) as client:
                with pytest.raises(UpstreamUnavailable, match=r"certificate that was not accepted \(self.signed"):
                    await post(client)
            asked = server.visits
            async with calling(server.url, tls=trusting) as client:
                assert await post_and_read(client) == (200, b"{}")
                assert await post_and_read(client, big) == (200, big)
            assert server.visits - asked == 1

    run(scenario())


def test_https_to_a_plain_port_says_so(run: Run[None]) -> None:
    async def scenario() -> None:
        async with serving(lambda visit: visit.write(b"HTTP/1.1 400 Bad\r\n\r\n")) as server:
            client = HttpClient(server.url.replace("http://", "https://"))
            with pytest.raises(UpstreamUnavailable, match="Check that this port speaks https"):
                await post(client)

    run(scenario())


def test_an_ipv6_host_is_reached(run: Run[None]) -> None:
    async def scenario() -> None:
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            pytest.skip("this machine has no IPv6")
        async with serving(answer_always, host="::1") as server, calling(server.url) as client:
            assert await post_and_read(client) == (200, b"ok")

    run(scenario())
