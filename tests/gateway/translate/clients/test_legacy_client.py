"""A client of the handshake's revisions in front of a modern server, whatever carries its messages."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

import pytest

from handfast.core.call.caller import Caller
from handfast.gateway.translate.clients.legacy_client import LegacyClient
from handfast.wire.message import read_message
from tests.contracts.rig import Json
from tests.gateway.translate.clients.scripted import (
    CAPABILITIES,
    DISCOVERY,
    ELICITATION,
    LOG_LEVEL,
    ROOTS,
    SAMPLING,
    Call,
    ScriptedServer,
    text,
)

INFO = {"name": "c", "version": "1"}


class Peer:
    """The client's end of it: what it sends, and everything that it is sent, in order."""

    def __init__(self, server: ScriptedServer) -> None:
        self.server = server
        self.sent: list[Json] = []  # to the client, whichever way
        self.diagnosed: list[str] = []
        self.client = LegacyClient(
            server,
            lambda raw: self.sent.append(json.loads(raw)),
            caller=Caller(actor="ada", session="s"),
            diagnose=lambda rule, _reason: self.diagnosed.append(rule),
        )
        self._ids = count(1)
        self.answers: Callable[[Json], Json] = lambda _question: None

    async def request(self, method: str, params: Json = None, *, request_id: object = None) -> Json:
        message: Json = {"jsonrpc": "2.0", "id": request_id or next(self._ids), "method": method}
        if params is not None:
            message["params"] = params
        answer = await self.client.request(read_message(json.dumps(message).encode()), self._hear)
        return None if answer is None else json.loads(answer)

    def notify(self, method: str, params: Json = None) -> None:
        self.client.take(
            read_message(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode())
        )

    def reply(self, question: Json, members: Json) -> None:
        self.client.take(read_message(json.dumps({"jsonrpc": "2.0", "id": question["id"], **members}).encode()))

    def _hear(self, raw: bytes) -> None:
        message = json.loads(raw)
        self.sent.append(message)
        found = self.answers(message) if "id" in message else None
        if found is not None:
            asyncio.get_running_loop().call_soon(self.reply, message, found)

    async def open(self, version: str = "2025-11-25", **capabilities: Json) -> Json:
        params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": INFO}
        found = await self.request("initialize", params)
        self.notify("notifications/initialized")
        return found

    async def call(self, tool: str, arguments: Json = None, **more: Json) -> Json:
        request_id = more.pop("request_id", None)
        return await self.request(
            "tools/call", {"name": tool, "arguments": arguments or {}, **more}, request_id=request_id
        )

    async def until(self, look: Callable[[], Json]) -> None:
        async with asyncio.timeout(10):
            while not look():  # noqa: ASYNC110 - a matter of a few turns of the loop
                await asyncio.sleep(0.001)


def run(
    work: Callable[[Peer], Coroutine[Any, Any, None]], server: ScriptedServer | None = None
) -> None:  # Any: send types
    async def whole() -> None:
        peer = Peer(server or ScriptedServer())
        await work(peer)
        peer.client.close()
        await peer.until(lambda: len(asyncio.all_tasks()) == 1)
        assert not peer.client.is_busy

    asyncio.run(whole())


# --- the handshake ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        (None, "2025-11-25"),
    ],
)
def test_initialize_is_answered_out_of_what_the_server_says_of_itself(asked: Json, spoken: str) -> None:
    async def work(peer: Peer) -> None:
        assert await peer.open(asked, roots={"listChanged": True}, tasks={}) == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "protocolVersion": spoken,
                "capabilities": {name: DISCOVERY["capabilities"][name] for name in ("tools", "resources", "logging")},  # type: ignore[index]  # JSON
                "serverInfo": {"name": "scripted", "version": "7"},
                "instructions": "Be kind.",
            },
        }
        (seen,) = peer.server.asked("server/discover")
        assert (seen.caller, seen.actor, seen.params) == (
            "session s",
            "ada",
            {
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    CAPABILITIES: {"roots": {"listChanged": True}},
                    "io.modelcontextprotocol/clientInfo": INFO,
                }
            },
        )

    run(work)


def test_a_server_that_does_not_greet_may_be_asked_again() -> None:
    async def work(peer: Peer) -> None:
        peer.server.discovery = {"error": {"code": -32021, "message": "down"}}
        assert (await peer.open())["error"] == {"code": -32600, "message": "down"}
        assert (await peer.call("echo"))["error"]["message"] == "There was no initialize yet. Send it first."
        peer.server.discovery = DISCOVERY
        assert "result" in await peer.open()
        assert (await peer.open())["error"]["code"] == -32600

    run(work)


def test_an_answer_to_the_greeting_that_cannot_be_used_is_said_so() -> None:
    async def work(peer: Peer) -> None:
        peer.server.discovery = b'{"jsonrpc":"2.0","id":ID,"result":1}'
        assert (await peer.open())["error"] == {"code": -31001, "message": "The server's answer was not usable."}

    run(work)


def test_a_client_that_does_not_wait_for_the_greeting_is_answered_after_it() -> None:
    async def work(peer: Peer) -> None:
        peer.server.may_greet.clear()
        opening = asyncio.create_task(peer.open())
        calling = asyncio.create_task(peer.call("echo", {"a": 1}))
        assert (await peer.request("ping"))["result"] == {}
        assert [seen.method for seen in peer.server.seen] == ["server/discover"]
        peer.server.may_greet.set()
        assert ("result" in await opening, (await calling)["result"]) == (True, text({"a": 1}))

    run(work)


def test_only_a_ping_comes_before_initialize() -> None:
    async def work(peer: Peer) -> None:
        assert (await peer.request("ping"))["result"] == {}
        assert (await peer.request("tools/list"))["error"]["code"] == -32600
        assert peer.server.seen == []

    run(work)


def test_capabilities_that_cannot_be_read_are_refused() -> None:
    async def work(peer: Peer) -> None:
        found = await peer.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": []})
        assert found["error"] == {"code": -32602, "message": "The capabilities of the client cannot be read."}

    run(work)


# --- requests --------------------------------------------------------------------------------------------------------


def test_a_request_says_in_every_message_what_the_client_said_once() -> None:
    async def work(peer: Peer) -> None:
        await peer.open(elicitation={}, sampling={"tools": {}}, experimental={"x": {}}, tasks={}, extensions={"y": {}})
        answer = await peer.call("echo", {"a": 1.0}, _meta={"progressToken": "t"}, request_id="own")
        assert answer == {"jsonrpc": "2.0", "id": "own", "result": text({"a": 1.0})}
        (seen,) = peer.server.asked("tools/call")
        assert (seen.id, seen.caller, seen.actor) == ("own", "session s", "ada")
        assert seen.meta == {
            "progressToken": "t",
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            CAPABILITIES: {"experimental": {"x": {}}, "sampling": {"tools": {}}, "elicitation": {}},
            "io.modelcontextprotocol/clientInfo": INFO,
        }

    run(work)


@pytest.mark.requirement("E3")
def test_what_a_legacy_client_would_stumble_over_is_taken_out() -> None:
    async def plain(_server: ScriptedServer, _call: Call) -> Json:
        return {**text("ok"), "structuredContent": [1], "ttlMs": 5}

    async def work(peer: Peer) -> None:
        await peer.open()
        assert (await peer.call("plain"))["result"] == text("ok")
        assert (await peer.request("no/such"))["error"]["code"] == -32601

    run(work, ScriptedServer({"plain": plain}))


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen", "tasks/list", "tasks/get"])
def test_modern_methods_are_not_found(method: str) -> None:
    async def work(peer: Peer) -> None:
        await peer.open()
        assert (await peer.request(method))["error"]["code"] == -32601
        assert len(peer.server.asked(method)) == (method == "server/discover")

    server = ScriptedServer(discovery={**DISCOVERY, "capabilities": {}})
    run(work, server)


def test_progress_comes_before_the_answer_with_the_clients_own_token() -> None:
    async def work(peer: Peer) -> None:
        await peer.open()
        await peer.call("report", _meta={"progressToken": 77})
        assert peer.sent == [
            {
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {"progressToken": 77, "progress": 1, "total": 2},
            }
        ]

    run(work)


def test_a_log_level_is_said_in_every_request_from_then_on() -> None:
    async def work(peer: Peer) -> None:
        await peer.open()
        await peer.call("report")
        assert peer.sent == []
        assert (await peer.request("logging/setLevel", {"level": "warning"}))["result"] == {}
        await peer.call("report")
        assert peer.sent == [
            {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "warning", "data": "noted"}}
        ]
        assert [seen.meta.get(LOG_LEVEL) for seen in peer.server.asked("tools/call")] == [None, "warning"]
        assert (await peer.request("logging/setLevel", {"level": "loud"}))["error"]["code"] == -32602

    run(work)


@pytest.mark.parametrize(
    "answer", [b'{"jsonrpc":"2.0","id":ID,"result":{"a":1,"a":2}}', b"nothing", b'{"jsonrpc":"2.0","id":1}']
)
def test_an_answer_that_cannot_be_read_is_said_so_and_on_record(answer: bytes) -> None:
    async def broken(_server: ScriptedServer, _call: Call) -> Json:
        return answer

    async def work(peer: Peer) -> None:
        await peer.open()
        assert (await peer.call("broken"))["error"] == {
            "code": -31001,
            "message": "The server's answer was not usable.",
        }
        assert peer.diagnosed == ["message.unreadable"]

    run(work, ScriptedServer({"broken": broken}))


def test_an_ambiguous_request_never_reaches_the_server() -> None:
    async def work(peer: Peer) -> None:
        await peer.open()
        raw = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","Name":"hang"}}'
        answer = await peer.client.request(read_message(raw), lambda _raw: None)
        assert json.loads(answer or b"")["error"]["code"] == -32600
        assert peer.server.asked("tools/call") == []

    run(work)


def test_an_id_stands_for_one_request_at_a_time() -> None:
    async def work(peer: Peer) -> None:
        await peer.open()
        hanging = asyncio.create_task(peer.call("hang", request_id=5))
        await peer.until(lambda: peer.server.asked("tools/call"))
        assert (await peer.call("echo", request_id=5.0))["error"]["code"] == -32600
        peer.notify("notifications/cancelled", {"requestId": 5})
        assert await hanging is None
        assert "result" in await peer.call("echo", request_id=5)

    run(work)


def test_there_is_a_bound_to_what_one_client_has_under_way() -> None:
    async def work(peer: Peer) -> None:
        await peer.open()
        hanging = [asyncio.create_task(peer.call("hang")) for _ in range(1000)]
        await peer.until(lambda: len(peer.server.asked("tools/call")) == 1000)
        assert (await peer.call("echo"))["error"]["code"] == -31001
        peer.client.close()
        assert await asyncio.gather(*hanging) == [None] * 1000
        assert peer.server.cancelled.count("hang") == 1000
        assert await peer.call("echo") is None

    run(work)


def test_a_cancelled_request_is_cancelled_and_gets_no_answer() -> None:
    async def work(peer: Peer) -> None:
        await peer.open()
        hanging = asyncio.create_task(peer.call("hang", request_id="x"))
        await peer.until(lambda: peer.server.asked("tools/call"))
        for params in ({}, {"requestId": "y"}, {"requestId": [1]}, {"requestId": "x"}):
            peer.notify("notifications/cancelled", params)
        assert await hanging is None
        assert peer.server.cancelled == ["hang"]

    run(work)


# --- questions -------------------------------------------------------------------------------------------------------

RESULTS = {
    "elicitation/create": {"action": "accept", "content": {"n": 3}},
    "sampling/createMessage": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hm"}},
    "roots/list": {"roots": [{"uri": "file:///a"}]},
}


@pytest.mark.parametrize("question", [ELICITATION, SAMPLING, ROOTS])
def test_what_the_server_needs_is_asked_of_the_client_and_the_call_repeated(question: Json) -> None:
    async def work(peer: Peer) -> None:
        await peer.open(elicitation={}, sampling={}, roots={})
        peer.answers = lambda asked: {"result": RESULTS[asked["method"]]}
        answer = await peer.call("ask", {"rounds": [{"q": question}]}, request_id=42, _meta={"progressToken": "t"})
        assert answer == {"jsonrpc": "2.0", "id": 42, "result": text([{"q": RESULTS[question["method"]]}])}
        first, again = peer.server.asked("tools/call")
        assert (first.id, again.params["requestState"]) == (42, "[]")
        assert again.id != 42
        del again.params["inputResponses"], again.params["requestState"]
        assert again.params == first.params

    run(work)


def test_several_questions_in_several_rounds() -> None:
    async def work(peer: Peer) -> None:
        await peer.open(elicitation={}, sampling={}, roots={})
        peer.answers = lambda asked: {"result": RESULTS[asked["method"]]}
        rounds = [{"a": ELICITATION, "b": SAMPLING}, None, {"c": ROOTS}]
        answer = await peer.call("ask", {"rounds": rounds})
        a, b, c = RESULTS.values()
        assert answer["result"] == text([{"a": a, "b": b}, None, {"c": c}])
        assert len({seen.id for seen in peer.server.asked("tools/call")}) == 4

    run(work)


def test_the_state_goes_back_byte_for_byte() -> None:
    state = b'"\\u00e9 \\/ \\ud83d"'

    async def odd(_server: ScriptedServer, call: Call) -> Json:
        if b"requestState" in call.message.raw:
            return text(state in call.message.raw)
        return b'{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","requestState":%s}}' % state

    async def work(peer: Peer) -> None:
        await peer.open()
        assert (await peer.call("odd"))["result"] == text(True)

    run(work, ScriptedServer({"odd": odd}))


def test_a_client_cannot_say_that_it_was_asked() -> None:
    async def work(peer: Peer) -> None:
        await peer.open()
        await peer.call("echo", requestState="forged", inputResponses={"q": {}})
        (seen,) = peer.server.asked("tools/call")
        assert sorted(seen.params) == ["_meta", "arguments", "name"]

    run(work)


@pytest.mark.parametrize(("question", "need"), [(ELICITATION, "elicitation"), (SAMPLING, "sampling"), (ROOTS, "roots")])
def test_a_question_that_the_client_did_not_declare_ends_the_call(question: Json, need: str) -> None:
    async def work(peer: Peer) -> None:
        await peer.open()
        answer = await peer.call("ask", {"rounds": [{"q": question}]}, request_id=3)
        message = f"The server needs {need} from the client, which did not declare it. Use a client that has it."
        assert answer == {"jsonrpc": "2.0", "id": 3, "error": {"code": -32600, "message": message}}
        assert peer.sent == []

    run(work)


def test_a_call_that_is_cancelled_in_the_middle_of_a_question_takes_it_back() -> None:
    async def work(peer: Peer) -> None:
        await peer.open(elicitation={})
        asking = asyncio.create_task(peer.call("ask", {"rounds": [{"q": ELICITATION}]}, request_id=8))
        await peer.until(lambda: peer.sent)
        (question,) = peer.sent
        peer.notify("notifications/cancelled", {"requestId": 8})
        assert await asking is None
        assert (peer.sent[1]["method"], peer.sent[1]["params"]["requestId"]) == (
            "notifications/cancelled",
            question["id"],
        )
        peer.reply(question, {"result": RESULTS["elicitation/create"]})
        assert peer.diagnosed == ["message.unpaired"]
        assert len(peer.server.asked("tools/call")) == 1

    run(work)


def test_a_client_that_says_nothing_more_leaves_no_question_open() -> None:
    async def work(peer: Peer) -> None:
        await peer.open(elicitation={})
        asking = asyncio.create_task(peer.call("ask", {"rounds": [{"q": ELICITATION}]}))
        await peer.until(lambda: peer.sent)
        peer.client.leave()
        assert (await asking)["error"]["message"] == "The client left before it answered what the server asked for."

    run(work)


# --- what nobody asked for -------------------------------------------------------------------------------------------


def test_subscriptions_and_changed_lists_come_without_a_request() -> None:
    async def work(peer: Peer) -> None:
        await peer.open()
        await peer.until(lambda: peer.server.listeners)
        assert (await peer.request("resources/subscribe", {"uri": "a:1"}))["result"] == {}
        await peer.until(lambda: len(peer.server.listeners) == 1)
        await peer.call("touch")
        assert peer.sent == [
            {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}},
            {"jsonrpc": "2.0", "method": "notifications/resources/list_changed", "params": {}},
            {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "a:1"}},
        ]
        assert (await peer.request("resources/unsubscribe", {"uri": "a:1"}))["result"] == {}
        await peer.until(lambda: len(peer.server.listeners) == 1)
        peer.sent.clear()
        await peer.call("touch")
        assert [sent["method"] for sent in peer.sent] == [
            "notifications/tools/list_changed",
            "notifications/resources/list_changed",
        ]
        listens = peer.server.asked("subscriptions/listen")
        assert [seen.params["notifications"].get("resourceSubscriptions") for seen in listens] == [None, ["a:1"], None]
        assert {seen.caller for seen in listens} == {"session s"}
        assert CAPABILITIES in listens[0].meta

    run(work)


def test_a_subscription_without_a_uri_is_refused() -> None:
    async def work(peer: Peer) -> None:
        await peer.open()
        assert (await peer.request("resources/subscribe", {"uri": 1}))["error"]["code"] == -32602

    run(work)


def test_what_only_legacy_servers_hear_goes_nowhere() -> None:
    async def work(peer: Peer) -> None:
        await peer.open()
        await peer.until(lambda: peer.server.listeners)
        before = len(peer.server.seen)
        peer.notify("notifications/roots/list_changed")
        peer.notify("notifications/progress", {"progressToken": 1, "progress": 1})
        await asyncio.sleep(0)
        assert len(peer.server.seen) == before

    run(work)
