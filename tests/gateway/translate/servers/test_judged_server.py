"""Servers of either era and transport, asked in the modern form: translated, held, judged, and nothing left behind."""

import asyncio
import json
from pathlib import Path

import pytest

from handfast.gateway.translate.backend import Backend
from tests.gateway.running import read_records
from tests.gateway.translate.servers.asking import LEGACY, MODERN, PREFIX, WAYS, Asker, Json, Way, asking, entry_for
from tests.parts import Parts
from tests.stubs.run import Stub, answer, tool, write_stub

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FINE = {"content": [{"type": "text", "text": "fine"}]}
ACCEPT = {"action": "accept", "content": {}}
ASKS: Json = {"elicitation": {}, "sampling": {}, "roots": {}}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return request.param  # type: ignore[no-any-return]  # one of WAYS


def legacy_stub(folder: Path, **answers: object) -> Stub:
    return write_stub(folder, tools=[tool(name, NUMBER, NUMBER) for name in answers], answers=answers, versions=LEGACY)


def test_a_legacy_server_is_discovered_with_what_it_said_to_initialize(tmp_path: Path, way: Way) -> None:
    async def work(backend: Backend) -> None:
        result = (await Asker(backend).ask("server/discover"))["result"]
        assert result["resultType"] == "complete"
        assert result["supportedVersions"] == ["2026-07-28", "2025-11-25"]
        assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
        assert "tools" in result["capabilities"]

    with entry_for(legacy_stub(tmp_path), way) as entry:
        asking(entry, tmp_path, work)


def test_a_result_names_its_server_and_leaves_its_icons_to_the_discovery(tmp_path: Path, way: Way) -> None:
    info = {"name": "s", "title": "S", "version": "1", "icons": [{"src": "data:," + "x" * 1000}]}
    greeting = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    stub = write_stub(
        tmp_path,
        tools=[tool("add", NUMBER)],
        answers={"add": answer(FINE)},
        versions=LEGACY,
        methods={"initialize": answer(greeting)},
    )
    key = "io.modelcontextprotocol/serverInfo"

    async def work(backend: Backend) -> None:
        asker = Asker(backend)
        assert (await asker.ask("server/discover"))["result"]["_meta"] == {key: info}
        assert (await asker.call("add", {"n": 1}))["result"]["_meta"] == {key: {"name": "s", "version": "1"}}

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)


def test_a_legacy_server_sees_a_handshake_and_nothing_of_the_modern_envelope(tmp_path: Path, way: Way) -> None:
    stub = legacy_stub(tmp_path, add=answer(FINE))

    async def work(backend: Backend) -> None:
        reply = await Asker(backend).call("add", {"n": 1}, meta={"traceparent": "00-aa"})
        assert reply["id"] == "1"
        assert reply["result"]["resultType"] == "complete"
        assert reply["result"]["content"] == FINE["content"]

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)
    (sent,) = stub.journal.calls("add")
    assert sent.message["params"] == {"name": "add", "arguments": {"n": 1}, "_meta": {"traceparent": "00-aa"}}
    assert "notifications/initialized" in stub.journal.methods()


def test_a_modern_server_gets_the_request_as_it_is(tmp_path: Path, way: Way) -> None:
    stub = write_stub(tmp_path, tools=[tool("add", NUMBER)], answers={"add": answer(FINE)}, versions=MODERN)

    async def work(backend: Backend) -> None:
        reply = await Asker(backend).call("add", {"n": 1}, meta={"traceparent": "00-aa"})
        assert reply["result"]["content"] == FINE["content"]

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)
    (sent,) = stub.journal.calls("add")
    assert sent.message["params"]["_meta"] == {
        PREFIX + "protocolVersion": "2026-07-28",
        PREFIX + "clientCapabilities": {},
        "traceparent": "00-aa",
    }
    assert stub.journal.methods().count("initialize") == (way in ("stdio", "sse"))  # which it refused
    if way.startswith("http"):
        assert (sent.headers["mcp-method"], sent.headers["mcp-name"]) == ("tools/call", "add")


def test_the_era_is_asked_for_once(tmp_path: Path, way: Way) -> None:
    stub = legacy_stub(tmp_path, add=answer(FINE))

    async def work(backend: Backend) -> None:
        await asyncio.gather(*(Asker(backend, caller=str(n)).call("add", {"n": n}) for n in range(5)))

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)
    assert stub.journal.methods().count("server/discover") == 1
    assert stub.journal.methods().count("initialize") == 1


def test_a_malformed_result_of_a_legacy_server_is_judged_behind_the_bridge(tmp_path: Path, way: Way) -> None:
    stub = legacy_stub(tmp_path, add=answer({"content": [], "structuredContent": {"n": "one"}}))

    async def work(backend: Backend) -> None:
        result = (await Asker(backend).call("add", {"n": 1}))["result"]
        assert result["isError"] is True
        assert "structuredContent" not in result
        refused = (await Asker(backend).call("add", {"n": "one"}))["result"]
        assert refused["isError"] is True

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work, {"output_validation": {"mode": "strict"}, "input_validation": {"mode": "strict"}})
    assert len(stub.journal.calls("add")) == 1
    assert [record.rule for record in read_records(tmp_path / "state", type="policy_decision")] == [
        "result.schema",
        "arguments.schema",
    ]


def test_progress_comes_with_the_client_s_own_token(tmp_path: Path, way: Way) -> None:
    stub = legacy_stub(tmp_path, add=answer(FINE, "progress:2:0"))

    async def work(backend: Backend) -> None:
        asker = Asker(backend)
        await asker.call("add", {"n": 1}, meta={"progressToken": "mine"})
        seen = [(note["params"]["progressToken"], note["params"]["progress"]) for note in asker.heard]
        assert seen == [("mine", 1), ("mine", 2)]

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)


@pytest.mark.requirement("E1")
@pytest.mark.parametrize("way", ["stdio", "http-sse"])
@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage"])
def test_a_question_in_mid_call_is_asked_and_its_answer_resumes_the_call(tmp_path: Path, way: Way, method: str) -> None:
    stub = legacy_stub(tmp_path, add=answer(FINE, f"server_request:{method}"))

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS)
        asked = (await asker.call("add", {"n": 1}))["result"]
        assert asked["resultType"] == "input_required"
        ((name, question),) = asked["inputRequests"].items()
        assert question["method"] == method
        retry = {"requestState": asked["requestState"], "inputResponses": {name: ACCEPT}}
        reply = await asker.call("add", {"n": 1}, **retry)
        assert (reply["id"], reply["result"]["content"]) == ("me2", FINE["content"])
        again = await asker.call("add", {"n": 1}, **retry)
        assert again["error"]["code"] == -32602, "a state is good for one retry"

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)
    answers = [entry.message for entry in stub.journal.messages() if "method" not in entry.message]
    assert [message["result"] for message in answers] == [ACCEPT]
    assert len(stub.journal.calls("add")) == 1


@pytest.mark.requirement("E2")
@pytest.mark.parametrize("way", ["stdio", "http-sse"])
def test_a_held_call_is_nobody_else_s_and_no_other_call_s(tmp_path: Path, way: Way) -> None:
    stub = legacy_stub(tmp_path, add=answer(FINE, "server_request"), sub=answer(FINE))

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS)
        asked = (await asker.call("add", {"n": 1}))["result"]
        retry = {"requestState": asked["requestState"], "inputResponses": {next(iter(asked["inputRequests"])): ACCEPT}}
        for other in (
            await Asker(backend, "you", ASKS).call("add", {"n": 1}, **retry),
            await asker.call("add", {"n": 2}, **retry),
            await asker.call("sub", {"n": 1}, **retry),
            await asker.call("add", {"n": 1}, **{**retry, "requestState": asked["requestState"] + "x"}),
        ):
            assert other["error"]["code"] == -32602
        reply = await asker.call("add", {"n": 1}, **retry)
        assert reply["result"]["content"] == FINE["content"]

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)


@pytest.mark.requirement("E2")
@pytest.mark.parametrize("way", ["stdio", "http-sse"])
def test_a_question_that_nobody_comes_back_for_is_dismissed_and_its_call_cancelled(tmp_path: Path, way: Way) -> None:
    stub = legacy_stub(tmp_path, add=answer(FINE, "server_request", "slow:30"))

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS)
        asked = (await asker.call("add", {"n": 1}))["result"]
        await asyncio.to_thread(stub.journal.wait_for, lambda journal: "notifications/cancelled" in journal.methods())
        late = await asker.call("add", {"n": 1}, requestState=asked["requestState"], inputResponses={})
        assert late["error"]["code"] == -32602

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work, {"limits": {"question_timeout_s": 0.2}})
    answers = [entry.message for entry in stub.journal.messages() if "method" not in entry.message]
    assert [message["result"] for message in answers] == [{"action": "cancel"}]


@pytest.mark.requirement("E1")
def test_a_server_that_asks_outside_a_call_is_refused_and_that_is_on_record(tmp_path: Path) -> None:
    stub = write_stub(
        tmp_path,
        tools=[tool("add", NUMBER)],
        methods={"prompts/list": answer({"prompts": []}, "server_request:roots/list")},
        versions=LEGACY,
    )

    async def work(backend: Backend) -> None:
        reply = await Asker(backend, "me", ASKS).ask("prompts/list")
        assert reply["result"]["prompts"] == []

    with entry_for(stub, "stdio") as entry:
        asking(entry, tmp_path, work)
    answers = [entry.message for entry in stub.journal.messages() if "method" not in entry.message]
    assert [message["error"]["code"] for message in answers] == [-32601]
    assert [record.status for record in read_records(tmp_path / "state", rule="message.unowned")] == ["warning"]


@pytest.mark.requirement("E3")
def test_a_url_that_must_be_visited_first_is_an_elicitation_and_the_retry_calls_again(tmp_path: Path) -> None:
    wanted = {"mode": "url", "elicitationId": "e", "url": "https://example.com/", "message": "Sign in."}
    first = answer(error={"code": -32042, "message": "visit", "data": {"elicitations": [wanted]}})
    stub = write_stub(tmp_path, tools=[tool("add", NUMBER)], answers={"add": [first, answer(FINE)]}, versions=LEGACY)

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS)
        asked = (await asker.call("add", {"n": 1}))["result"]
        assert asked["inputRequests"] == {
            "url-1": {
                "method": "elicitation/create",
                "params": {"mode": "url", "url": "https://example.com/", "message": "Sign in."},
            }
        }
        retry = {"requestState": asked["requestState"], "inputResponses": {"url-1": ACCEPT}}
        assert (await asker.call("add", {"n": 1}, **retry))["result"]["content"] == FINE["content"]

    with entry_for(stub, "stdio") as entry:
        asking(entry, tmp_path, work)
    assert len(stub.journal.calls("add")) == 2


def test_cancelling_reaches_the_server_and_is_on_record(tmp_path: Path, way: Way) -> None:
    stub = legacy_stub(tmp_path, add=answer(FINE, "slow:30"))

    async def work(backend: Backend) -> None:
        call = asyncio.create_task(Asker(backend).call("add", {"n": 1}))
        await asyncio.to_thread(stub.journal.wait_for, lambda journal: journal.calls("add"))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.to_thread(stub.journal.wait_for, lambda journal: "notifications/cancelled" in journal.methods())

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)
    assert [record.status for record in read_records(tmp_path / "state", type="tool_call")] == ["cancelled"]


def test_a_server_that_is_not_there_costs_an_error_and_a_record(tmp_path: Path) -> None:
    async def work(backend: Backend) -> None:
        reply = await Asker(backend).call("add")
        assert reply["error"]["code"] == -31001
        assert "no such command" in reply["error"]["message"]

    asking({"command": "handfast-no-such-command"}, tmp_path, work, {"limits": {"learn_timeout_s": 0.1}})
    assert [record.status for record in read_records(tmp_path / "state", type="tool_call")] == ["error"]


def test_a_call_that_finds_its_http_session_lost_is_not_repeated_and_the_next_has_another_one(tmp_path: Path) -> None:
    stub = legacy_stub(tmp_path, add=[answer(FINE), answer(FINE, "status:404"), answer(FINE)])

    async def work(backend: Backend) -> None:
        asker = Asker(backend)
        replies = [await asker.call("add", {"n": n}) for n in range(3)]
        assert ["error" in reply for reply in replies] == [False, True, False]
        text = "The server knows the session no more. The call was not repeated; the next one begins another session."
        assert replies[1]["error"]["message"] == text

    with entry_for(stub, "http-json") as entry:
        asking(entry, tmp_path, work)
    assert stub.journal.methods().count("initialize") == 2
    assert [call.message["params"]["arguments"]["n"] for call in stub.journal.calls("add")] == [0, 1, 2]


def test_a_session_that_is_opened_again_logs_as_the_request_asks(tmp_path: Path) -> None:
    stub = legacy_stub(tmp_path, add=[answer(FINE), answer(FINE, "status:404"), answer(FINE)])

    async def work(backend: Backend) -> None:
        for _ in range(3):  # the second call finds its session lost, and is not repeated
            await Asker(backend).call("add", {"n": 1}, meta={PREFIX + "logLevel": "debug"})

    with entry_for(stub, "http-json") as entry:
        asking(entry, tmp_path, work)
    asked = [method for method in stub.journal.methods() if method in ("initialize", "logging/setLevel")]
    assert asked[-4:] == ["initialize", "logging/setLevel"] * 2, "after the handshake that finds out the era"


def test_an_answer_that_is_on_another_stream_is_fetched_there(tmp_path: Path) -> None:
    stub = legacy_stub(tmp_path, add=answer(FINE, "resume"))

    async def work(backend: Backend) -> None:
        assert (await Asker(backend).call("add", {"n": 1}))["result"]["content"] == FINE["content"]

    with entry_for(stub, "http-sse") as entry:
        asking(entry, tmp_path, work)


def test_callers_that_can_be_asked_have_sessions_of_their_own_and_the_others_share_one(tmp_path: Path) -> None:
    stub = legacy_stub(tmp_path, add=answer(FINE))

    async def work(backend: Backend) -> None:
        for asker in (Asker(backend, "a"), Asker(backend, "b"), Asker(backend, "a", ASKS), Asker(backend, "b", ASKS)):
            await asker.call("add", {"n": 1})
            await asker.call("add", {"n": 1})

    with entry_for(stub, "stdio") as entry:
        asking(entry, tmp_path, work)
    opened = [e.message["params"]["capabilities"] for e in stub.journal.messages() if _is_initialize(e.message)]
    assert opened == [{}, ASKS, ASKS]


def _is_initialize(message: Json) -> bool:
    return bool(message.get("method") == "initialize")


def test_log_messages_reach_the_caller_that_asked_for_them(tmp_path: Path) -> None:
    log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "warning", "data": "careful"}}
    both = json.dumps(log) + "\n" + '{"jsonrpc":"2.0","id":$ID,"result":' + json.dumps(FINE) + "}"
    stub = write_stub(tmp_path, tools=[tool("add", NUMBER)], answers={"add": answer(message=both)}, versions=LEGACY)

    async def work(backend: Backend) -> None:
        quiet, loud, picky = (Asker(backend, name) for name in ("quiet", "loud", "picky"))
        await quiet.call("add", {"n": 1})
        await loud.call("add", {"n": 1}, meta={PREFIX + "logLevel": "debug"})
        await picky.call("add", {"n": 1}, meta={PREFIX + "logLevel": "error"})
        assert (quiet.heard, loud.heard, picky.heard) == ([], [log], [])

    with entry_for(stub, "stdio") as entry:
        asking(entry, tmp_path, work)


def test_a_tool_that_is_listed_only_to_able_clients_is_judged_for_them(tmp_path: Path, parts: Parts) -> None:
    async def work(backend: Backend) -> None:
        await Asker(backend, "plain").ask("tools/list")
        able = Asker(backend, "able", ASKS)
        refused = (await able.call("trigger-sampling-request", {"prompt": 1}))["result"]
        assert refused["isError"] is True
        await Asker(backend, "plain").ask("tools/list")
        assert (await able.call("trigger-sampling-request", {"prompt": 2}))["result"]["isError"] is True

    command = parts.everything
    entry = {"command": command[0], "args": command[1:]}
    asking(entry, tmp_path, work, {"input_validation": {"mode": "strict"}})
    rules = [record.rule for record in read_records(tmp_path / "state", type="policy_decision")]
    assert rules == ["arguments.schema", "arguments.schema"]


@pytest.mark.requirement("P1")
@pytest.mark.parametrize("versions", [LEGACY, MODERN], ids=["legacy", "modern"])
def test_with_isolation_no_two_callers_share_a_process(tmp_path: Path, versions: list[str]) -> None:
    stub = write_stub(tmp_path, tools=[tool("add", NUMBER)], answers={"add": answer(FINE)}, versions=versions)

    async def work(backend: Backend) -> None:
        for caller in ("a", "b", "a"):
            await Asker(backend, caller).call("add", {"n": 1})

    with entry_for(stub, "stdio") as entry:
        asking({**entry, "handfast": {"isolation": "session"}}, tmp_path, work)
    # Two more were only asked for its era, one in the way of each.
    assert len(stub.journal.events("started")) == 2 + 2


def test_who_subscribes_or_sets_a_level_has_everything_in_one_session(tmp_path: Path) -> None:
    stub = write_stub(
        tmp_path,
        tools=[tool("add", NUMBER)],
        answers={"add": answer(FINE)},
        capabilities={"resources": {"subscribe": True}, "tools": {}},
        methods={"resources/subscribe": answer({})},
        versions=LEGACY,
    )

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me")
        wanted = {"notifications": {"resourceSubscriptions": ["file:///a"]}}
        listening = asyncio.create_task(asker.ask("subscriptions/listen", wanted))
        await asyncio.to_thread(stub.journal.wait_for, lambda journal: "resources/subscribe" in journal.methods())
        await asker.call("add", {"n": 1}, meta={PREFIX + "logLevel": "warning"})
        await asker.call("add", {"n": 1}, meta={PREFIX + "logLevel": "error"})
        await asker.call("add", {"n": 1}, meta={PREFIX + "logLevel": "debug"})
        listening.cancel()
        await Asker(backend, "you").call("add", {"n": 1})

    with entry_for(stub, "stdio") as entry:
        asking(entry, tmp_path, work)
    assert stub.journal.methods().count("initialize") == 2, "mine, and the one that everybody else shares"
    levels = [
        e.message["params"]["level"] for e in stub.journal.messages() if e.message["method"] == "logging/setLevel"
    ]
    assert levels == ["warning", "debug"], "what is more than enough already is not said again"
