"""What is sent a second time when a server breaks off, and what never is."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.contract import CompiledContract, ToolContract
from handfast.core.schema.compiled import SchemaBounds
from handfast.wire.methods import HARMLESS
from tests.contracts.rig import Json
from tests.gateway.running import (
    TEXT,
    Serving,
    call,
    meanwhile,
    one_record,
    pids,
    running,
    stdio,
)
from tests.stubs.run import Journal, Stub, answer, serving, tool, write_stub

FRAGILE = [answer("{}", "close"), answer('{"resources":[]}')]
ANSWERS = {
    "plain": answer(TEXT),
    "reads": [answer(TEXT, "close"), answer(TEXT)],
    "sets": [answer(TEXT, "close"), answer(TEXT)],
    "adds": [answer(TEXT, "close"), answer(TEXT)],
    "progresses": [answer(TEXT, "progress:1:0.01", "close"), answer(TEXT)],
    "mute": answer(TEXT, "silence"),
}
HINTS = {"reads": {"readOnlyHint": True}, "sets": {"idempotentHint": True}, "progresses": {"readOnlyHint": True}}
TOOLS = [{**tool(name), "annotations": HINTS.get(name, {"idempotentHint": False})} for name in ANSWERS]


def write(folder: Path) -> Stub:
    methods = {"resources/list": FRAGILE, "logging/setLevel": FRAGILE}
    return write_stub(folder, tools=TOOLS, answers=ANSWERS, methods=methods)


@contextmanager
def rigged(folder: Path, transport: str, **limits: Json) -> Iterator[tuple[Serving, Stub]]:
    """Over HTTP the server hangs up where over stdio it exits, and a new child begins its script anew.

    Without a bridge its first child is not asked for its era, so that it is the client's.
    """
    if transport == "http":
        stub = write(folder)
        with serving(stub, "http-json") as url, running({"up": {"url": url}}, folder, limits=limits) as gateway:
            yield gateway, stub
        return
    healthy = write_stub(
        folder, tools=TOOLS, answers=dict.fromkeys(ANSWERS, answer(TEXT)), methods={"resources/list": FRAGILE[1]}
    )
    healed = healthy.spec.rename(folder / "healed.json")
    stub = write(folder)
    script = f'f="{folder}/once"; s="{healed}"; [ -e "$f" ] || s="{stub.spec}"; touch "$f"; exec "$0" "$1" stdio "$s"'
    entry = {"command": "sh", "args": ["-c", script, *stub.command[:2]], "handfast": {"bridge": "off"}}
    with running({"up": entry}, folder, limits=limits) as gateway:
        yield gateway, stub


def asked(journal: Journal, method: str) -> int:
    return journal.methods().count(method)


BOTH = pytest.mark.parametrize("transport", ["http", "stdio"])
ERAS = pytest.mark.parametrize("is_modern", [True, False])


@BOTH
@ERAS
def test_a_request_that_changes_nothing_is_sent_once_more(tmp_path: Path, transport: str, is_modern: bool) -> None:
    with rigged(tmp_path, transport) as (gateway, stub):
        client = gateway.client(is_modern=is_modern)
        assert client.request("resources/list").result == {"resources": []}
        assert asked(stub.journal, "resources/list") == 2
        record = one_record(gateway.state, rule="request.repeated")
        assert (record.status, record.server) == ("warning", "up")
        assert client.call("plain").text == "fine"  # a legacy session moved to the new child with its request


@BOTH
def test_a_request_that_sets_something_is_not(tmp_path: Path, transport: str) -> None:
    with rigged(tmp_path, transport) as (gateway, stub):
        assert "error" in gateway.client().request("logging/setLevel", {"level": "debug"}).message
        assert asked(stub.journal, "logging/setLevel") == 1


@pytest.mark.requirement("B7")
@BOTH
@ERAS
@pytest.mark.parametrize("name", ["reads", "sets", "adds"])
def test_a_call_that_may_have_run_is_never_repeated_by_default(
    tmp_path: Path, transport: str, is_modern: bool, name: str
) -> None:
    with rigged(tmp_path, transport) as (gateway, stub):
        client = gateway.client(is_modern=is_modern)
        client.list_tools()
        assert client.call(name).message["error"]["code"] == -31001
        assert len(stub.journal.calls(name)) == 1
        assert "retries" not in one_record(gateway.state, type="tool_call", tool=name).details


@BOTH
@ERAS
@pytest.mark.parametrize(("name", "sent"), [("reads", 2), ("sets", 2), ("adds", 1)])
def test_where_it_is_allowed_a_tool_that_says_so_is_called_once_more(
    tmp_path: Path, transport: str, is_modern: bool, name: str, sent: int
) -> None:
    with rigged(tmp_path, transport, retry_idempotent=True) as (gateway, stub):
        client = gateway.client(is_modern=is_modern)
        client.list_tools()
        got = client.call(name)
        assert ("error" not in got.message, len(stub.journal.calls(name))) == (sent == 2, sent)
        record = one_record(gateway.state, type="tool_call", tool=name)
        assert (record.status == "success", record.details.get("retries")) == (sent == 2, 1 if sent == 2 else None)


def test_a_servers_own_word_on_repeating_wins(tmp_path: Path) -> None:
    stub = write(tmp_path)
    with serving(stub, "http-json") as url:
        entry = {"url": url, "handfast": {"retry_idempotent": False}}
        with running({"up": entry}, tmp_path, limits={"retry_idempotent": True}) as gateway:
            client = gateway.client()
            client.list_tools()
            assert client.call("reads").message["error"]["code"] == -31001
    assert len(stub.journal.calls("reads")) == 1


def test_a_call_of_which_something_was_heard_is_not_repeated(tmp_path: Path) -> None:
    with rigged(tmp_path, "stdio", retry_idempotent=True) as (gateway, stub):
        client = gateway.client(is_modern=False)
        client.list_tools()
        assert "error" in client.post(call(1, "progresses", _meta={"progressToken": 1})).message
        assert len(stub.journal.calls("progresses")) == 1


def test_a_server_that_breaks_off_again_is_asked_no_third_time(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, methods={"resources/list": answer("{}", "close")})
    with serving(stub, "http-json") as url, running({"up": {"url": url}}, tmp_path) as gateway:
        text = gateway.client().request("resources/list").text
        assert text.endswith("closed the connection before it answered, and again when asked once more.")
        shown = gateway.health()[1]["servers"]["up"]
        assert (shown["failures"], shown["last_error"]) == (0, text)
    assert asked(stub.journal, "resources/list") == 2


class Stammering(http.server.ThreadingHTTPServer):
    """Begins every answer and hangs up."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), StammeringHandler)
        self.received = 0


class StammeringHandler(http.server.BaseHTTPRequestHandler):
    server: Stammering

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received += 1
        self.wfile.write(b"HTTP/1.1 2")
        self.close_connection = True


def test_an_answer_that_has_begun_is_not_asked_for_again(tmp_path: Path) -> None:
    with Stammering() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
            with running({"up": {"url": url}}, tmp_path) as gateway:
                text = gateway.client(opens=False).request("ping").text
        finally:
            server.shutdown()
            thread.join()
    assert text.endswith("closed the connection before it answered. The request was not repeated, as it may have run.")
    assert server.received == 1


def test_a_server_that_is_left_alone_is_not_asked_again(tmp_path: Path) -> None:
    """The first failure opens the circuit where one is enough; the other request was under way by then."""
    methods = {"resources/list": answer("{}", "slow:0.3", "close"), "ping": answer("{}", "headers_injection")}
    stub = write_stub(tmp_path, methods=methods)
    limits = {"connection_failures": 1}
    with serving(stub, "http-json") as url, running({"up": {"url": url}}, tmp_path, limits=limits) as gateway:
        client = gateway.client()
        with meanwhile(lambda: client.request("resources/list").message) as answered:
            stub.journal.wait_for(lambda journal: asked(journal, "resources/list"))
            client.request("ping")
            assert "error" in answered.result(10)
    assert asked(stub.journal, "resources/list") == 1


@ERAS
def test_a_call_that_waited_while_its_child_died_goes_to_the_next_one(tmp_path: Path, is_modern: bool) -> None:
    """It was never sent, so that is safe for every call."""
    stub = write_stub(
        tmp_path, tools=TOOLS, answers={**ANSWERS, "adds": answer(TEXT), "quit": answer(TEXT, "slow:0.3", "exit:3")}
    )
    with running({"up": stdio(stub, handfast={"concurrent_calls": 1, "bridge": "off"})}, tmp_path) as gateway:
        client = gateway.client(is_modern=is_modern)
        client.list_tools()
        with meanwhile(lambda: client.call("quit").message["error"]["code"]) as quits:
            stub.journal.wait_for(lambda journal: journal.calls("quit"))
            assert client.call("adds").text == "fine"
            assert quits.result(10) == -31001
        # A legacy session has its next child by then, and what was sent to no child is not repeated.
        retries = one_record(gateway.state, type="tool_call", tool="adds").details.get("retries")
        assert retries == (1 if is_modern else None)
        assert (len(stub.journal.calls("adds")), len(pids(stub))) == (1, 2)


def test_a_request_to_a_child_of_its_own_is_not_repeated_and_its_session_goes_on(tmp_path: Path) -> None:
    with rigged(tmp_path, "stdio") as (gateway, stub):
        client = gateway.client(capabilities={"roots": {}})
        assert "error" in client.request("resources/list").message
        assert client.request("ping").result == {}
        assert asked(stub.journal, "resources/list") == 1


def test_a_refused_connection_is_tried_once_more_for_every_request(tmp_path: Path) -> None:
    """Nothing was sent, so it may be a call; the server is there again in the meantime or it is not."""
    with running({"up": {"url": "http://127.0.0.1:1/mcp"}}, tmp_path) as gateway:
        assert "refused the connection" in gateway.client(opens=False).post(call(1, "adds")).text
        record = one_record(gateway.state, type="tool_call", tool="adds")
        assert (record.status, record.details["retries"]) == ("error", 1)
        assert gateway.health()[1]["servers"]["up"]["failures"] <= 2  # the call's, and that of our own tools/list


@given(
    st.dictionaries(
        st.sampled_from(["readOnlyHint", "idempotentHint", "title"]), st.sampled_from([True, False, None, 1, "true"])
    )
)
def test_only_a_plain_true_is_a_tools_word(hints: dict[str, object]) -> None:
    contract = ToolContract("t", None, None, json.dumps(hints).encode())
    expected = any(hints.get(name) is True for name in ("readOnlyHint", "idempotentHint"))
    assert CompiledContract(contract, SchemaBounds()).is_repeatable is expected


@pytest.mark.parametrize("text", [None, b"[]", b"null", b'{"readOnlyHint":true,"readOnlyHint":true}', b"{"])
def test_hints_that_cannot_be_read_allow_nothing(text: bytes | None) -> None:
    assert CompiledContract(ToolContract("t", None, None, text), SchemaBounds()).is_repeatable is False


def test_nothing_that_changes_something_is_called_harmless() -> None:
    assert HARMLESS.isdisjoint({"tools/call", "initialize", "logging/setLevel", "resources/subscribe", "tasks/cancel"})
