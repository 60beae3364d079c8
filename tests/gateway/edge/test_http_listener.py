"""How many connections there may be, who gives way where there are too many, and how the listener ends."""

import asyncio
import resource
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from subprocess import PIPE

import pytest

from handfast.gateway.edge import body_places, http_listener
from handfast.gateway.edge.connection_owner import PIECE_BYTES, Patience
from tests.demo import ROOT
from tests.gateway.edge.listening import Edge, listening, read_answer, read_to_end
from tests.gateway.http_servers import LOOPS
from tests.gateway.running import eventually

GET = b"GET /a HTTP/1.1\r\n\r\n"
WAIT = b"GET /wait HTTP/1.1\r\n\r\n"


def busy(edge: Edge, stack: ExitStack, count: int) -> list[socket.socket]:
    """So many connections, each with a request under way."""
    clients = [stack.enter_context(edge.connect()) for _ in range(count)]
    for client in clients:
        client.sendall(WAIT)
    eventually(lambda: edge.seen.count("GET /wait") == count, "all under way")
    return clients


@pytest.mark.requirement("F5")
def test_a_connection_too_many_is_answered_and_closed_and_the_others_go_on() -> None:
    with listening(connections=4) as edge, ExitStack() as stack:
        clients = busy(edge, stack, 4)
        with edge.connect() as late:
            late.sendall(GET)
            answer = read_answer(late)
            assert (answer.status, answer.headers["retry-after"], answer.headers["connection"]) == (503, "5", "close")
            text = "Too many connections are open at once. Close some, or try again later."
            assert answer.json["error"]["message"] == text
            assert (read_to_end(late), edge.noted) == (b"", ["connection.refused"])
        edge.gate.set()
        assert [read_answer(client).body for client in clients] == [b"waited"] * 4
        clients[0].sendall(GET)
        assert read_answer(clients[0]).status == 200


@pytest.mark.requirement("F5")
def test_a_place_that_becomes_free_is_given_to_the_next() -> None:
    with listening(connections=2) as edge, ExitStack() as stack:
        clients = busy(edge, stack, 2)
        clients[0].close()
        edge.gate.set()
        assert read_answer(clients[1]).status == 200
        with edge.connect() as late:
            late.sendall(GET)
            assert read_answer(late).status == 200


@pytest.mark.requirement("F5")
def test_a_connection_without_a_request_makes_way_the_oldest_first() -> None:
    """Half a request holds no place against a client that asks for something."""
    with listening(connections=5) as edge, ExitStack() as stack:
        busy(edge, stack, 2)
        silent, half, headed = (stack.enter_context(edge.connect()) for _ in range(3))
        half.sendall(b"GET /")
        headed.sendall(b"POST /a HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
        eventually(lambda: "POST /a" in edge.seen, "the head")
        for gives_way in (silent, half, headed):
            late = stack.enter_context(edge.connect())
            late.sendall(WAIT)
            with suppress(ConnectionResetError):
                assert gives_way.recv(1) == b""
        eventually(lambda: edge.seen.count("GET /wait") == 5, "those that came late")
        assert edge.noted == []


@pytest.mark.requirement("F5")
def test_a_connection_that_was_answered_stays_while_there_are_others_without_a_request() -> None:
    """Or a storm of connections would close, again and again, those of clients that pause between two calls."""
    with listening(connections=4) as edge, ExitStack() as stack:
        client = stack.enter_context(edge.connect())
        client.sendall(GET)
        assert read_answer(client).status == 200
        for _ in range(200):
            stack.enter_context(edge.connect()).sendall(b"GET /")
        eventually(lambda: edge.running.arriving.total > 0, "the storm")
        client.sendall(GET)
        assert read_answer(client).status == 200


@pytest.mark.requirement("F5")
def test_of_connections_that_were_answered_the_one_that_was_used_least_recently_makes_way() -> None:
    with listening(connections=3) as edge, ExitStack() as stack:
        clients = [stack.enter_context(edge.connect()) for _ in range(3)]
        for client in clients:
            client.sendall(GET)
            assert read_answer(client).status == 200
        before = edge.running.now
        eventually(lambda: edge.running.now > before, "the clock")
        clients[0].sendall(GET)
        assert read_answer(clients[0]).status == 200
        late = stack.enter_context(edge.connect())
        late.sendall(GET)
        assert read_answer(late).status == 200
        with suppress(ConnectionResetError):
            assert clients[1].recv(1) == b""
        for client in (clients[0], clients[2]):
            client.sendall(GET)
            assert read_answer(client).status == 200


@pytest.mark.requirement("F5")
def test_a_new_connection_has_time_for_its_first_request_while_others_are_idle() -> None:
    with listening(connections=16) as edge, ExitStack() as stack:
        for _ in range(16):
            client = stack.enter_context(edge.connect())
            client.sendall(GET)
            assert read_answer(client).status == 200
        before = edge.running.now
        eventually(lambda: edge.running.now > before, "the clock")
        late = [stack.enter_context(edge.connect()) for _ in range(2)]
        for client in late:
            client.sendall(GET)
        assert [read_answer(client).status for client in late] == [200, 200]


@pytest.mark.requirement("F5")
def test_silent_connections_make_way_where_the_system_has_no_descriptor_left() -> None:
    code = "from tests.gateway.edge.test_http_listener import serve_with_few_descriptors as run; run()"
    serving = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True)
    with serving, ExitStack() as stack:
        assert serving.stdout is not None
        address = ("127.0.0.1", int(serving.stdout.readline()))
        for _ in range(100):
            stack.enter_context(socket.create_connection(address, 10))
        with socket.create_connection(address, 10) as honest:
            honest.sendall(GET)
            assert read_answer(honest).status == 200
        stack.close()
        _, said = serving.communicate(timeout=30)
        assert (serving.returncode, said) == (0, "")


def serve_with_few_descriptors() -> None:
    with listening() as edge:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (48, most))
        print(edge.address[1], flush=True)
        sys.stdin.read()


@pytest.mark.requirement("F5")
def test_an_answer_that_is_still_being_sent_keeps_its_place() -> None:
    with listening(connections=2) as edge, ExitStack() as stack:
        busy(edge, stack, 1)
        client = stack.enter_context(edge.connect(receive_buffer=4096))
        client.sendall(b"GET /big HTTP/1.1\r\n\r\n")
        eventually(lambda: edge.running.unread.total > 0, "the answer")
        with edge.connect() as late:
            late.sendall(GET)
            assert read_answer(late).status == 503
        assert read_answer(client).status == 200


@pytest.mark.requirement("F5")
def test_one_address_has_at_most_half_of_the_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handfast.gateway.edge.http_listener.network_of", lambda peer: peer)
    with listening(connections=6) as edge, ExitStack() as stack:
        busy(edge, stack, 3)
        with edge.connect() as late:
            late.sendall(GET)
            answer = read_answer(late)
            text = "Too many connections are open from your address. Close some, or try again later."
            assert (answer.status, answer.json["error"]["message"]) == (503, text)
        with socket.socket() as other:
            other.bind(("127.0.0.2", 0))
            other.settimeout(10)
            other.connect(edge.address)
            other.sendall(GET)
            assert read_answer(other).status == 200


@pytest.mark.requirement("F5")
def test_a_storm_of_connections_is_refused_without_holding_them() -> None:
    patience = Patience(farewell=60)
    with listening(connections=2, patience=patience) as edge, ExitStack() as stack:
        busy(edge, stack, 2)
        storm = [stack.enter_context(edge.connect()) for _ in range(100)]
        eventually(lambda: len(edge.noted) == 100, "all refused")
        assert len(edge.running._all()) == 2 + 64
        storm[0].sendall(GET)
        assert read_answer(storm[0]).status == 503


@pytest.mark.requirement("F5")
def test_of_too_many_unfinished_bodies_the_oldest_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handfast.gateway.edge.http_listener._ARRIVING_BYTES", 0)
    with listening() as edge, ExitStack() as stack:
        monkeypatch.setattr(edge.running.arriving, "_most", lambda: 2_500_000)
        clients = [stack.enter_context(edge.connect()) for _ in range(3)]
        head = b"POST /a HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"
        for number, client in enumerate(clients):
            client.sendall(head + b"x" * 999_999)
            held = min(number + 1, 2) * 999_999
            eventually(lambda held=held: edge.running.arriving.total == held, "what was sent")  # type: ignore[misc]  # bound early
        answer = read_answer(clients[0])
        assert (answer.status, answer.headers["connection"], edge.noted) == (503, "close", ["request.slow"])
        for client in clients[1:]:
            client.sendall(b"x")
            assert read_answer(client).status == 200


def sends_all(edge: Edge, answers: list[int], *, size: int = 1_000_000) -> None:
    with edge.connect() as client:
        client.settimeout(30)
        with suppress(ConnectionError):
            client.sendall(b"POST /a HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size)
        answers.append(read_answer(client).status)


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("loop", LOOPS)
def test_large_bodies_wait_for_each_other_and_all_arrive(monkeypatch: pytest.MonkeyPatch, loop: str) -> None:
    """Sixteen megabytes where less than three are held, beside three clients that stop in the middle."""
    answers: list[int] = []
    with listening(loop=loop) as edge, ExitStack() as stack:
        monkeypatch.setattr(edge.running.arriving, "_most", lambda: 2_500_000)
        for _ in range(3):
            slow = stack.enter_context(edge.connect())
            slow.sendall(b"POST /a HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 700_000)
        senders = [threading.Thread(target=sends_all, args=(edge, answers)) for _ in range(16)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        assert answers == [200] * 16
        assert edge.running.arriving.total <= 2_500_000


@pytest.mark.requirement("F5")
def test_who_has_a_place_for_its_body_gives_way_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_places, "_LOOK_SECONDS", 60.0)
    with listening() as edge, ExitStack() as stack:
        monkeypatch.setattr(edge.running.arriving, "_most", lambda: 1_500_000)
        clients = [stack.enter_context(edge.connect()) for _ in range(2)]
        for client in clients:
            client.sendall(b"POST /a HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 900_000)
        eventually(lambda: edge.running.arriving.total == 1_800_000, "both have sent")
        for client in clients:
            client.sendall(b"x" * 100_000)
            assert read_answer(client).status == 200


@pytest.mark.requirement("F5")
def test_short_bodies_do_not_wait_for_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_places, "_LOOK_SECONDS", 60.0)  # whoever has a place keeps it
    answers: list[int] = []
    with listening() as edge, ExitStack() as stack:
        for size in (1_000_000, 1_000_000, 1_000_000):
            waiting = stack.enter_context(edge.connect())
            waiting.sendall(b"POST /a HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size + b"x" * 100_000)
        eventually(lambda: edge.running.arriving.total == 200_000, "two of them have a place")
        sends_all(edge, answers, size=200_000)
        assert answers == [200]


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("loop", LOOPS)
def test_who_leaves_while_it_waits_to_send_is_noticed(monkeypatch: pytest.MonkeyPatch, loop: str) -> None:
    """Nothing is read from it, so nothing but the system knows."""
    monkeypatch.setattr(body_places, "_LEAST_BYTES", -1)  # whoever has a place keeps it
    head = b"POST /a HTTP/1.1\r\nContent-Length: 900000\r\n\r\n"
    with listening(loop=loop) as edge, ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(edge.connect()).sendall(head + b"x" * 10_000)
        eventually(lambda: edge.running.arriving.total == 20_000, "both places are taken")
        with edge.connect() as client:
            client.sendall(head + b"x" * 50_000)
            eventually(lambda: edge.running.places.senders == 3, "it waits")
        held = []

        def is_gone() -> bool:
            held.append(edge.running.arriving.total)
            return len(edge.running._all()) == 2

        eventually(is_gone, "it is gone")
        assert max(held) == 20_000, "what can never be whole is not read"


@pytest.mark.requirement("F5")
def test_bodies_in_chunks_count_as_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_places, "_LOOK_SECONDS", 60.0)
    answers: list[int] = []
    with listening() as edge, ExitStack() as stack:
        for _ in range(3):
            waiting = stack.enter_context(edge.connect())
            chunk = b"%x\r\n" % 100_000 + b"x" * 100_000 + b"\r\n"
            waiting.sendall(b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk)
        eventually(lambda: edge.running.arriving.total == 200_000, "two of them have a place")
        sends_all(edge, answers, size=200_000)
        assert answers == [200]


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("loop", LOOPS)
def test_a_large_body_needs_a_place_however_small_the_pieces_it_comes_in(
    monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    monkeypatch.setattr(body_places, "_LOOK_SECONDS", 60.0)
    head = b"POST /a HTTP/1.1\r\nContent-Length: 200000\r\n\r\n"
    with listening(loop=loop) as edge, ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(edge.connect()).sendall(head + b"x" * 100_000)
        eventually(lambda: edge.running.arriving.total == 200_000, "both places are taken")
        client = stack.enter_context(edge.connect())
        client.sendall(head)
        for _ in range(20):
            client.sendall(b"x" * 5_000)
            time.sleep(0.005)
        assert edge.running.arriving.total < 200_000 + 3 * PIECE_BYTES


@pytest.mark.requirement("F5")
def test_long_heads_of_requests_under_way_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_listener, "_HEAD_BYTES", 100_000)
    long = b"GET /wait HTTP/1.1\r\nX-Pad: " + b"x" * 40_000 + b"\r\n\r\n"
    with listening() as edge, ExitStack() as stack:
        for number in range(2):
            stack.enter_context(edge.connect()).sendall(long)
            eventually(lambda number=number: len(edge.seen) == number + 1, "under way")  # type: ignore[misc]  # bound early
        with edge.connect() as late:
            late.sendall(long)
            answer = read_answer(late)
            text = "Too many requests with long headers are in progress. Try again later, or send shorter ones."
            assert (answer.status, answer.json["error"]["message"]) == (503, text)
        with edge.connect() as other:
            other.sendall(GET)
            assert read_answer(other).status == 200
        edge.gate.set()
        eventually(lambda: edge.running.heads.total == 0, "what is over is not counted")


@pytest.mark.requirement("F5")
def test_who_waits_to_send_a_large_body_has_sent_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_places, "_LOOK_SECONDS", 60.0)
    monkeypatch.setattr(body_places, "_WAITING", 10)
    with listening() as edge, ExitStack() as stack:
        clients = [stack.enter_context(edge.connect()) for _ in range(12)]
        for client in clients:
            client.sendall(b"POST /a HTTP/1.1\r\nContent-Length: 999999\r\n\r\n" + b"x" * 100_000)
        eventually(lambda: edge.running.arriving.total == 200_000, "two have a place")
        eventually(lambda: len(edge.seen) == 12, "the others wait")
        assert edge.running.arriving.total <= 200_000, "what the others have sent is counted by their number"
        late = stack.enter_context(edge.connect())
        late.sendall(b"POST /a HTTP/1.1\r\nContent-Length: 999999\r\n\r\n" + b"x" * 100_000)
        answer = read_answer(late)
        assert (answer.status, "Too many large requests" in answer.body.decode()) == (503, True)


@pytest.mark.requirement("F5")
def test_of_too_many_answers_that_are_not_taken_the_oldest_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as edge, ExitStack() as stack:
        monkeypatch.setattr(edge.running.unread, "_most", lambda: 10_000_000)
        first, second = (stack.enter_context(edge.connect(receive_buffer=4096)) for _ in range(2))
        for number, client in enumerate((first, second)):
            client.sendall(b"GET /big HTTP/1.1\r\n\r\n")
            eventually(lambda number=number: len(edge.seen) > number and edge.running.unread.total > 0, "the answer")  # type: ignore[misc]  # bound early
        with pytest.raises((ConnectionResetError, AssertionError)):
            read_answer(first)
        assert read_answer(second).status == 200


# --- the end ---------------------------------------------------------------------------------------------------------


def test_the_end_closes_what_is_idle_lets_answers_finish_and_takes_nobody_new() -> None:
    with listening() as edge, ExitStack() as stack:
        (waiting,) = busy(edge, stack, 1)
        idle = stack.enter_context(edge.connect())
        idle.sendall(GET)
        assert read_answer(idle).status == 200
        assert edge.loop is not None
        closing = asyncio.run_coroutine_threadsafe(edge.running.close(30), edge.loop)
        assert read_to_end(idle) == b""
        with pytest.raises(ConnectionRefusedError):
            edge.connect()
        edge.gate.set()
        answer = read_answer(waiting)
        assert (answer.body, answer.headers["connection"], read_to_end(waiting)) == (b"waited", "close", b"")
        closing.result(10)


def test_the_end_does_not_wait_for_half_a_request() -> None:
    with listening() as edge, edge.connect() as client:
        client.sendall(b"POST /a HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
        eventually(lambda: edge.seen, "the head")
        assert edge.loop is not None
        asyncio.run_coroutine_threadsafe(edge.running.close(60), edge.loop).result(10)
        assert edge.left == ["/a"]


def test_the_end_does_not_wait_for_ever() -> None:
    with listening() as edge, ExitStack() as stack:
        (waiting,) = busy(edge, stack, 1)
        unread = stack.enter_context(edge.connect(receive_buffer=4096))
        unread.sendall(b"GET /big HTTP/1.1\r\n\r\n")
        eventually(lambda: edge.running.unread.total > 0, "the answer")
        assert edge.loop is not None
        asyncio.run_coroutine_threadsafe(edge.running.close(0.1), edge.loop).result(10)
        with suppress(ConnectionResetError):
            assert waiting.recv(1) == b""


def test_the_clock_stands_still_while_there_is_no_client() -> None:
    with listening(tick=0.01) as edge:
        with edge.connect() as client:
            client.sendall(GET)
            assert read_answer(client).status == 200
            eventually(lambda: edge.running.now > 0, "the clock")
        eventually(lambda: edge.running._timer is None, "its rest")
        now, moment = edge.running.now, threading.Event()
        moment.wait(0.05)
        assert edge.running.now == now
        with edge.connect() as client:
            client.sendall(GET)
            assert read_answer(client).status == 200
