"""More than anybody takes: floods, clients that do not read, servers that do not read. Memory stays where it was."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.contracts.rig import HttpGateway, Json, Route
from tests.faults.measured import resident_mb
from tests.faults.scene import OWN_CHILD, SteadyCaller, calling, upstream
from tests.gateway.running import (
    TEXT,
    OpenPost,
    Serving,
    at_once,
    call,
    eventually,
    read_records,
    running,
    wrapping,
)
from tests.stubs.run import Stub, answer, tool, write_stub

FLOOD = 100_000
SERVED_FLOOD = 30_000  # the clients and servers of these tests are slower than the gateway
GROWTH_MB = 40.0  # 4 MiB wait per client at most; the rest is what the allocator keeps
SERVED: tuple[Route, ...] = ("stdio", "http-sse")


def write(folder: Path, **more: Json) -> Stub:
    answers = {
        "steady": answer(TEXT),
        "floods": answer(TEXT, f"notify:{SERVED_FLOOD}"),
        "babbles": answer(TEXT, "endless"),
    }
    answers |= {
        "inundates": answer(TEXT, f"notify:{FLOOD}"),
        "is_deaf": answer(TEXT, "deaf"),
        "cuts": answer(TEXT, "resume"),
    }
    return write_stub(folder, tools=[tool(name) for name in answers], answers=answers, **more)


@contextmanager
def gateway_of(
    route: Route, folder: Path, *, sessions: bool = True, leaves_calls: bool = False, **limits: Json
) -> Iterator[Serving]:
    with ExitStack() as stack:
        servers = {"up": upstream(stack, route, write(folder, sessions=sessions))}
        settings = {"call_timeout_s": 30, **limits}
        yield stack.enter_context(running(servers, folder, leaves_calls=leaves_calls, limits=settings))


# --- a client that reads gets everything -----------------------------------------------------------------------------


@pytest.mark.parametrize("route", SERVED)
def test_a_flood_reaches_a_client_that_reads_whole_and_others_are_answered(route: Route, tmp_path: Path) -> None:
    with gateway_of(route, tmp_path) as gateway, ThreadPoolExecutor(1) as pool:
        client, steady = gateway.client(capabilities=OWN_CHILD), SteadyCaller(gateway.client())
        before = resident_mb(gateway.process.pid)
        with calling({"same": steady}, pool):
            post = OpenPost(client, call(7, "floods"))
            received = 0
            while (event := post.next_event()).get("method") == "notifications/message":
                received += 1
            post.leave()
        assert (received, event["result"]) == (SERVED_FLOOD, json.loads(TEXT))
        assert (steady.failures, steady.calls > 0) == ([], True)
        assert resident_mb(gateway.process.pid) - before < GROWTH_MB


def test_a_flood_passes_the_wrapper_whole(tmp_path: Path) -> None:
    with wrapping(write(tmp_path).command, tmp_path) as gateway:
        assert gateway.call("inundates").result == json.loads(TEXT)
        assert len(gateway.strays) == FLOOD


# --- a client that does not read -------------------------------------------------------------------------------------


@contextmanager
def unread(client: HttpGateway, message: bytes) -> Iterator[None]:
    """A request whose answer nobody reads."""
    address = urlsplit(client.base)
    with socket.create_connection((address.hostname, address.port)) as connection:
        head = "".join(f"{name}: {value}\r\n" for name, value in client.headers(message).items())
        start = f"POST {client.path} HTTP/1.1\r\nHost: {address.netloc}\r\n{head}Content-Length: {len(message)}\r\n\r\n"
        connection.sendall(start.encode() + message)
        yield


@pytest.mark.parametrize(("route", "is_own"), [("stdio", True), ("stdio", False), ("http-sse", True)])
def test_a_flood_that_nobody_reads_is_held_back_or_dropped(route: Route, is_own: bool, tmp_path: Path) -> None:
    """On a child of its own the server waits; on a shared one only progress can be meant, and the oldest is dropped."""
    with gateway_of(route, tmp_path, leaves_calls=True) as gateway, ThreadPoolExecutor(1) as pool:
        client = gateway.client(capabilities=OWN_CHILD if is_own else None)
        steady = SteadyCaller(gateway.client())
        steady.client.call("steady")
        before = resident_mb(gateway.process.pid)
        with unread(client, call(7, "babbles", _meta={"progressToken": "p"})), calling({"same": steady}, pool):
            # On a shared child the steady caller stands in line behind the flood, so that few calls are a long while.
            eventually(lambda: steady.calls > (150 if is_own else 20), "a while of it", seconds=60)
            assert resident_mb(gateway.process.pid) - before < GROWTH_MB
        assert steady.failures == []
        assert gateway.health()[0] == 200


# --- a server that does not read -------------------------------------------------------------------------------------


def test_calls_to_a_server_that_reads_nothing_wait_end_and_are_not_kept(tmp_path: Path) -> None:
    with gateway_of("stdio", tmp_path, call_timeout_s=1.0) as gateway:
        client = gateway.client()
        client.call("is_deaf")
        large: Json = {"x": "y" * 2_000_000}
        rounds = [at_once(*[lambda: client.call("steady", large).message for _ in range(4)])]
        before = resident_mb(gateway.process.pid)
        rounds += [at_once(*[lambda: client.call("steady", large).message for _ in range(4)]) for _ in range(2)]
        codes = {answered["error"]["code"] for each in rounds for answered in each}
        assert codes <= {-31001, -31002}
        assert resident_mb(gateway.process.pid) - before < 12  # without the wait every round would add 8 MB
        eventually(lambda: len(calls(gateway.state)) == 13, "every call on record, once")
        assert {record.status.value for record in calls(gateway.state)} == {"error"}


def calls(state: Path) -> list[Json]:
    return list(read_records(state, type="tool_call"))


# --- streams that end early ------------------------------------------------------------------------------------------


def test_a_cut_stream_that_nobody_resumes_ends_on_record(tmp_path: Path) -> None:
    with gateway_of("http-sse", tmp_path, call_timeout_s=0.5) as gateway:
        client = gateway.client()
        assert client.call("cuts").raw == b""  # what came had an id: the client may ask for the rest
        (record,) = eventually(lambda: calls(gateway.state), "its record")
        assert (record.status.value, record.rule) == ("error", "upstream.timeout")


@pytest.mark.parametrize("is_modern", [True, False])
def test_a_cut_stream_that_cannot_be_resumed_ends_in_an_error(is_modern: bool, tmp_path: Path) -> None:
    """Event ids promise nothing without a session, and 2026-07-28 has none."""
    with gateway_of("http-sse", tmp_path, sessions=False) as gateway:
        client = gateway.client(is_modern=is_modern)
        assert client.call("cuts").message["error"]["code"] == -31001
        (record,) = eventually(lambda: calls(gateway.state), "its record")
        assert (record.status.value, record.rule) == ("error", "upstream.failed")
