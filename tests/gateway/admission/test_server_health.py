"""Servers that misbehave cost only themselves: how each one is, when it is left alone, and how it comes back."""

import contextlib
import http.server
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.clock import Clock
from handfast.core.call.contract import LIST_UNAVAILABLE
from handfast.core.call.exchange import Status
from handfast.gateway.admission.breaker import Breaker, reconnect_rest
from handfast.gateway.admission.server_health import Era, HealthReport, ServerHealth, State, UpstreamResting
from tests.contracts.rig import MODERN_META, HttpGateway, Json
from tests.gateway.running import (
    TEXT,
    OpenPost,
    Serving,
    at_once,
    call,
    eventually,
    notification,
    outcome,
    pids,
    read_records,
    running,
    send,
    stdio,
)
from tests.stubs.run import Stub, answer, serving, tool, write_stub

ROOTS: Json = {"roots": {}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}
RESTING = re.compile(
    r"The server failed (a moment ago|[0-9]+ times (in a row|of late)) and is tried again in [0-9.]+ s\."
    r" Repeat the request then\. What it failed with: .+"
)


# --- the state of one server -----------------------------------------------------------------------------------------


class FixedClock(Clock):
    def now(self) -> str:
        return "2026-01-02T03:04:05.000000Z"

    def monotonic(self) -> float:
        return 1.0


def health(changes: list[tuple[State, str, Status]]) -> ServerHealth:
    clock = FixedClock()
    breaker = Breaker(clock.monotonic, rest_after=lambda n: reconnect_rest(n, 2))
    return ServerHealth(breaker, clock, on_change=lambda *change: changes.append(change))


def test_each_change_of_state_is_told_once() -> None:
    changes: list[tuple[State, str, Status]] = []
    server = health(changes)
    assert server.report() == HealthReport()
    for _ in range(3):
        server.succeeded()
    for _ in range(3):
        server.failed("It is\nnot there.")
    assert server.report() == HealthReport(
        state=State.OPEN, failures=2, last_error="It is not there.", last_error_at="2026-01-02T03:04:05.000000Z"
    )
    with pytest.raises(UpstreamResting, match=r"failed 2 times in a row and is tried again in 1 s.*: It is not there"):
        server.check_admission()
    server.succeeded()
    server.check_admission()
    assert changes == [
        (State.UP, "It answers.", Status.SUCCESS),
        (State.FAILING, "It failed: It is not there.", Status.WARNING),
        (
            State.OPEN,
            "It failed 2 times in a row and is tried only now and then: It is not there.",
            Status.ERROR,
        ),
        (State.UP, "It answers again.", Status.SUCCESS),
    ]


def test_what_says_nothing_about_the_next_request_changes_no_state() -> None:
    changes: list[tuple[State, str, Status]] = []
    server = health(changes)
    server.note_error("x" * 1000)
    report = server.report()
    assert (report.state, len(report.last_error), changes) == (State.IDLE, 200, [])


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=450))
def test_latency_is_that_of_the_last_two_hundred_calls(seconds: list[float]) -> None:
    server = health([])
    for one in seconds:
        server.note_answer(one, Era.UNKNOWN)
    report = server.report()
    assert report.p50_ms is not None
    assert report.p95_ms is not None
    last = sorted(seconds[-200:])
    assert report.calls == len(seconds)
    assert sum(one * 1000 <= report.p50_ms + 0.001 for one in last) >= len(last) / 2
    assert sum(one * 1000 < report.p50_ms - 0.001 for one in last) <= len(last) / 2
    assert sum(one * 1000 <= report.p95_ms + 0.001 for one in last) >= len(last) * 0.95
    assert sum(one * 1000 < report.p95_ms - 0.001 for one in last) <= len(last) * 0.95


# --- what the operator sees ------------------------------------------------------------------------------------------


def seen(gateway: Serving, server: str = "up") -> Json:
    return gateway.health()[1]["servers"][server]


def told(gateway: Serving, server: str = "up") -> list[str]:
    """The changes of state on record, oldest first; ask once the gateway has ended, as they are written behind."""
    states = {f"server.{state.value}" for state in State}
    return [r.rule for r in read_records(gateway.state, type="server_state", server=server) if r.rule in states]


def initialize(gateway: Serving, server: str = "up", capabilities: Json = None) -> Json:
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities or {}}
    return gateway.client(server, opens=False).request("initialize", params).message


ANSWERS = {"add": answer(TEXT), "slow": answer(TEXT, "silence"), "status": answer(TEXT, "status:500")}


def good_stub(folder: Path, name: str = "stub", **more: Json) -> Stub:
    return write_stub(folder, tools=[tool(one) for one in ANSWERS], answers=ANSWERS, name=name, **more)


def dying_stub(folder: Path) -> Stub:
    """Exits with code 3 on initialize, every time."""
    return good_stub(folder, methods={"initialize": answer("{}", "exit:3")})


@pytest.mark.parametrize("is_modern", [False, True])
@pytest.mark.parametrize("transport", ["stdio", "http-json", "http-sse"])
def test_health_shows_state_era_and_latency(tmp_path: Path, transport: str, is_modern: bool) -> None:
    stub = good_stub(tmp_path)
    with reached_over(stub, transport) as entry, running({"up": entry}, tmp_path) as gateway:
        assert seen(gateway)["state"] == "idle"
        client = gateway.client(is_modern=is_modern)
        assert [client.call("add").text for _ in range(3)] == ["fine"] * 3
        shown = seen(gateway)
        assert 0 < shown.pop("p50_ms") <= shown.pop("p95_ms") < 5000
        # A server of both eras is greeted first, and asked in a second process whether it is modern, too.
        children = 0 if transport != "stdio" else 2 if is_modern else 1
        assert shown == {
            "state": "up",
            "era": "modern" if is_modern else "legacy",
            "calls": 3,
            "in_progress": 0,
            "waiting": 0,
            "starts": children,
            "exits": max(children - 1, 0),
            "failures": 0,
            "last_error": "",
            "last_error_at": "",
        }
    assert told(gateway) == ["server.up"]


@contextmanager
def reached_over(stub: Stub, transport: str) -> Iterator[Json]:
    if transport == "stdio":
        yield stdio(stub)
        return
    with serving(stub, "http-json" if transport == "http-json" else "http-sse") as url:
        yield {"url": f"{url}?key=secret"}


@pytest.mark.parametrize("transport", ["stdio", "http-json"])
def test_a_call_under_way_is_counted_until_it_ends(tmp_path: Path, transport: str) -> None:
    stub = good_stub(tmp_path)
    limits = {"call_timeout_s": 60}
    with (
        reached_over(stub, transport) as entry,
        running({"up": entry}, tmp_path, leaves_calls=True, limits=limits) as gateway,
    ):
        client = gateway.client(is_modern=True)
        post = OpenPost(client, call(1, "slow", _meta=client.render("x")["params"]["_meta"]))
        eventually(lambda: seen(gateway)["in_progress"] == 1, "the call in progress")
        post.leave()
        eventually(lambda: seen(gateway)["in_progress"] == 0, "the end of the call")


def test_health_holds_no_query_and_no_arguments(tmp_path: Path) -> None:
    servers = {
        "child": {"command": "no-such-command", "args": ["--token", "secret"], "env": {"KEY": "secret"}},
        "address": {"url": f"http://127.0.0.1:{free_port()}/mcp?key=secret", "headers": {"X-Key": "secret"}},
    }
    with running(servers, tmp_path) as gateway:
        for name in servers:
            assert "error" in initialize(gateway, name)
        shown = gateway.health()[1]["servers"]
        assert [shown[name]["state"] for name in servers] == ["failing", "failing"]
        assert all(shown[name]["last_error"] for name in servers)
        assert "secret" not in json.dumps(shown)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


# --- children that die -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("capabilities", [None, ROOTS])
def test_a_child_that_dies_at_once_is_not_restarted_in_a_loop_and_recovers(tmp_path: Path, capabilities: Json) -> None:
    stub = dying_stub(tmp_path)
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        refusals = []
        until = time.monotonic() + 1.2
        while time.monotonic() < until:
            refusals.append(initialize(gateway, capabilities=capabilities)["error"])
        # At once, half a second after that death, and a second after the next one.
        assert 1 <= len(pids(stub)) <= 3
        resting = [error for error in refusals if RESTING.fullmatch(error["message"])]
        assert len(refusals) - len(resting) == len(pids(stub))
        assert len(resting) > 20
        assert {error["code"] for error in refusals} == {-31001}
        assert resting[0]["message"].endswith("What it failed with: Its process exited with code 3.")
        shown = seen(gateway)
        assert (shown["state"], shown["starts"], shown["exits"]) == ("failing", len(pids(stub)), len(pids(stub)))
        good_stub(tmp_path)
        eventually(lambda: "result" in initialize(gateway, capabilities=capabilities), "its recovery")
        assert gateway.client(capabilities=capabilities).call("add").text == "fine"
        assert seen(gateway)["state"] == "up"
    assert told(gateway) == ["server.failing", "server.up"]


def test_a_child_that_answers_before_it_dies_is_waited_for_longer_each_time(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("quit")], answers={"quit": answer(TEXT, "exit:3")})
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        for _ in range(2):
            eventually(lambda: "result" in initialize(gateway), "a child")
            assert gateway.client().call("quit").message["error"]["code"] == -31001
        assert " failed 2 times in a row " in initialize(gateway)["error"]["message"]


def test_failures_with_an_answered_call_between_them_are_not_in_a_row(tmp_path: Path) -> None:
    answers = {"add": answer(TEXT), "quit": answer(TEXT, "exit:3")}
    stub = write_stub(tmp_path, tools=[tool(name) for name in answers], answers=answers)
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        client = gateway.client()
        for _ in range(2):
            assert client.call("add").text == "fine"
            client.call("quit")
        assert " failed 2 times of late " in initialize(gateway)["error"]["message"]
        assert seen(gateway)["failures"] == 1


def test_after_the_limit_a_child_is_started_once_a_minute(tmp_path: Path) -> None:
    with running({"up": {"command": "no-such-command"}}, tmp_path, limits={"restarts": 1}) as gateway:
        texts = [initialize(gateway)["error"]["message"] for _ in range(5)]
        assert texts[0] == "The server cannot start 'no-such-command': no such command. Check the command and the PATH."
        seconds = [float(re.findall(r"tried again in ([0-9.]+) s", text)[0]) for text in texts[1:]]
        assert all(50 < one <= 60 for one in seconds)
        assert seen(gateway)["state"] == "open"
    assert told(gateway) == ["server.open"]
    assert len(read_records(gateway.state, rule="server.failed")) == 1


def test_a_call_that_finds_no_child_is_recorded(tmp_path: Path) -> None:
    with running({"up": {"command": "no-such-command"}}, tmp_path) as gateway:
        client = gateway.client(is_modern=True)
        for name in ("one", "two"):
            assert "cannot start" in client.call(name).message["error"]["message"]
        assert RESTING.fullmatch(client.call("three").message["error"]["message"])
        outcomes = [outcome(gateway.state, name) for name in ("one", "two", "three")]
        assert outcomes == [("error", "upstream.failed")] * 3


def test_children_that_we_end_are_no_failure(tmp_path: Path) -> None:
    stub = good_stub(tmp_path)
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        for _ in range(3):
            client = gateway.client(capabilities=ROOTS)
            assert client.call("add").text == "fine"
            send(gateway.base, "DELETE", client.path, headers={"Mcp-Session-Id": client.session})
        eventually(lambda: seen(gateway)["exits"] == 3, "their end")
        shown = seen(gateway)
        assert (shown["state"], shown["failures"], shown["last_error"]) == ("up", 0, "")


def test_servers_that_are_down_do_not_slow_one_that_is_up(tmp_path: Path) -> None:
    (tmp_path / "dying").mkdir()
    servers = {
        "dying": stdio(dying_stub(tmp_path / "dying")),
        "missing": {"command": "no-such-command"},
        "gone": {"url": f"http://127.0.0.1:{free_port()}/mcp"},
        "up": stdio(good_stub(tmp_path)),
    }
    with running(servers, tmp_path) as gateway:
        client = gateway.client()

        def timed_call() -> bool:
            began = time.monotonic()
            return client.call("add").text == "fine" and time.monotonic() - began < 2

        down = [lambda name=name: "error" in initialize(gateway, name) for name in ("dying", "missing", "gone")] * 5
        assert all(at_once(*down, *[timed_call] * 10))
        assert seen(gateway)["state"] == "up"


# --- addresses that do not answer ------------------------------------------------------------------------------------


class Moody(http.server.ThreadingHTTPServer):
    """Answers every request with a list of tools, under the status that a test likes; without one it speaks no HTTP."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), MoodyHandler)
        self.status: int | None = None
        self.tools: list[dict[str, object]] = []
        self.received = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"


class MoodyHandler(http.server.BaseHTTPRequestHandler):
    server: Moody
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.received += 1
        if self.server.status is None:
            self.wfile.write(b"no HTTP\r\n\r\n")
            self.close_connection = True
            return
        body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": {"tools": self.server.tools}}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def moody() -> Iterator[Moody]:
    with Moody() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(client: HttpGateway) -> Json:
    return client.request("logging/setLevel", {"level": "debug"}).message  # not repeated, as a ping would be


@pytest.mark.requirement("B7")
def test_an_address_that_keeps_failing_is_left_alone_tried_again_and_taken_back(moody: Moody, tmp_path: Path) -> None:
    with running({"up": {"url": moody.url}}, tmp_path, limits={"connection_failures": 3}) as gateway:
        client = gateway.client(opens=False)
        first = [ask(client)["error"] for _ in range(3)]
        assert ([error["code"] for error in first], moody.received) == ([-31001] * 3, 3)  # none was repeated
        refused = [ask(client)["error"] for _ in range(10)]
        assert all(RESTING.fullmatch(error["message"]) and error["code"] == -31001 for error in refused)
        assert (moody.received, seen(gateway)["state"], seen(gateway)["failures"]) == (3, "open", 3)

        def asks_until_one_arrives() -> bool:
            return bool(at_once(*[lambda: ask(client)] * 5)) and moody.received > 3

        eventually(asks_until_one_arrives, "a try")
        assert moody.received == 4  # one of five, and since it failed the wait is longer now
        assert float(re.findall(r"again in ([0-9.]+) s", ask(client)["error"]["message"])[0]) > 1
        moody.status = 200
        eventually(lambda: "result" in ask(client), "its recovery")
        assert all("result" in ask(client) for _ in range(5))
        assert (seen(gateway)["state"], seen(gateway)["failures"]) == ("up", 0)
    assert told(gateway) == ["server.failing", "server.open", "server.up"]


def test_a_server_that_is_not_there_refuses_listening_streams_as_well(tmp_path: Path) -> None:
    servers = {"up": {"url": f"http://127.0.0.1:{free_port()}/mcp"}}
    with running(servers, tmp_path, limits={"connection_failures": 1}) as gateway:
        got = [send(gateway.base, "GET", "/mcp/up") for _ in range(2)]
        assert [response.status for response in got] == [502, 502]
        assert [bool(RESTING.fullmatch(response.error["message"])) for response in got] == [False, True]


def test_a_server_that_hangs_up_on_one_tool_keeps_the_others(tmp_path: Path) -> None:
    stub = write_stub(
        tmp_path, tools=[tool("crash"), tool("add")], answers={"crash": answer("{}", "close"), "add": answer(TEXT)}
    )
    with (
        serving(stub, "http-json") as url,
        running({"up": {"url": url}}, tmp_path, limits={"connection_failures": 1}) as gateway,
    ):
        greedy, victim = gateway.client(), gateway.client()
        for _ in range(5):
            assert greedy.call("crash").message["error"]["code"] == -31001
            assert victim.call("add").text == "fine"
        assert seen(gateway)["failures"] == 0
        assert "closed the connection before it answered" in seen(gateway)["last_error"]


def test_slow_calls_and_errors_of_http_never_open_the_circuit(tmp_path: Path) -> None:
    limits = {"connection_failures": 1, "call_timeout_s": 0.3}
    with (
        serving(good_stub(tmp_path), "http-json") as url,
        running({"up": {"url": url}}, tmp_path, limits=limits) as gateway,
    ):
        client = gateway.client()
        assert [client.call("slow").message["error"]["code"] for _ in range(2)] == [-31002] * 2
        assert seen(gateway)["last_error"].endswith("did not answer in time. Check its load, or allow it longer.")
        assert [client.call("status").status for _ in range(2)] == [500] * 2
        assert client.call("add").text == "fine"
        shown = seen(gateway)
        assert (shown["state"], shown["failures"]) == ("up", 0)
        assert shown["last_error"] == "It answered with HTTP status 500."
    assert told(gateway) == ["server.up"]


# --- sessions that the server has lost -------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["http-json", "http-sse"])
def test_a_lost_session_is_the_clients_to_renew_and_costs_no_contract(tmp_path: Path, transport: str) -> None:
    tools = [tool("add", NUMBER), tool("other")]
    stub = write_stub(tmp_path, tools=tools, answers={"add": answer(TEXT), "other": answer(TEXT)})
    with (
        serving(stub, "http-json" if transport == "http-json" else "http-sse") as url,
        running({"up": {"url": url}}, tmp_path, input_validation={"mode": "strict"}) as gateway,
    ):
        client = gateway.client()
        assert client.call("add", {"n": "x"}).is_error
        lost = {"Mcp-Session-Id": str(client.session)}
        assert send(url.removesuffix("/mcp"), "DELETE", "/mcp", headers=lost).status == 204
        assert [client.request("ping").status, client.call("other").status] == [404, 404]
        # Each asks for the list in the lost session, learns nothing from the refusal, and is told to open another one.
        asked = stub.journal.methods().count("tools/list")
        unheard_of = client.call("unheard-of")
        assert (unheard_of.status, unheard_of.text) == (404, LIST_UNAVAILABLE.message)
        assert client.call("add", {"n": "x"}).status == 404
        assert stub.journal.methods().count("tools/list") == asked + 2
        assert "tools/call" not in stub.journal.methods()
        renewed = gateway.client()
        assert (renewed.call("add", {"n": "x"}).is_error, renewed.call("add", {"n": 1}).text) == (True, "fine")
        assert seen(gateway)["state"] == "up"
    changes = [record.rule for record in read_records(gateway.state, type="contract_change")]
    assert changes == ["contract.added"] * 2


def test_a_refusal_is_no_list_without_tools_whatever_its_body_says(moody: Moody, tmp_path: Path) -> None:
    moody.status, moody.tools = 200, [tool("add")]
    with running({"up": {"url": moody.url}}, tmp_path) as gateway:
        client = gateway.client(opens=False)
        assert client.list_tools() == [tool("add")]
        moody.status, moody.tools = 404, []
        client.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        eventually(lambda: moody.received == 3, "handfast's own question for the list")
        client.call("unheard-of")  # it waits for that answer
    assert [record.rule for record in read_records(gateway.state, type="contract_change")] == ["contract.added"]


VERSIONS = {"legacy": ["2025-11-25"], "modern": ["2026-07-28"]}


@pytest.mark.requirement("F12")
@pytest.mark.parametrize("place", ["up", "", "compact"])
@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy client", "modern client"])
@pytest.mark.parametrize("era", list(VERSIONS))
@pytest.mark.parametrize("transport", ["stdio", "http-json", "http-sse"])
def test_a_cancelled_call_does_not_mark_its_server_failing(
    tmp_path: Path, transport: str, era: str, is_modern: bool, place: str
) -> None:
    """Over HTTP the server ends the connection of a call that was cancelled, as it may."""
    faults = ("silence",) if transport == "stdio" else ("slow:0.5", "close")
    stub = write_stub(
        tmp_path,
        tools=[tool("add"), tool("slow")],
        answers={"add": answer(TEXT), "slow": answer(TEXT, *faults)},
        versions=VERSIONS[era],
    )
    block = {"handfast": {"surface": "compact"}} if place == "compact" else {}
    with contextlib.ExitStack() as stack:
        if transport == "stdio":
            entry = stdio(stub, **block)
        else:
            entry = {"url": stack.enter_context(serving(stub, transport)), **block}  # type: ignore[arg-type]  # one of its two
        gateway = stack.enter_context(running({"up": entry}, tmp_path))
        client = gateway.client(place or "up", is_modern=is_modern, opens=False)
        client.path = "/mcp" if place == "" else "/mcp/up"
        client.open()
        name, arguments = {"": ("up__slow", {}), "up": ("slow", {})}.get(place, ("up", {"action": "slow"}))
        meta = {"_meta": MODERN_META} if is_modern else {}
        open_call = OpenPost(client, call(77, name, arguments=arguments, **meta))
        stub.journal.wait_for(lambda journal: journal.calls("slow"))
        if is_modern:
            open_call.leave()
        else:
            client.post(notification("notifications/cancelled", requestId=77, reason="enough"))
        eventually(lambda: read_records(gateway.state, type="tool_call", tool="slow"), "the record")
        eventually(lambda: gateway.health()[1]["servers"]["up"]["in_progress"] == 0, "its end", seconds=5)
        report = gateway.health()[1]["servers"]["up"]
        assert (report["state"] in ("up", "idle"), report["last_error"], report["failures"]) == (True, "", 0)
        assert [record.status for record in read_records(gateway.state, type="tool_call", tool="slow")] == ["cancelled"]
        open_call.leave()
