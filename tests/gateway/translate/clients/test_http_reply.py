"""One POST in front of a Backend: its answer, plain or as a stream, and what comes before, bounded."""

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.contracts.rig import MODERN_META
from tests.gateway.http.test_event_stream import Event, Stream, said
from tests.gateway.running import OpenPost, call, eventually
from tests.gateway.translate.clients.fronted import Fronted, fronted, modern_request
from tests.gateway.translate.clients.scripted import Call, Json, ScriptedServer, text


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Fronted]:
    with fronted(ScriptedServer(), tmp_path) as found:
        yield found


def send_call(running: Fronted, tool: str, **arguments: int) -> socket.socket:
    """A call whose answer is read only if the test does."""
    address = urlsplit(running.base)
    body = modern_request(1, "tools/call", {"name": tool, "arguments": arguments})
    head = [
        "POST /mcp/modern HTTP/1.1",
        f"Host: {address.netloc}",
        "Content-Type: application/json",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        f"Mcp-Name: {tool}",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    connection = socket.create_connection((address.hostname, address.port), timeout=20)
    connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    return connection


def test_an_answer_alone_is_plain_json(running: Fronted) -> None:
    client = running.client("modern")
    answer = client.call("echo", {"a": 1})
    assert (answer.status, answer.message) == (
        200,
        {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", **text({"a": 1})}},
    )
    (seen,) = running.server.seen
    assert (seen.meta, len(seen.caller), seen.actor) == (MODERN_META, 64, ""), "told apart without having signed in"


def test_what_comes_before_the_answer_makes_a_stream(running: Fronted) -> None:
    client = running.client("modern")
    opened = OpenPost(client, call("x", "report", _meta={**MODERN_META, "progressToken": "t"}))
    assert [opened.next_event(), opened.next_event(), opened.next_event()] == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "t", "progress": 1, "total": 2},
        },
        {"jsonrpc": "2.0", "id": "x", "result": {"resultType": "complete", **text(None)}},
        None,
    ]
    opened.leave()


def test_a_client_that_does_not_read_loses_its_request_and_nothing_grows(running: Fronted) -> None:
    with send_call(running, "flood") as connection:
        eventually(lambda: running.server.cancelled == ["flood"], "the flood stopped", seconds=30)
        with connection.makefile("rb") as answer:
            last = [line for line in answer if line.startswith(b"data:")][-1]
    error = json.loads(last[5:])["error"]
    said = "The client reads more slowly than messages come, so its request was cancelled. Read them as they come."
    assert error == {"code": -32603, "message": said}


class Waiting:
    """A tool that says nothing until it is let go."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()

    async def __call__(self, _server: ScriptedServer, _call: Call) -> Json:
        await self.may_end.wait()
        return text("at last")


AT_LAST = {"jsonrpc": "2.0", "id": 1, "result": text("at last")}


@pytest.mark.requirement("P3")
def test_a_legacy_client_that_leaves_a_silent_call_comes_back_for_the_answer(tmp_path: Path) -> None:
    waiting = Waiting()
    with fronted(ScriptedServer({"wait": waiting}), tmp_path) as running:
        client = running.client("legacy")
        stream = Stream(client, call(1, "wait"))
        primed = stream.next()
        assert primed is not None
        assert primed == Event(primed.id, None, "1000")
        stream.leave()
        running.on_loop(waiting.may_end.set)
        assert said(Stream(client, after=primed.id).rest()) == [AT_LAST]


@pytest.mark.parametrize(
    "of", [{"revision": "2025-06-18"}, {"accept": "application/json"}], ids=["an older client", "one without streams"]
)
def test_a_client_without_a_use_for_it_gets_no_stream_for_a_silent_call(tmp_path: Path, of: dict[str, str]) -> None:
    waiting = Waiting()
    with fronted(ScriptedServer({"wait": waiting}), tmp_path) as running:
        client = running.client("legacy")
        stream, witness = Stream(client, call(1, "wait"), **of), Stream(client, call(2, "wait"))
        assert witness.next() is not None  # by now a stream would have been opened
        running.on_loop(waiting.may_end.set)
        assert stream.plain() == ("application/json", AT_LAST)
        assert said(witness.rest()) == [{**AT_LAST, "id": 2}]
