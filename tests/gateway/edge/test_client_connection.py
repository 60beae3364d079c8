"""A client's connection in bytes: what is answered, in which order, what is refused, and how long each takes."""

import errno
import gc
import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from handfast.gateway.edge.client_connection import HEAD_LIMIT, ClientConnection
from handfast.gateway.edge.connection_owner import PIECE_BYTES, Patience
from handfast.gateway.edge.paced_line import PacedLine
from handfast.turns import Turns
from tests.gateway.edge.listening import BIG, LIMIT, Edge, listening, read_answer, read_to_end
from tests.gateway.http_servers import LOOPS
from tests.gateway.running import eventually

GET = b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
LONG = 60.0  # a time that no test waits for


@pytest.fixture(params=list(LOOPS))
def edge(request: pytest.FixtureRequest) -> Iterator[Edge]:
    """On each kind of event loop."""
    with listening(loop=request.param) as found:
        yield found


@pytest.fixture
def client(edge: Edge) -> Iterator[socket.socket]:
    with edge.connect() as found:
        yield found


def is_closed(client: socket.socket) -> bool:
    """The other side is over, in order or not."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


# --- ordinary requests -----------------------------------------------------------------------------------------------


def test_a_request_is_handed_on_with_its_target_headers_and_body(client: socket.socket) -> None:
    client.sendall(b"POST /a%20b?c=d HTTP/1.1\r\nHost: x\r\nX-Two:  y \t\r\nContent-Length: 3\r\n\r\nabc")
    answer = read_answer(client)
    assert (answer.status, answer.json) == (
        200,
        {"target": "/a b?c=d", "headers": ["host=x", "x-two=y", "content-length=3"], "body": "abc"},
    )


def test_an_answer_has_a_date_and_does_not_name_its_server(client: socket.socket) -> None:
    client.sendall(GET + b"\r\n")
    headers = read_answer(client).headers
    assert sorted(headers) == ["content-length", "content-type", "date"]
    assert (
        abs(time.mktime(time.strptime(headers["date"], "%a, %d %b %Y %H:%M:%S GMT")) - time.mktime(time.gmtime())) < 5
    )


def test_many_requests_go_over_one_connection(client: socket.socket) -> None:
    for number in range(50):
        client.sendall(b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nz" % number)
        assert read_answer(client).json["target"] == f"/{number}?"


def test_a_request_may_come_byte_by_byte(client: socket.socket) -> None:
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in POST + CHUNKED + b"\r\n3\r\nabc\r\n0\r\n\r\n":
        client.sendall(bytes([byte]))
    assert read_answer(client).json["body"] == "abc"


def test_requests_sent_ahead_are_answered_in_order(edge: Edge, client: socket.socket) -> None:
    sized = [b"POST /%d HTTP/1.1\r\nContent-Length: 2\r\n\r\nab" % number for number in range(0, 40, 2)]
    chunked = [b"POST /%d HTTP/1.1\r\n%b\r\n1\r\nx\r\n0\r\n\r\n" % (number, CHUNKED) for number in range(1, 40, 2)]
    client.sendall(b"".join(request for pair in zip(sized, chunked, strict=True) for request in pair))
    assert [read_answer(client).json["target"] for _ in range(40)] == [f"/{number}?" for number in range(40)]
    assert edge.seen == [f"POST /{number}" for number in range(40)]


def test_the_next_request_begins_only_after_the_answer_to_the_last(edge: Edge, client: socket.socket) -> None:
    client.sendall(b"GET /wait HTTP/1.1\r\n\r\n" + GET + b"\r\n")
    eventually(lambda: edge.seen, "the first request")
    assert edge.seen == ["GET /wait"]
    edge.gate.set()
    assert [read_answer(client).body[:6], read_answer(client).status] == [b"waited", 200]


def test_what_is_sent_ahead_is_held_back_and_none_of_it_is_lost(edge: Edge, client: socket.socket) -> None:
    request = GET + b"X-Long: " + b"y" * 30_000 + b"\r\n\r\n"
    client.sendall(b"GET /wait HTTP/1.1\r\n\r\n")
    eventually(lambda: edge.seen, "the first request")
    client.setblocking(False)
    ahead, written = memoryview(request * 2000), 0  # 60 MB, of which a system's buffers hold a few
    while select.select([], [client], [], 0.3)[1]:
        written += client.send(ahead[written:])
    assert written < len(ahead)
    assert 0 < edge.running.arriving.total < 1024 * 1024
    client.settimeout(10)
    edge.gate.set()
    assert read_answer(client).body == b"waited"
    whole = written // len(request)
    assert [read_answer(client).status for _ in range(whole)] == [200] * whole


@pytest.mark.parametrize("value", [b"close", b"Close", b"keep-alive, close", b"foo,close"])
def test_the_connection_closes_where_the_client_asks_for_it(client: socket.socket, value: bytes) -> None:
    client.sendall(GET + b"Connection: " + value + b"\r\n\r\n" + GET + b"\r\n")
    assert read_answer(client).headers["connection"] == "close"
    assert read_to_end(client) == b""


def test_version_1_0_is_answered_and_closed(client: socket.socket) -> None:
    client.sendall(b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert (read_answer(client).headers["connection"], read_to_end(client)) == ("close", b"")


def test_a_stream_to_version_1_0_has_no_chunks_and_ends_with_the_connection(client: socket.socket) -> None:
    client.sendall(b"GET /stream HTTP/1.0\r\n\r\n")
    answer = read_answer(client)
    assert ("transfer-encoding" in answer.headers, answer.body) == (False, b"onetwo")


def test_a_stream_is_sent_in_chunks_and_the_connection_goes_on(client: socket.socket) -> None:
    client.sendall(b"GET /stream HTTP/1.1\r\n\r\n" + GET + b"\r\n")
    assert read_answer(client).body == b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
    assert read_answer(client).status == 200


def test_head_is_answered_without_a_body(client: socket.socket) -> None:
    client.sendall(b"HEAD /unread HTTP/1.1\r\n\r\nHEAD /stream HTTP/1.1\r\n\r\n" + GET + b"\r\n")
    assert read_answer(client, to_head=True).headers["content-length"] == "8"
    assert "transfer-encoding" not in read_answer(client, to_head=True).headers
    assert read_answer(client).status == 200


def test_a_body_is_asked_for_where_the_client_waits_for_that(client: socket.socket) -> None:
    client.sendall(POST + b"Expect: 100-Continue\r\nContent-Length: 3\r\n\r\n")
    assert read_answer(client).status == 100
    client.sendall(b"abc")
    assert read_answer(client).json["body"] == "abc"


def test_a_body_that_is_not_wanted_is_not_asked_for(client: socket.socket) -> None:
    client.sendall(POST + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % (LIMIT + 1))
    assert read_answer(client).status == 413
    assert read_to_end(client) == b""


def test_an_upgrade_is_not_followed_and_its_body_is_read(client: socket.socket) -> None:
    """As the clients of Java ask for it."""
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEA\r\n"
    client.sendall(POST + upgrade + b"Content-Length: 3\r\n\r\nabc")
    client.sendall(POST + upgrade + CHUNKED + b"\r\n3\r\nabc\r\n0\r\n\r\n")
    assert [read_answer(client).json["body"] for _ in range(2)] == ["abc", "abc"]


@pytest.mark.requirement("S1")
def test_what_follows_the_chunks_is_no_header(client: socket.socket) -> None:
    client.sendall(POST + CHUNKED + b"\r\n1\r\nx\r\n0\r\nHost: evil\r\nX-A: b\r\n\r\n")
    answer = read_answer(client).json
    assert (answer["headers"], answer["body"]) == (["host=x", "transfer-encoding=chunked"], "x")


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /" + b"a" * HEAD_LIMIT + b" HTTP/1.1\r\n\r\n",
        GET + b"X-A: " + b"b" * HEAD_LIMIT + b"\r\n\r\n",
        GET + b"X-A: b\r\n" * (HEAD_LIMIT // 8) + b"\r\n",
        b"x" * (HEAD_LIMIT + 1),
    ],
    ids=["url", "header", "headers", "no end"],
)
def test_a_head_over_the_limit_is_refused_and_the_connection_closed(
    edge: Edge, client: socket.socket, request_bytes: bytes
) -> None:
    client.sendall(request_bytes)
    answer = read_answer(client)
    text = "The request line and headers are over the limit of 65536 bytes. Send shorter ones."
    assert (answer.status, answer.json["error"]["message"]) == (431, text)
    assert (read_to_end(client), edge.seen, edge.noted) == (b"", [], ["request.head_too_large"])


@pytest.mark.requirement("F5")
def test_a_head_just_within_the_limit_is_read(client: socket.socket) -> None:
    room = HEAD_LIMIT - len(GET) - len(b"X-A: ")
    client.sendall(GET + b"X-A: " + b"b" * room + b"\r\n\r\n")
    assert read_answer(client).status == 200


@pytest.mark.requirement("F5")
def test_whoever_writes_without_end_still_reads_why_it_was_refused(client: socket.socket) -> None:
    """A reset would take the answer away from a client that is still writing."""
    client.sendall(b"GET / HTTP/1.1\r\nX-A: " + b"b" * 4_000_000)
    assert read_answer(client).status == 431


@pytest.mark.requirement("F5")
def test_what_is_sent_to_a_closing_connection_is_bounded(edge: Edge) -> None:
    with edge.connect() as client, pytest.raises((ConnectionResetError, BrokenPipeError)):
        client.sendall(b"x" * 100_000_000)


@pytest.mark.requirement("S7")
@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /a\r\n\r\n",
        b"GET /a HTTP/0.9\r\n\r\n",
        b"GET /a HTTP/1.2\r\n\r\n",
        b"GET /a HTTP/2.0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /a RTSP/1.0\r\n\r\n",
        b"GET  /a HTTP/1.1\r\n\r\n",
        b"GET /a  HTTP/1.1\r\n\r\n",
        b" GET /a HTTP/1.1\r\n\r\n",
        b"GET\t/a\tHTTP/1.1\r\n\r\n",
        b"get /a HTTP/1.1\r\n\r\n",
        b"INVENTED /a HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"CONNECT x:80 HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        GET + b"X-A: b\r\n c\r\n\r\n",
        GET + b" X-A: b\r\n\r\n",
        GET + b"X-A : b\r\n\r\n",
        GET + b"X-A\r\n\r\n",
        GET + b": b\r\n\r\n",
        GET + b"X-A: b\rc\r\n\r\n",
        GET + b"X-A: b\nX-C: d\r\n\r\n",
        GET + b"X-A: b\x00\r\n\r\n",
        GET + b"X\xe4: b\r\n\r\n",
        GET + b"X-A: b\n\n\r\n\r\n",
        POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        POST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        POST + b"Content-Length: 3, 3\r\n\r\nabc",
        POST + b"Content-Length: -3\r\n\r\nabc",
        POST + b"Content-Length: +3\r\n\r\nabc",
        POST + b"Content-Length: 0x3\r\n\r\nabc",
        POST + b"Content-Length: 3_0\r\n\r\nabc",
        POST + b"Content-Length: \xb2\r\n\r\nabc",
        POST + b"Content-Length: 99999999999999999999\r\n\r\nabc",
        POST + b"Content-Length:\r\n\r\nabc",
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer_Encoding: chunked\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
        GET + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + CHUNKED + b"\r\n3\r\nabcd\r\n0\r\n\r\n",
        POST + CHUNKED + b"\r\n3\nabc\r\n0\r\n\r\n",
        POST + CHUNKED + b"\r\n-3\r\nabc\r\n0\r\n\r\n",
        POST + CHUNKED + b"\r\n0x3\r\nabc\r\n0\r\n\r\n",
        POST + CHUNKED + b"\r\n\r\nabc\r\n0\r\n\r\n",
        POST + CHUNKED + b"\r\n0\r\nX-A : b\r\n\r\n",
        POST + CHUNKED + b"\r\n0\r\n" + b"X-A: b\r\n" * 10_000 + b"\r\n",
        POST + CHUNKED + b"\r\n1;" + b"x" * 70_000 + b"\r\na\r\n0\r\n\r\n",
    ],
)
@pytest.mark.parametrize("in_pieces", [False, True])
def test_what_two_readers_could_take_differently_is_refused_and_nothing_after_it_is_read(
    edge: Edge, client: socket.socket, request_bytes: bytes, in_pieces: bool
) -> None:
    if in_pieces:
        cut = request_bytes.find(b"\r\n\r\n") + 4
        client.sendall(request_bytes[:cut])
        eventually(lambda: edge.seen or edge.noted, "the head")
        with suppress(ConnectionError):
            client.sendall(request_bytes[cut:] + GET + b"\r\n")
    else:
        client.sendall(request_bytes + GET + b"\r\n")
    answer = read_answer(client)
    assert (answer.status, answer.headers["connection"], answer.json["error"]["code"]) == (400, "close", -32600)
    assert read_to_end(client) == b""
    assert (edge.noted, "GET /a" in edge.seen) == (["request.malformed"], False)


@pytest.mark.parametrize("framing", [b"Content-Length: %d\r\n\r\n" % (LIMIT + 1), CHUNKED + b"\r\nf4241\r\n"])
def test_of_a_body_over_the_limit_the_rest_is_not_read(edge: Edge, client: socket.socket, framing: bytes) -> None:
    client.sendall(POST + framing)
    with suppress(ConnectionError):
        client.sendall(b"x" * (LIMIT + 1))
    answer = read_answer(client)
    assert (answer.status, answer.headers["connection"], edge.noted) == (413, "close", ["request.body_too_large"])
    assert read_to_end(client) == b""


def test_a_request_that_is_answered_before_its_body_came_ends_the_connection(client: socket.socket) -> None:
    client.sendall(b"POST /unread HTTP/1.1\r\nContent-Length: 3\r\n\r\n")
    assert read_answer(client).headers["connection"] == "close"
    client.sendall(b"abc" + GET + b"\r\n")
    assert read_to_end(client) == b""


# --- clients that leave ----------------------------------------------------------------------------------------------


def test_a_client_that_leaves_is_noticed(edge: Edge, client: socket.socket) -> None:
    client.sendall(b"GET /wait HTTP/1.1\r\n\r\n")
    eventually(lambda: edge.seen, "the request")
    client.close()
    eventually(lambda: edge.left == ["/wait"], "the leaving")


def test_a_client_that_leaves_is_noticed_behind_requests_that_it_sent_ahead(edge: Edge, client: socket.socket) -> None:
    client.sendall(b"GET /wait HTTP/1.1\r\n\r\n" + GET + b"\r\n")
    eventually(lambda: edge.seen, "the request")
    client.close()
    eventually(lambda: edge.left == ["/wait"], "the leaving")


def test_a_client_that_closes_only_its_own_side_gets_its_answers(edge: Edge, client: socket.socket) -> None:
    client.sendall(b"GET /wait HTTP/1.1\r\n\r\n" + GET + b"\r\n")
    client.shutdown(socket.SHUT_WR)
    eventually(lambda: edge.left == ["/wait"], "the leaving")
    edge.gate.set()
    assert [read_answer(client).body[:6], read_answer(client).status] == [b"waited", 200]
    assert read_to_end(client) == b""


def test_a_client_that_leaves_in_the_middle_of_its_body_sent_no_request(edge: Edge, client: socket.socket) -> None:
    client.sendall(POST + b"Content-Length: 10\r\n\r\nabc")
    eventually(lambda: edge.seen, "the request")
    client.close()
    eventually(lambda: edge.left == ["/a"], "the leaving")


# --- how long each step may take -------------------------------------------------------------------------------------


def slow(**seconds: float) -> Patience:
    """All the time there is, but for these."""
    return Patience(**{"first_byte": LONG, "head": LONG, "body": LONG, "idle": LONG, "unread": LONG, **seconds})


@pytest.mark.requirement("F5")
def test_a_connection_on_which_nothing_comes_is_closed() -> None:
    with listening(patience=slow(first_byte=0.1)) as edge, edge.connect() as client:
        assert (read_to_end(client), edge.noted) == (b"", [])


@pytest.mark.requirement("F5")
def test_half_a_head_is_given_up_however_it_trickles() -> None:
    with listening(patience=slow(head=0.4)) as edge, edge.connect() as client:
        client.settimeout(0.02)
        answer, began = b"", time.monotonic()
        while not answer and time.monotonic() - began < 10:
            client.sendall(b"G" if not edge.noted else b"")
            with suppress(TimeoutError):
                answer = client.recv(65536)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"] == (
            "The head of the request did not arrive in time. Send it in one piece."
        )
        assert (edge.noted, is_closed(client)) == (["request.slow"], True)


@pytest.mark.requirement("F5")
def test_half_a_body_is_given_up() -> None:
    with listening(patience=slow(body=0.2)) as edge, edge.connect() as client:
        client.sendall(POST + b"Content-Length: 10\r\n\r\nabc")
        answer = read_answer(client)
        assert (answer.status, answer.headers["connection"], edge.noted) == (408, "close", ["request.slow"])
        assert read_to_end(client) == b""


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("framing", [b"Content-Length: 5000\r\n\r\n", CHUNKED + b"\r\n1;"])
def test_a_body_that_trickles_is_given_up_too(framing: bytes) -> None:
    with listening(patience=slow(body=0.4)) as edge, edge.connect() as client:
        client.sendall(POST + framing)
        client.settimeout(0.02)
        answer, began = b"", time.monotonic()
        while not answer and time.monotonic() - began < 10:
            client.sendall(b"x" if not edge.noted else b"")
            with suppress(TimeoutError):
                answer = client.recv(65536)
        assert answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.requirement("F5")
def test_a_slow_body_that_makes_way_arrives() -> None:
    """It takes three times as long as a body may take at first, and gains time with every piece."""
    with listening(patience=slow(body=0.4, body_rate=500)) as edge, edge.connect() as client:
        client.sendall(POST + b"Content-Length: 1000\r\n\r\n")
        client.settimeout(0.12)
        for _ in range(9):
            client.sendall(b"x" * 100)
            with pytest.raises(TimeoutError):
                client.recv(1)
        client.sendall(b"x" * 100)
        client.settimeout(10)
        assert (read_answer(client).status, edge.noted) == (200, [])


@pytest.mark.requirement("F5")
def test_a_connection_that_is_idle_between_requests_is_closed() -> None:
    with listening(patience=slow(idle=0.1)) as edge, edge.connect() as client:
        client.sendall(GET + b"\r\n")
        assert (read_answer(client).status, read_to_end(client), edge.noted) == (200, b"", [])


@pytest.mark.requirement("F5")
def test_a_request_under_way_has_all_the_time_it_needs() -> None:
    with listening(patience=Patience(first_byte=0.1, head=0.1, body=0.1, idle=0.1)) as edge, edge.connect() as client:
        client.sendall(b"GET /wait HTTP/1.1\r\n\r\n")
        client.settimeout(0.5)
        with pytest.raises(TimeoutError):
            client.recv(1)
        edge.gate.set()
        client.settimeout(10)
        assert read_answer(client).body == b"waited"


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("closes", [b"", b"Connection: close\r\n"])
def test_a_client_that_does_not_take_its_answer_is_dropped(closes: bytes) -> None:
    with listening(patience=slow(unread=0.2)) as edge, edge.connect(receive_buffer=4096) as client:
        client.sendall(b"GET /big HTTP/1.1\r\n" + closes + b"\r\n" + GET + b"\r\n")
        eventually(lambda: edge.running.unread.total > 0, "the answer")
        eventually(lambda: edge.running.unread.total == 0, "its end")
        assert edge.seen == ["GET /big"]
        with suppress(ConnectionResetError):
            assert len(read_to_end(client)) < BIG


@pytest.mark.requirement("F5")
def test_the_next_request_waits_until_the_last_answer_was_taken() -> None:
    """Else a client that only asks would have one answer after the other kept for it."""
    with listening() as edge, edge.connect(receive_buffer=4096) as client:
        client.sendall(b"GET /big HTTP/1.1\r\n\r\n")
        eventually(lambda: edge.running.unread.total > 0, "the answer")
        client.sendall(b"GET /big HTTP/1.1\r\n\r\n")
        eventually(lambda: edge.running.arriving.total > 0 or len(edge.seen) > 1, "the next request")
        assert edge.seen == ["GET /big"]
        assert [len(read_answer(client).body) for _ in range(2)] == [BIG, BIG]


@pytest.mark.requirement("F5")
def test_a_client_that_takes_its_answer_slowly_gets_all_of_it() -> None:
    """It takes three times as long as a client may take without reading, and reads a piece of it now and then."""
    with listening(patience=slow(unread=0.8)) as edge, edge.connect(receive_buffer=65536) as client:
        client.sendall(b"GET /big HTTP/1.1\r\n\r\n")
        eventually(lambda: edge.running.unread.total > 0, "the answer")
        found, moment = 0, threading.Event()
        for part in range(1, 9):  # large ones, because the system's own buffers stand between
            while found < part * BIG // 10:
                found += len(client.recv(65536))
            moment.wait(0.3)
        while found < BIG:
            piece = client.recv(65536)
            assert piece, "it was dropped"
            found += len(piece)


@pytest.mark.requirement("F5")
def test_a_stream_that_is_not_read_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handfast.gateway.http.exchange._UNREAD_SECONDS", 0.2)
    with listening() as edge, edge.connect(receive_buffer=4096) as client:
        client.sendall(b"GET /endless HTTP/1.1\r\n\r\n")
        eventually(lambda: edge.left == ["/endless"], "its end")


# --- large bodies take turns -----------------------------------------------------------------------------------------


class LaterTurns(Turns):
    """Turns that come when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Callable[[], None]] = []

    def ask(self, work: Callable[[], None]) -> None:
        self.asked.append(work)


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("loop", list(LOOPS))
def test_a_client_that_sends_as_fast_as_it_is_read_waits_for_its_turn_after_each_large_piece(loop: str) -> None:
    turns = LaterTurns()
    body = b"x" * (LIMIT - 1)
    with listening(loop=loop, turns=turns) as edge, edge.connect() as fast, edge.connect() as other:
        fast.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        eventually(lambda: turns.asked, "a turn is asked for")
        assert edge.running.arriving.total <= PIECE_BYTES  # or bodies would be whole long before they are judged
        other.sendall(GET + b"\r\n")
        assert read_answer(other).status == 200
        assert len(turns.asked) == 1  # nothing more of it was read
        fast.settimeout(0.1)
        with pytest.raises(TimeoutError):
            fast.recv(1)
        given = 0
        while given < len(turns.asked) or not select.select([fast], [], [], 0.2)[0]:
            if given < len(turns.asked):
                assert edge.loop is not None
                edge.loop.call_soon_threadsafe(turns.asked[given])
                given += 1
        fast.settimeout(10)
        assert read_answer(fast).json["body"] == body.decode()
        assert given > 2


@pytest.mark.requirement("F5")
def test_a_stream_that_its_client_does_not_take_counts_as_an_answer_not_taken(edge: Edge) -> None:
    with edge.connect(receive_buffer=4096) as client:
        client.sendall(b"GET /endless HTTP/1.1\r\n\r\n")
        eventually(lambda: edge.running.unread.total > 0, "what it has yet to take is counted")
    eventually(lambda: edge.running.unread.total == 0, "and is not when it is gone")


def count_connections() -> int:
    return sum(isinstance(kept, ClientConnection) for kept in gc.get_objects())


@pytest.mark.requirement("F4")
@pytest.mark.parametrize("loop", list(LOOPS))
@pytest.mark.parametrize("before", [b"", GET + b"\r\n"], ids=["the first request", "sent ahead"])
def test_a_body_of_many_chunks_is_read_in_turns(loop: str, before: bytes) -> None:
    turns = LaterTurns()
    with listening(loop=loop, turns=turns) as edge, edge.connect() as client:
        client.sendall(before + POST + CHUNKED + b"\r\n" + b"1\r\nx\r\n" * 1000 + b"0\r\n\r\n")
        for number in range(7):  # after the first step
            eventually(lambda number=number: len(turns.asked) > number, "a turn is asked for")  # type: ignore[misc]  # bound early
            assert edge.loop is not None
            edge.loop.call_soon_threadsafe(turns.asked[number])
        if before:
            read_answer(client)
        assert read_answer(client).json["body"] == "x" * 1000


def test_too_many_headers_are_refused(client: socket.socket) -> None:
    client.sendall(GET + b"a: b\r\n" * 255 + b"\r\n")
    assert read_answer(client).status == 200
    client.sendall(GET + b"a: b\r\n" * 256 + b"\r\n")
    answer = read_answer(client)
    text = "The request has more than 256 headers. Send fewer."
    assert (answer.status, answer.json["error"]["message"], answer.headers["connection"]) == (431, text, "close")


def test_a_client_that_resets_while_it_is_answered_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the answer and the end of our side: asyncio's own loop says so, and no client does it on demand."""

    def fail(_transport: object) -> None:
        raise OSError(errno.ENOTCONN, "not connected")

    monkeypatch.setattr("asyncio.selector_events._SelectorSocketTransport.write_eof", fail)
    with listening(loop="asyncio") as edge, edge.connect() as client:
        client.sendall(POST + b"Content-Length: %d\r\n\r\n" % (2 * LIMIT))
        eventually(lambda: edge.seen and not edge.running._all(), "it is gone, and no task has failed")


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("loop", list(LOOPS))
def test_what_is_sent_after_the_last_answer_takes_nobody_s_turn(loop: str) -> None:
    with listening(loop=loop, turns=LaterTurns()) as edge, edge.connect() as client:
        client.sendall(POST + b"Content-Length: %d\r\n\r\n" % BIG + b"x" * BIG)
        assert read_answer(client).status == 413


@pytest.mark.requirement("F5")
def test_what_a_body_that_was_given_up_held_is_freed_at_once() -> None:
    """Left to the collector, thousands of such connections stopped the loop for a tenth of a second, all at a time."""
    with listening(patience=Patience(body=0.05)) as edge, ExitStack() as stack:
        gc.collect()
        gc.disable()
        stack.callback(gc.enable)
        before = count_connections()
        for _ in range(3):
            with edge.connect() as client:
                client.sendall(b"POST /body HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1000)
                assert read_answer(client).status == 408
        eventually(lambda: count_connections() <= before, "all are freed")


REFUSED = b"GET /unread HTTP/1.1\r\nHost: x\r\n\r\n"


@contextmanager
def resting(loop: str) -> Iterator[tuple[Edge, PacedLine]]:
    """An edge at which clients whose requests are refused rest until the test lets one of them go on."""
    with listening(loop=loop) as edge:
        line = edge.running.refused = PacedLine(at_once=1, seconds=LONG)
        yield edge, line


def let_one_go_on(edge: Edge, line: PacedLine) -> None:
    eventually(lambda: line._waiting, "one rests")
    assert edge.loop is not None
    edge.loop.call_soon_threadsafe(line._let_go)


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("loop", list(LOOPS))
def test_a_client_whose_requests_are_refused_one_after_the_other_is_read_slowly(loop: str) -> None:
    with resting(loop) as (edge, line), edge.connect() as client, edge.connect() as other:
        for _ in range(5):
            client.sendall(REFUSED)
            assert read_answer(client).status == 404
        client.sendall(REFUSED * 2)
        other.sendall(GET + b"\r\n")
        assert read_answer(other).status == 200
        assert edge.seen.count("GET /unread") == 5
        for answered in (6, 7):
            let_one_go_on(edge, line)
            assert read_answer(client).status == 404
            assert edge.seen.count("GET /unread") == answered


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("loop", list(LOOPS))
def test_requests_sent_ahead_of_refusals_wait_as_well(loop: str) -> None:
    with resting(loop) as (edge, line), edge.connect() as client:
        client.sendall(REFUSED * 6)
        for _ in range(5):
            assert read_answer(client).status == 404
        eventually(lambda: line._waiting, "it rests")
        assert edge.seen.count("GET /unread") == 5
        let_one_go_on(edge, line)
        assert read_answer(client).status == 404


@pytest.mark.requirement("F5")
def test_a_client_that_is_refused_now_and_then_never_waits() -> None:
    with resting("uvloop") as (edge, line), edge.connect() as client:
        for _ in range(5):
            client.sendall(REFUSED * 4 + GET + b"\r\n")
            assert [read_answer(client).status for _ in range(5)] == [404] * 4 + [200]
        assert not line._waiting


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("loop", list(LOOPS))
def test_a_listener_closes_with_clients_that_rest(loop: str) -> None:
    with resting(loop) as (edge, line), edge.connect() as client:
        client.sendall(REFUSED * 6)
        eventually(lambda: line._waiting, "it rests")
        assert edge.loop is not None
        edge.loop.call_soon_threadsafe(edge.running._has_room, 1)
        eventually(lambda: not edge.running._all(), "it makes way")
        assert not line._waiting
