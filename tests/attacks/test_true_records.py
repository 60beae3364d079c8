"""One true record and one true text: for calls whose server is restarted, whose store is stuck, whose client leaves."""

import http.client
import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import pytest

from handfast.core.call.exchange import RAN_UNRECORDED
from handfast.gateway.calls.judged_calls import LEFT
from handfast.gateway.servers import RESTARTED, STOPPED
from handfast.wire.codes import RECORDING_FAILED
from tests.contracts.rig import MODERN_META, HttpGateway, Json, Route, rig
from tests.gateway.running import (
    OpenPost,
    Serving,
    call,
    eventually,
    is_running,
    meanwhile,
    one_record,
    pids,
    read_records,
    running,
    stdio,
    wrapping,
)
from tests.gateway.translate.servers.asking import LEGACY, MODERN, PREFIX, WAYS, Way, entry_for
from tests.stubs.run import Stub, answer, tool, write_stub
from tests.test_nothing_is_lost import locked

FINE = {"content": [{"type": "text", "text": "fine"}]}
INFO = {"name": "stub", "version": "1"}
GREETING = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO}
DISCOVERY = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "serverInfo": INFO,
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}
UNKNOWN = {"code": -32601, "message": "there is no such method"}


OWN: Json = {"compact": {"surface": "compact"}, "own": {"isolation": "session"}}
ERAS = ["legacy", "modern", "legacy-to-modern", "modern-to-legacy"]


@dataclass(frozen=True, slots=True)
class Slow:
    """A gateway with a call under way in its server."""

    gateway: Serving
    entry: Json  # of the server
    client: HttpGateway
    text: "Future[str]"  # what the call will get


@contextmanager
def calling_slow(folder: Path, front: str, way: Way, eras: str, **limits: Json) -> Iterator[Slow]:
    client_era, _, server_era = eras.partition("-to-")
    versions = MODERN if (server_era or client_era) == "modern" else LEGACY
    stub = write_stub(folder, tools=[tool("slow")], answers={"slow": answer(FINE, "slow:20")}, versions=versions)
    with ExitStack() as stack:
        entry = stack.enter_context(entry_for(stub, way))
        entry["handfast"] = OWN.get(front, {})
        limits["drain_timeout_s"] = 0.1
        gateway = stack.enter_context(running({"up": entry}, folder, limits=limits))
        client = gateway.client(is_modern=client_era == "modern", opens=False)
        client.path = "/mcp" if front == "all" else "/mcp/up"
        client.open()
        text = stack.enter_context(meanwhile(partial(call_slow, client, front)))
        stub.journal.wait_for(lambda journal: journal.calls("slow"))
        stack.callback(gateway.process.kill)  # before the call is waited for
        yield Slow(gateway, entry, client, text)


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("eras", ERAS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("front", ["server", "all", "compact", "own"])
def test_a_call_whose_server_is_restarted_by_new_settings_says_so(
    tmp_path: Path, front: str, way: Way, eras: str
) -> None:
    with calling_slow(tmp_path, front, way, eras) as slow:
        gateway, entry = slow.gateway, slow.entry
        changed = {"env": {"CHANGED": "1"}} if way == "stdio" else {"headers": {"X-Changed": "1"}}
        gateway.write_settings({"mcpServers": {"up": entry | changed}})
        assert slow.text.result(20).removeprefix("up: ") == RESTARTED
        record = one_record(gateway.state, type="tool_call", tool="slow")
        assert (record.status.value, record.rule, record.reason) == ("error", "upstream.failed", RESTARTED)


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("eras", ERAS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("front", ["server", "all", "compact", "own"])
def test_a_call_that_a_gateway_stops_in_the_middle_of_says_so(tmp_path: Path, front: str, way: Way, eras: str) -> None:
    """Nobody cancelled it, and to send it again may run it twice."""
    with calling_slow(tmp_path, front, way, eras) as slow:
        gateway = slow.gateway
        gateway.process.terminate()
        assert slow.text.result(20).removeprefix("up: ") == STOPPED
        assert gateway.process.wait(10) == 0
        record = one_record(gateway.state, type="tool_call", tool="slow")
        assert (record.status.value, record.rule, record.reason) == ("error", "upstream.failed", STOPPED)
        assert not any(b"Traceback" in line for line in gateway.errors)


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("eras", ["modern", "modern-to-legacy"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("front", ["server", "all", "compact", "own"])
def test_a_call_whose_server_still_starts_when_the_gateway_stops_says_what_its_record_says(
    tmp_path: Path, front: str, way: Way, eras: str
) -> None:
    is_modern = eras == "modern"
    late = {"initialize": answer(GREETING, "slow:20"), "server/discover": answer(None, error=UNKNOWN)}
    if is_modern:
        late = {"server/discover": answer(DISCOVERY, "slow:20")}
    stub = write_stub(tmp_path, tools=[tool("slow")], methods=late, versions=MODERN if is_modern else LEGACY)
    limits = {"drain_timeout_s": 0.1}
    with ExitStack() as stack:
        entry = stack.enter_context(entry_for(stub, way)) | {"handfast": OWN.get(front, {})}
        gateway = stack.enter_context(running({"up": entry}, tmp_path, leaves_calls=True, limits=limits))
        client = gateway.client(is_modern=True, opens=False)
        client.path = "/mcp" if front == "all" else "/mcp/up"
        found = stack.enter_context(meanwhile(partial(call_slow, client, front)))
        stub.journal.wait_for(lambda journal: ("server/discover" if is_modern else "initialize") in journal.methods())
        gateway.process.terminate()
        text = found.result(20).removeprefix("up: ")
        assert gateway.process.wait(10) == 0
        record = one_record(gateway.state, type="tool_call")
        assert (record.status.value, record.rule, record.reason) == ("error", "upstream.failed", text)
    assert stub.journal.calls("slow") == []


def call_slow(client: HttpGateway, front: str) -> str:
    if front == "compact":
        return client.call("up", {"action": "slow", "arguments": {}}).text
    return client.call("up__slow" if front == "all" else "slow").text


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("eras", ["modern", "modern-to-legacy"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("front", ["server", "all", "compact"])
def test_a_call_whose_client_leaves_while_its_server_starts_is_on_record_and_never_runs(
    tmp_path: Path, front: str, way: Way, eras: str
) -> None:
    """A server that takes long to answer the first thing that it is asked is one that starts."""
    is_modern = eras == "modern"
    late = {"initialize": answer(GREETING, "slow:1"), "server/discover": answer(None, "slow:1", error=UNKNOWN)}
    if is_modern:
        late = {"server/discover": answer(DISCOVERY, "slow:1.5")}
    stub = write_stub(
        tmp_path,
        tools=[tool("slow")],
        answers={"slow": answer(FINE)},
        methods=late,
        versions=MODERN if is_modern else LEGACY,
    )
    own = {"surface": "compact"} if front == "compact" else {}
    with entry_for(stub, way) as entry, running({"up": entry | {"handfast": own}}, tmp_path) as gateway:
        client = gateway.client(is_modern=True)
        client.path = "/mcp" if front == "all" else "/mcp/up"
        leave_early(client, front)
        stub.journal.wait_for(lambda journal: "server/discover" in journal.methods())
        record = one_record(gateway.state, type="tool_call")
        assert (record.status.value, record.rule, record.reason) == ("cancelled", "client.left", LEFT)
        assert client.list_tools()  # it has started, and a call that were still to come would come before this
    assert stub.journal.calls("slow") == []


@pytest.mark.requirement("F11")
@pytest.mark.parametrize(("versions", "first"), [(MODERN, "server/discover"), (LEGACY, "initialize")])
def test_a_call_whose_client_leaves_while_its_own_process_starts_never_runs(
    tmp_path: Path, versions: list[str], first: str
) -> None:
    known: Json = {"tools": [tool("slow")], "answers": {"slow": answer(FINE)}, "versions": versions}
    late = answer(DISCOVERY if versions is MODERN else GREETING, "slow:1.5")
    stub = write_stub(tmp_path, **known)
    with entry_for(stub, "stdio") as entry, running({"up": entry}, tmp_path) as gateway:
        client = gateway.client(is_modern=True)
        assert client.list_tools()
        started = len(stub.journal.events("started"))
        write_stub(tmp_path, **known, methods={first: late})
        leave_early(client, "server", level="debug")
        stub.journal.wait_for(lambda journal: len(journal.events("started")) > started)
        record = one_record(gateway.state, type="tool_call")
        assert (record.status.value, record.rule, record.reason) == ("cancelled", "client.left", LEFT)
        assert client.call("slow").text == "fine"
    assert len(stub.journal.calls("slow")) == 1


def leave_early(client: HttpGateway, front: str, *, level: str = "") -> None:
    """Send a call, and close the connection while the server is being started."""
    name = "up" if front == "compact" else "up__slow" if front == "all" else "slow"
    arguments: Json = {"action": "slow", "arguments": {}} if front == "compact" else {}
    message = client.render("tools/call", {"name": name, "arguments": arguments})
    if level:
        message["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = level
    body = json.dumps(message).encode()
    address = urlsplit(client.base)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=0.5)
    connection.request("POST", client.path, body, client.headers(body))
    try:
        with pytest.raises(TimeoutError):
            connection.getresponse()
    finally:
        connection.close()


@pytest.mark.requirement("F11")
@pytest.mark.requirement("P4")
@pytest.mark.parametrize("place", ["wrap", "stdio", "http-json", "http-sse", "all", "compact"])
def test_a_call_that_ran_while_its_record_could_not_be_written_says_so(tmp_path: Path, place: str) -> None:
    """A decision is on disk before its answer leaves; `Try again later` would run the tool a second time."""
    number = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    wrong = {"content": [], "structuredContent": {"n": "one"}}
    stub = write_stub(tmp_path, tools=[tool("warned", None, number)], answers={"warned": answer(wrong)})
    route: Route = "stdio" if place in ("all", "compact") else cast("Route", place)
    own = {"surface": "compact"} if place == "compact" else {}
    with rig(route, stub, tmp_path, server=own) as gateway:
        if place == "all" and isinstance(gateway, HttpGateway):
            gateway = HttpGateway(gateway.base, gateway.state, is_modern=False)
            gateway.path = "/mcp"
            gateway.open()
        gateway.list_tools()
        name = {"all": "up__warned", "compact": "up"}.get(place, "warned")
        arguments: Json = {"action": "warned", "arguments": {}} if place == "compact" else {}
        with locked(gateway.state):
            error = gateway.call(name, arguments).message["error"]
    assert (error["code"], error["message"].removeprefix("up: ")) == (RECORDING_FAILED, RAN_UNRECORDED)
    assert len(stub.journal.calls("warned")) == 1


@pytest.mark.requirement("F9")
@pytest.mark.parametrize("eras", ERAS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("front", ["server", "all", "compact", "own"])
def test_a_call_over_the_limit_of_calls_in_progress_is_on_record(
    tmp_path: Path, front: str, way: Way, eras: str
) -> None:
    with calling_slow(tmp_path, front, way, eras, concurrent_calls=1) as slow:
        gateway = slow.gateway
        other = gateway.client(is_modern=eras.startswith("modern"), opens=False)
        other.path = "/mcp" if front == "all" else "/mcp/up"
        other.open()
        text = call_slow(other, front).removeprefix("up: ")
        assert text == "The gateway has 1 calls in progress, which is its limit. Try again in a moment."
        record = one_record(gateway.state, type="tool_call")
        found = (record.server, record.tool, record.status.value, record.rule, record.reason)
        assert found == ("up", "slow", "error", "calls.full", text)


@pytest.mark.requirement("F9")
@pytest.mark.parametrize("eras", ["legacy", "legacy-to-modern"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("front", ["server", "all", "compact", "own"])
def test_a_call_whose_id_is_in_use_is_on_record(tmp_path: Path, front: str, way: Way, eras: str) -> None:
    with calling_slow(tmp_path, front, way, eras) as slow:
        name = {"all": "up__slow", "compact": "up"}.get(front, "slow")
        error = slow.client.post(call(slow.client.next_id() - 1, name)).message["error"]
        assert error["code"] == -32600
        record = one_record(slow.gateway.state, type="tool_call")
        found = (record.tool, record.status.value, record.rule, record.reason)
        assert found == (name, "error", "message.id_in_use", error["message"])


@pytest.mark.requirement("F9")
@pytest.mark.parametrize("versions", [LEGACY, MODERN])
def test_a_call_through_wrap_whose_id_is_in_use_is_on_record(tmp_path: Path, versions: list[str]) -> None:
    stub = write_stub(tmp_path, tools=[tool("slow")], answers={"slow": answer(FINE, "slow:20")}, versions=versions)
    with wrapping(stub.command, tmp_path) as client:
        client.send(call("same", "slow"))
        stub.journal.wait_for(lambda journal: journal.calls("slow"))
        error = client.exchange(call("same", "slow")).message["error"]
        record = one_record(client.state, type="tool_call")
        found = (record.server, record.status.value, record.rule, record.reason)
        assert found == ("up", "error", "message.id_in_use", error["message"])


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("is_modern", [True, False])
def test_a_call_whose_server_dies_while_it_waits_for_its_client_says_so(tmp_path: Path, is_modern: bool) -> None:
    """Its client answers in vain, and reads why; that it handed back something foreign would be untrue."""
    stub = write_stub(tmp_path, tools=[tool("ask")], answers={"ask": answer(FINE, "server_request")}, versions=LEGACY)
    asks: Json = {"elicitation": {}}
    accept = {"action": "accept", "content": {}}
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        client = gateway.client(is_modern=is_modern, opens=False)
        client.path = "/mcp"
        client.open(asks)
        if is_modern:
            meta = {**MODERN_META, PREFIX + "clientCapabilities": asks}
            asked = client.post(call(1, "up__ask", _meta=meta)).result
            end_all(gateway, stub)
            handed_back = {
                "requestState": asked["requestState"],
                "inputResponses": {next(iter(asked["inputRequests"])): accept},
            }
            found = client.post(call(2, "up__ask", _meta=meta, **handed_back)).message
        else:
            stream = OpenPost(client, call(1, "up__ask"))
            question = stream.next_event()
            end_all(gateway, stub)
            client.send(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": accept}).encode())
            found = stream.next_event()
            stream.leave()
        text = "The server ended while the call waited for its client, so it has no result. Repeat it if that is safe."
        assert found["error"] == {"code": -31001, "message": f"up: {text}"}
        record = one_record(gateway.state, type="tool_call", rule="upstream.failed")
        assert (record.status.value, record.reason) == ("error", text)
        assert read_records(gateway.state, rule="access.foreign") == []


def end_all(gateway: Serving, stub: Stub) -> None:
    """Kills the server, however many processes it is by now."""
    started = pids(stub)
    for pid in started:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: len(read_records(gateway.state, rule="server.exited")) == len(started), "the ends on record")
