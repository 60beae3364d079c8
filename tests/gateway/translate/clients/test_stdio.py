"""A client of either era on our stdin and stdout."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from tests.contracts.rig import MODERN_META
from tests.gateway.translate.clients.scripted import ELICITATION, SUBSCRIPTION, Json, text
from tests.parts import ROOT

COMMAND = [sys.executable, "-m", "tests.gateway.translate.clients.stdio_server"]
SECONDS = 20


class Line:
    """The client's end: messages in, messages out, one line each."""

    def __init__(self, process: "subprocess.Popen[bytes]", *, is_modern: bool) -> None:
        self.process = process
        self.is_modern = is_modern
        self._ids = count(1)
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def read_from_now_on(self) -> None:
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"null")

    def write(self, *messages: Json) -> None:
        """All of them in one piece."""
        assert self.process.stdin is not None
        lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in messages]
        self.process.stdin.write(b"\n".join(lines) + b"\n")
        self.process.stdin.flush()

    def next(self) -> Json:
        """The next message; None at the end."""
        return json.loads(self._lines.get(timeout=SECONDS))

    def request(self, method: str, *, request_id: object = None, **params: Json) -> Json:
        if self.is_modern:
            params["_meta"] = {**MODERN_META, **params.get("_meta", {})}
        return {"jsonrpc": "2.0", "id": request_id or next(self._ids), "method": method, "params": params}

    def call(self, tool: str, *, request_id: object = None, **arguments: Json) -> Json:
        return self.request("tools/call", request_id=request_id, name=tool, arguments=arguments)

    def open(self, **capabilities: Json) -> None:
        info = {"name": "line", "version": "1"}
        self.write(self.request("initialize", protocolVersion="2025-11-25", capabilities=capabilities, clientInfo=info))
        assert self.next()["result"]["protocolVersion"] == "2025-11-25"
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def end(self) -> Json:
        """Leave; what the other end says of itself then."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        said = self.process.stderr.read()
        assert self.process.wait(SECONDS) == 0
        report = json.loads(said.splitlines()[-1])
        assert report.pop("left") == 0
        return report


@contextmanager
def line(*, is_modern: bool = False, reads: bool = True, waiting_bytes: int | None = None) -> Iterator[Line]:
    command = COMMAND if waiting_bytes is None else [*COMMAND, str(waiting_bytes)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    found = Line(process, is_modern=is_modern)
    try:
        if reads:
            found.read_from_now_on()
        yield found
    finally:
        process.kill()
        process.wait(SECONDS)
        if reads:
            found._reader.join(SECONDS)
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            if not pipe.closed:
                pipe.close()


@pytest.fixture
def legacy() -> Iterator[Line]:
    with line() as found:
        yield found


@pytest.fixture
def modern() -> Iterator[Line]:
    with line(is_modern=True) as found:
        yield found


def cancelled(request_id: object) -> Json:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}


# --- the era ---------------------------------------------------------------------------------------------------------


def test_a_handshake_makes_it_legacy(legacy: Line) -> None:
    legacy.open(elicitation={})
    legacy.write(legacy.call("ask", rounds=[{"q": ELICITATION}], request_id="a"))
    question = legacy.next()
    assert question["method"] == "elicitation/create"
    legacy.write({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
    assert legacy.next() == {"jsonrpc": "2.0", "id": "a", "result": text([{"q": {"action": "decline"}}])}
    assert legacy.end() == {"cancelled": ["subscriptions/listen"], "diagnosed": []}


def test_a_revision_in_the_first_message_makes_it_modern(modern: Line) -> None:
    modern.write(modern.request("server/discover"), modern.call("ask", rounds=[{"q": ELICITATION}]))
    found = [modern.next()["result"] for _ in range(2)]
    assert [result["resultType"] for result in found] == ["complete", "input_required"]
    modern.write(
        cancelled(77), {"jsonrpc": "2.0", "id": 3, "result": {}}, {"jsonrpc": "2.0", "method": "notifications/x"}
    )
    assert modern.end() == {"cancelled": [], "diagnosed": ["message.unpaired"]}


def test_a_modern_line_has_the_rules_of_its_revision(modern: Line) -> None:
    version = "io.modelcontextprotocol/protocolVersion"
    modern.write(
        modern.request("ping"),
        modern.request("tools/list", _meta={version: "2027-01-01"}),
        {"jsonrpc": "2.0", "id": 9, "method": "tools/list"},
    )
    found = {answer["id"]: answer["error"] for answer in (modern.next() for _ in range(3))}
    assert {number: error["code"] for number, error in found.items()} == {1: -32601, 2: -32022, 9: -32602}
    assert found[2]["data"] == {"supported": ["2026-07-28"], "requested": "2027-01-01"}


def test_a_client_that_tried_the_modern_way_may_still_shake_hands(modern: Line) -> None:
    modern.write(modern.request("server/discover"))
    assert modern.next()["result"]["supportedVersions"] == ["2026-07-28"]
    modern.is_modern = False
    modern.open()
    modern.write(modern.call("echo", a=1, request_id=5))
    assert modern.next() == {"jsonrpc": "2.0", "id": 5, "result": text({"a": 1})}


def test_whoever_says_neither_is_told_to_begin(legacy: Line) -> None:
    legacy.write(legacy.request("ping"), legacy.request("tools/list"))
    assert legacy.next()["result"] == {}
    assert legacy.next()["error"]["message"] == "There was no initialize yet. Send it first."


# --- requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_modern", [False, True])
def test_many_requests_at_once_each_get_their_answer(is_modern: bool) -> None:
    with line(is_modern=is_modern) as found:
        if not is_modern:
            found.open()
        found.write(*(found.call("echo", n=number, request_id=f"r{number}") for number in range(500)))
        answers = {answer["id"]: answer["result"]["content"] for answer in (found.next() for _ in range(500))}
        assert answers == {f"r{number}": text({"n": number})["content"] for number in range(500)}


@pytest.mark.parametrize("is_modern", [False, True])
def test_a_request_is_cancelled_even_by_the_very_next_line(is_modern: bool) -> None:
    with line(is_modern=is_modern) as found:
        if not is_modern:
            found.open()
        found.write(found.call("hang", request_id="h"), cancelled("h"), found.call("hang", say=1, request_id="i"))
        assert found.next()["params"]["data"] == 0
        found.write(cancelled("i"), found.call("echo", request_id="e"))
        assert found.next()["id"] == "e"
        report = found.end()
        assert report["cancelled"].count("hang") == 1  # the first was over before it began


@pytest.mark.parametrize("is_modern", [False, True])
def test_ids_are_used_once_at_a_time_and_bounded_in_number(is_modern: bool) -> None:
    with line(is_modern=is_modern) as found:
        if not is_modern:
            found.open()
        found.write(*(found.call("hang", request_id=f"h{number}") for number in range(1000)))
        found.write(found.call("echo", request_id="h0"), found.call("echo", request_id="more"))
        answers = [found.next(), found.next()]
        assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [("h0", -32600), ("more", -31001)]


def test_progress_and_log_come_before_the_answer(legacy: Line) -> None:
    legacy.open()
    legacy.write(legacy.request("logging/setLevel", level="info", request_id="l"))
    assert legacy.next()["id"] == "l"
    params = {"name": "report", "arguments": {}, "_meta": {"progressToken": "t"}}
    legacy.write({"jsonrpc": "2.0", "id": "r", "method": "tools/call", "params": params})
    assert [legacy.next().get("method") for _ in range(3)] == ["notifications/progress", "notifications/message", None]


def test_a_modern_subscription_ends_when_it_is_cancelled(modern: Line) -> None:
    wanted = {"toolsListChanged": True}
    modern.write(modern.request("subscriptions/listen", request_id="s", notifications=wanted))
    assert modern.next()["params"] == {"notifications": wanted, "_meta": {SUBSCRIPTION: "s"}}
    modern.write(modern.call("touch", request_id="t"))
    assert [modern.next().get("method"), modern.next().get("id")] == ["notifications/tools/list_changed", "t"]
    modern.write(cancelled("s"), modern.call("touch", request_id="t"))
    assert modern.next()["result"] == {"resultType": "complete", **text(0)}
    assert modern.end()["cancelled"] == ["subscriptions/listen"]


def test_what_a_legacy_client_subscribes_to_comes_on_the_same_line(legacy: Line) -> None:
    legacy.open()
    legacy.write(legacy.request("resources/subscribe", uri="a:1", request_id="s"))
    assert legacy.next() == {"jsonrpc": "2.0", "id": "s", "result": {}}
    legacy.write(legacy.call("touch", request_id="t"))
    seen = []
    while (message := legacy.next()).get("id") != "t":
        seen.append(message)
    assert {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "a:1"}} in seen


def test_what_is_no_message_is_answered_and_the_rest_goes_on(legacy: Line) -> None:
    legacy.write(b"{", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', b"x" * (1024 * 1024 + 1))
    assert [legacy.next()["error"]["code"] for _ in range(3)] == [-32700, -32600, -31004]
    legacy.open()


# --- the end ---------------------------------------------------------------------------------------------------------


def test_what_was_asked_before_the_client_left_is_answered(legacy: Line) -> None:
    legacy.open(elicitation={})
    legacy.write(
        legacy.call("ask", rounds=[None, None], request_id="a"), legacy.call("ask", rounds=[{"q": ELICITATION}])
    )
    assert legacy.next()["method"] == "elicitation/create"
    assert legacy.end()["cancelled"] == ["subscriptions/listen"]
    found = {message.get("id", message.get("method")): message for message in iter(legacy.next, None)}
    assert found["a"]["result"] == text([None, None])
    assert found[2]["error"]["message"] == "The client left before it answered what the server asked for."


def test_a_modern_subscription_does_not_keep_a_line_open_that_nobody_writes_to(modern: Line) -> None:
    modern.write(modern.request("subscriptions/listen", notifications={"toolsListChanged": True}))
    modern.next()
    assert modern.end()["cancelled"] == ["subscriptions/listen"]
    assert modern.next() is None


def test_a_client_that_stops_reading_for_good_cancels_everything() -> None:
    with line(is_modern=True, reads=False) as found:
        assert found.process.stdout is not None
        found.write(found.call("hang", say=1))
        assert b"notifications/message" in found.process.stdout.readline()
        found.process.stdout.close()
        assert found.end() == {"cancelled": ["hang"], "diagnosed": []}


def test_what_nobody_will_read_is_not_waited_for() -> None:
    with line(is_modern=True, reads=False) as found:
        assert found.process.stdout is not None
        assert found.process.stdin is not None
        found.write(found.call("hang", say=1))
        assert b"notifications/message" in found.process.stdout.readline()
        found.process.stdin.close()
        found.process.stdout.close()
        assert found.end() == {"cancelled": ["hang"], "diagnosed": []}


@pytest.mark.parametrize("is_modern", [False, True])
def test_a_client_that_does_not_read_loses_its_request_and_nothing_grows(is_modern: bool) -> None:
    with line(is_modern=is_modern, reads=False, waiting_bytes=1_000_000) as found:
        if not is_modern:
            info = {"protocolVersion": "2025-11-25", "capabilities": {}}
            found.write({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info})
        found.write(found.call("flood", request_id="f"))
        assert found.process.stderr is not None
        assert found.process.stderr.readline() == b"cancelled flood\n"  # though nobody has read anything
        found.read_from_now_on()
        messages = []
        while (message := found.next()).get("id") != "f":
            messages.append(message)
        assert message["error"]["code"] == -32603
        assert len(messages) < 40
        assert "flood" in found.end()["cancelled"]
        found._reader.join(SECONDS)
