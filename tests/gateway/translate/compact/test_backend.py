"""A compact server: one tool in its list, every call through it judged as the tool's own, nothing dropped."""

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from handfast.core.call.caller import ANYONE
from handfast.core.call.contract import LIST_UNAVAILABLE
from handfast.gateway.translate.backend import Backend, Requester
from handfast.wire.message import read_message
from tests.gateway.running import read_records
from tests.gateway.translate.servers.asking import (
    LEGACY,
    MODERN,
    PIPED,
    PREFIX,
    WAYS,
    Asker,
    Json,
    Way,
    asking,
    entry_for,
)
from tests.parts import Parts
from tests.stubs.run import Stub, answer, tool, write_stub

CONTACT = {"type": "object", "properties": {"email": {"type": "string"}, "tags": {"type": "array"}}}
FINE = {"content": [{"type": "text", "text": "fine"}]}
BESIDE = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    'Likely cause: REST-style wrapper — send fields inside "arguments".\n'
    'Unwrap \'data\': send "email" inside "arguments", not inside "data".\n'
    'Declared fields: ["email", "tags"].'
)
WRAPPED = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
    'Unwrap \'data\': send "email" directly, not inside "data".\n'
    'Declared fields: ["email", "tags"].'
)
ACTIONS = ["create", "contacts__list", "odd"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return request.param  # type: ignore[no-any-return]  # one of WAYS


def contacts(folder: Path, versions: list[str] = LEGACY, **more: Json) -> Stub:
    listed = [tool("create", CONTACT), tool("contacts__list", {}), tool("odd", {"type": "object", "properties": {}})]
    return write_stub(folder, tools=listed, answers={n: answer(FINE) for n in ACTIONS}, versions=versions, **more)


def compacting(
    stub: Stub, folder: Path, work: Callable[[Asker], Awaitable[None]], settings: Json = None, way: Way = "stdio"
) -> None:
    async def ask(backend: Backend) -> None:
        await work(Asker(backend))

    with entry_for(stub, way) as entry:
        asking({**entry, "handfast": {"surface": "compact"}}, folder, ask, settings)


def said(reply: Json) -> str:
    """The text of a refusal."""
    assert reply["result"].keys() - {"_meta"} == {"resultType", "content", "isError"}
    assert reply["result"]["isError"] is True
    return str(reply["result"]["content"][0]["text"])


def text_of(reply: Json) -> str:
    assert "isError" not in reply["result"]
    return str(reply["result"]["content"][0]["text"])


def calls(stub: Stub) -> list[tuple[str, Json]]:
    """The tools that were called, and with what."""
    sent = [entry.message for entry in stub.journal.messages()]
    return [(m["params"]["name"], m["params"]["arguments"]) for m in sent if m.get("method") == "tools/call"]


def decisions(folder: Path) -> list[tuple[str, str, str, str]]:
    kinds = ("policy_decision", "tool_call")
    return [(r.type, r.status, r.tool, r.rule) for r in read_records(folder / "state") if r.type in kinds]


def test_the_list_is_one_tool_whatever_the_server_speaks(tmp_path: Path, way: Way) -> None:
    async def work(asker: Asker) -> None:
        result = (await asker.ask("tools/list"))["result"]
        assert [listed["name"] for listed in result["tools"]] == ["up"]
        assert result["resultType"] == "complete"
        assert {"ttlMs", "cacheScope"} <= set(result)
        refused = await asker.ask("tools/list", {"cursor": ""})
        assert refused["error"]["code"] == -32602

    compacting(contacts(tmp_path), tmp_path, work, way=way)


def test_a_server_without_tools_has_no_dispatcher(tmp_path: Path) -> None:
    async def work(asker: Asker) -> None:
        assert (await asker.ask("tools/list"))["result"]["tools"] == []

    compacting(write_stub(tmp_path, tools=[]), tmp_path, work)


@pytest.mark.requirement("000-10")
@pytest.mark.parametrize("versions", [LEGACY, MODERN])
def test_an_action_is_the_call_of_its_tool(tmp_path: Path, way: Way, versions: list[str]) -> None:
    stub = contacts(tmp_path, versions)

    async def work(asker: Asker) -> None:
        reply = await asker.call("up", {"action": "create", "arguments": {"email": "a"}}, meta={"traceparent": "00"})
        assert reply["result"]["content"] == FINE["content"]
        await asker.call("up", {"action": "create"})
        await asker.call("up", {"action": "list", "resource": "contacts", "arguments": None})

    compacting(stub, tmp_path, work, way=way)
    assert calls(stub) == [("create", {"email": "a"}), ("create", {}), ("contacts__list", {})]
    (first, *_) = stub.journal.calls("create")
    assert first.message["params"]["_meta"]["traceparent"] == "00"
    if way not in PIPED and versions == MODERN:
        assert first.headers["mcp-name"] == "create"
    assert decisions(tmp_path) == [
        ("tool_call", "success", "create", ""),
        ("tool_call", "success", "create", ""),
        ("tool_call", "success", "contacts__list", ""),
    ]


@pytest.mark.quick
def test_the_bytes_of_the_arguments_arrive_as_they_were_sent(tmp_path: Path) -> None:
    stub = contacts(tmp_path, MODERN)
    inner = b'{"email":"\\u00e9", "tags" : [1.0, 9007199254740993, 1e2]}'

    async def work(asker: Asker) -> None:
        meta = json.dumps({PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {}}).encode()
        raw = (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"other" : "s", "inputResponses":{},'
            b'"arguments":{"arguments":%s,"action":"create"}, "extra": 1.0 ,"name":"up","_meta":%s}}' % (inner, meta)
        )
        await asker.backend.request(read_message(raw), Requester(ANYONE, lambda _: None))

    compacting(stub, tmp_path, work)
    (sent,) = stub.journal.calls("create")
    assert b'"arguments":' + inner + b', "extra": 1.0 ,"name":"create"' in sent.bytes
    assert b'"other" : "s", "inputResponses":{}' in sent.bytes


@pytest.mark.requirement("000-9")
@pytest.mark.requirement("000-12")
def test_nothing_beside_an_action_is_lost(tmp_path: Path, way: Way) -> None:
    stub = contacts(tmp_path)

    async def work(asker: Asker) -> None:
        assert said(await asker.call("up", {"action": "create", "data": {"email": "a"}})) == BESIDE
        assert said(await asker.call("up", {"action": "create", "arguments": {"data": {"email": "a"}}})) == WRAPPED
        flat = await asker.call("up", {"action": "create", "email": "a"})
        assert 'Send {"action": "create", "arguments": {"email": …}}' in said(flat)
        assert "'bogus' is not allowed" in said(await asker.call("up", {"action": "create", "bogus": [1]}))
        assert "must be a JSON object" in said(await asker.call("up", {"action": "create", "arguments": "{}"}))
        assert "Nearest: create." in said(await asker.call("up", {"action": "crate"}))
        assert '"action" must be the name' in said(await asker.call("up", {"email": "a"}))
        assert '"action" must be a name' in said(await asker.call("up", {"action": 5}))

    compacting(stub, tmp_path, work, way=way)
    assert calls(stub) == []
    refusals = [
        ("up", "arguments.nested_wrapper"),
        ("create", "arguments.nested_wrapper"),
        ("up", "dispatch.flat"),
        ("up", "dispatch.unknown_key"),
        ("up", "dispatch.arguments"),
        ("up", "dispatch.unknown_action"),
        ("up", "dispatch.action"),
        ("up", "dispatch.malformed"),
    ]
    assert decisions(tmp_path) == [
        (kind, "blocked", *refusal) for refusal in refusals for kind in ("policy_decision", "tool_call")
    ]


def test_a_refusal_names_the_tool_that_was_meant_and_no_value(tmp_path: Path) -> None:
    async def work(asker: Asker) -> None:
        await asker.call("up", {"action": "create", "data": {"email": "a@secret.example"}})
        await asker.call("up", {"action": "ghp_0123456789", "data": {}})

    compacting(contacts(tmp_path), tmp_path, work)
    meant, unknown = read_records(tmp_path / "state", type="tool_call")
    assert meant.details["action"] == "create"
    assert "action" not in unknown.details
    assert b"secret.example" not in (tmp_path / "state" / "activity.db").read_bytes()
    assert b"ghp_" not in (tmp_path / "state" / "activity.db").read_bytes()


@pytest.mark.requirement("000-12")
@pytest.mark.parametrize(
    "settings",
    [
        {"input_validation": {"mode": "off"}},
        {"input_validation": {"unknown_arguments": "schema"}},
        {"input_validation": {"ignore": ["data"]}},
    ],
)
def test_no_setting_lets_the_dispatcher_drop_something(tmp_path: Path, settings: Json) -> None:
    stub = contacts(tmp_path)

    async def work(asker: Asker) -> None:
        assert said(await asker.call("up", {"action": "create", "data": {"email": "a"}})) == BESIDE

    compacting(stub, tmp_path, work, settings)
    assert calls(stub) == []


def test_errors_are_protocol_errors_where_that_is_set(tmp_path: Path) -> None:
    async def work(asker: Asker) -> None:
        wrapped = await asker.call("up", {"action": "create", "data": {"email": "a"}})
        assert wrapped["error"] == {"code": -32602, "message": BESIDE}
        assert (await asker.call("up", {}))["error"]["code"] == -32602

    compacting(contacts(tmp_path), tmp_path, work, {"input_validation": {"errors": "protocol"}})


@pytest.mark.requirement("B2")
def test_keys_that_occur_twice_are_refused(tmp_path: Path) -> None:
    stub = contacts(tmp_path)
    meta = json.dumps({PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {}})
    arguments = ['{"action":"create","action":"odd"}', '{"action":"create","arguments":{},"arguments":{"email":"a"}}']
    params = [f'"name":"up","arguments":{given}' for given in arguments]
    params.append('"name":"up","name":"create","arguments":{"action":"odd"}')

    async def work(asker: Asker) -> None:
        for given in params:
            raw = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{given},"_meta":{meta}}}}}'
            reply = json.loads(
                (await asker.backend.request(read_message(raw.encode()), Requester(ANYONE, lambda _: None))).raw
            )
            assert "ambiguous" in json.dumps(reply)

    compacting(stub, tmp_path, work)
    assert calls(stub) == []


@pytest.mark.requirement("000-9")
@pytest.mark.requirement("000-12")
def test_help_explains_and_calls_nothing(tmp_path: Path, way: Way) -> None:
    stub = contacts(tmp_path)

    async def work(asker: Asker) -> None:
        for ways in ({"action": "help"}, {"help": True}):
            text = text_of(await asker.call("up", ways))
            assert text.startswith("3 actions:\n- create")
        for ask in ({"action": "help", "arguments": {"action": "create"}}, {"action": "create", "help": True}):
            whole = json.loads(text_of(await asker.call("up", ask)))
            assert (whole["action"], whole["inputSchema"]) == ("create", CONTACT)
        # The rule does not hold for a call that asks for help; what was sent along is named all the same.
        ignored = json.loads(text_of(await asker.call("up", {"action": "create", "help": True, "data": {"a": 1}})))
        assert ignored["ignored"] == ["data"]
        assert "no action of this name" in said(await asker.call("up", {"action": "crate", "help": True}))

    compacting(stub, tmp_path, work, way=way)
    assert calls(stub) == []
    assert decisions(tmp_path)[:5] == [("tool_call", "success", "up", "dispatch.help")] * 5


def test_help_asks_the_server_for_its_list_once(tmp_path: Path) -> None:
    stub = contacts(tmp_path)

    async def work(asker: Asker) -> None:
        await asker.call("up", {"action": "help"})
        before = stub.journal.methods().count("tools/list")
        for _ in range(5):
            await asker.call("up", {"action": "help"})
        assert stub.journal.methods().count("tools/list") == before

    compacting(stub, tmp_path, work)


def test_every_page_of_a_list_counts(tmp_path: Path) -> None:
    stub = write_stub(
        tmp_path, pages=[[tool("first", {})], [tool("second", CONTACT)]], answers={"second": answer(FINE)}
    )

    async def work(asker: Asker) -> None:
        (listed,) = (await asker.ask("tools/list"))["result"]["tools"]
        assert listed["description"].endswith("\n- first\n- second")
        assert text_of(await asker.call("up", {"action": "second"})) == "fine"

    compacting(stub, tmp_path, work)


def test_a_tool_that_appears_is_found_at_once(tmp_path: Path) -> None:
    (tmp_path / "next").mkdir()
    following = contacts(tmp_path / "next", MODERN)
    stub = write_stub(tmp_path, tools=[tool("old", {})], versions=MODERN, next=str(following.spec))

    async def work(asker: Asker) -> None:
        assert text_of(await asker.call("up", {"action": "help"})).startswith("1 actions:\n- old")
        meta = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {}}
        params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
        raw = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "subscriptions/listen", "params": params}).encode()
        heard: asyncio.Queue[bytes] = asyncio.Queue()
        listen = asker.backend.request(read_message(raw), Requester(ANYONE, heard.put_nowait))
        listening = asyncio.create_task(listen)
        assert b"acknowledged" in await heard.get()
        os.kill(stub.journal.events("started")[-1].pid, signal.SIGUSR1)
        assert b"notifications/tools/list_changed" in await heard.get()
        assert text_of(await asker.call("up", {"action": "help"})).startswith("3 actions:\n- create")
        listening.cancel()
        await asyncio.wait({listening})

    compacting(stub, tmp_path, work)


def test_a_tool_called_help_is_called(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("help", {})], answers={"help": answer(FINE)})

    async def work(asker: Asker) -> None:
        assert text_of(await asker.call("up", {"action": "help"})) == "fine"
        assert json.loads(text_of(await asker.call("up", {"action": "help", "help": True})))["action"] == "help"

    compacting(stub, tmp_path, work)


def test_the_headers_of_the_client_are_not_held_against_the_action(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    stub = write_stub(tmp_path, tools=[tool("create", schema)], answers={"create": answer(FINE)}, versions=MODERN)
    meta = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {}}

    async def work(asker: Asker) -> None:
        params = {"name": "up", "arguments": {"action": "create", "arguments": {"region": "eu"}}, "_meta": meta}
        raw = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        await asker.ask("tools/list")
        reply = json.loads(
            (await asker.backend.request(read_message(raw), Requester(ANYONE, lambda _: None, params=[]))).raw
        )
        assert text_of(reply) == "fine"

    compacting(stub, tmp_path, work, way="http-json")
    (sent,) = stub.journal.calls("create")
    assert sent.headers["mcp-param-region"] == "eu"


def test_a_client_that_knows_the_whole_list_may_go_on_using_it(tmp_path: Path) -> None:
    stub = contacts(tmp_path)

    async def work(asker: Asker) -> None:
        assert text_of(await asker.call("create", {"email": "a"})) == "fine"
        assert said(await asker.call("create", {"data": {"email": "a"}})) == WRAPPED

    compacting(stub, tmp_path, work)
    assert calls(stub) == [("create", {"email": "a"})]


def test_everything_else_passes(tmp_path: Path) -> None:
    stub = contacts(tmp_path, MODERN, methods={"prompts/list": answer({"prompts": [], "ttlMs": 5})})

    async def work(asker: Asker) -> None:
        assert (await asker.ask("prompts/list"))["result"]["ttlMs"] == 5
        assert "2026-07-28" in (await asker.ask("server/discover"))["result"]["supportedVersions"]

    compacting(stub, tmp_path, work)


def test_a_server_that_gives_no_list_is_called_all_the_same(tmp_path: Path) -> None:
    refusing = {"tools/list": {"error": '{"code": -32603, "message": "no list today"}'}}
    stub = write_stub(tmp_path, tools=[], answers={"create": answer(FINE)}, methods=refusing)

    async def work(asker: Asker) -> None:
        assert (await asker.ask("tools/list"))["error"]["message"] == "no list today"
        assert (await asker.call("up", {"action": "help"}))["error"]["message"] == "no list today"
        assert text_of(await asker.call("up", {"action": "create", "arguments": {"email": "a"}})) == "fine"
        assert "nested object" in said(await asker.call("up", {"action": "create", "data": {}}))

    compacting(stub, tmp_path, work)
    assert calls(stub) == [("create", {"email": "a"})]
    assert [(status, rule) for _, status, tool, rule in decisions(tmp_path) if tool == "up"] == [
        ("error", "upstream.failed"),
        ("blocked", "arguments.nested_wrapper"),
        ("blocked", "arguments.nested_wrapper"),
    ]


@pytest.mark.requirement("S6")
@pytest.mark.parametrize("name", ["CREATE", "create\0", "hidden"])
def test_in_strict_neither_the_dispatcher_nor_a_plain_call_reaches_a_tool_that_is_not_listed(
    tmp_path: Path, way: Way, name: str
) -> None:
    stub = contacts(tmp_path)

    async def work(asker: Asker) -> None:
        assert (await asker.call(name, {}))["error"]["code"] == -32602
        assert "There is no action" in said(await asker.call("up", {"action": name, "arguments": {}}))

    compacting(stub, tmp_path, work, {"input_validation": {"mode": "strict"}}, way)
    assert calls(stub) == []


@pytest.mark.requirement("S6")
def test_in_strict_a_server_that_gives_no_list_is_not_called(tmp_path: Path, way: Way) -> None:
    refusing = {"tools/list": {"error": '{"code": -32603, "message": "no list today"}'}}
    stub = write_stub(tmp_path, tools=[], answers={"create": answer(FINE)}, methods=refusing)

    async def work(asker: Asker) -> None:
        for call in (("create", {}), ("up", {"action": "create", "arguments": {}})):
            assert (await asker.call(*call))["error"]["message"] == LIST_UNAVAILABLE.message

    compacting(stub, tmp_path, work, {"input_validation": {"mode": "strict"}}, way)
    assert calls(stub) == []


# --- real servers ----------------------------------------------------------------------------------------------------


def real(command: list[str], folder: Path, work: Callable[[Asker], Awaitable[None]]) -> None:
    async def ask(backend: Backend) -> None:
        await work(Asker(backend))

    entry = {"command": command[0], "args": command[1:], "handfast": {"surface": "compact"}}
    asking(entry, folder, ask)


@pytest.mark.requirement("000-3")
@pytest.mark.requirement("000-12")
def test_a_real_memory_keeps_what_is_sent_right_and_nothing_of_a_wrapped_call(parts: Parts, tmp_path: Path) -> None:
    ada = {"name": "ada", "entityType": "person", "observations": ["writes programs"]}
    file = tmp_path / "memory.jsonl"

    async def work(asker: Asker) -> None:
        assert text_of(await asker.call("up", {"action": "create_entities", "arguments": {"entities": [ada]}}))
        kept = file.read_text()
        flat = "flat at the top level", "directly"
        inside = 'inside "arguments"', 'inside "arguments"'
        data = {"data": {"entities": [ada]}}
        for wrong, (cause, where) in ((data, inside), ({"arguments": data}, flat)):
            assert said(await asker.call("up", {"action": "create_entities", **wrong})) == (
                "Argument 'data' is not a declared field and its value is a nested object.\n"
                f"Likely cause: REST-style wrapper — send fields {cause}.\n"
                f'Unwrap \'data\': send "entities" {where}, not inside "data".\n'
                'Declared fields: ["entities"].'
            )
        assert file.read_text() == kept
        graph = await asker.call("up", {"action": "read_graph"})
        assert graph["result"]["structuredContent"] == {"entities": [ada], "relations": []}

    real(parts.memory(file), tmp_path, work)
    assert json.loads(file.read_text()) == {"type": "entity", **ada}


def test_a_real_filesystem_is_learnt_through_help_and_then_used(parts: Parts, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()

    async def work(asker: Asker) -> None:
        (listed,) = (await asker.ask("tools/list"))["result"]["tools"]
        assert len(json.dumps(listed)) < 3000
        assert listed["annotations"] == {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}
        found = text_of(await asker.call("up", {"action": "help", "arguments": {"find": "overwrite"}}))
        assert "\n- write_file: Create a new file or completely overwrite" in found
        whole = json.loads(text_of(await asker.call("up", {"action": "write_file", "help": True})))
        assert whole["inputSchema"]["required"] == ["path", "content"]
        fields = {"path": str(home / "a.txt"), "content": "caf\u00e9"}
        assert "Successfully wrote" in text_of(await asker.call("up", {"action": "write_file", "arguments": fields}))
        flat = said(await asker.call("up", {"action": "write_file", **fields, "path": str(home / "b.txt")}))
        assert '"arguments": {"path": …, "content": …}' in flat

    real(parts.filesystem(home), tmp_path, work)
    assert {path.name: path.read_text() for path in home.iterdir()} == {"a.txt": "café"}


def test_questions_of_a_legacy_server_are_asked_through_the_dispatcher(tmp_path: Path) -> None:
    stub = write_stub(
        tmp_path,
        tools=[tool("create", CONTACT)],
        answers={"create": answer(FINE, "server_request")},
        versions=LEGACY,
    )

    async def work(asker: Asker) -> None:
        asker.capabilities = {"elicitation": {}}
        sent = {"action": "create", "arguments": {"email": "a"}}
        asked = (await asker.call("up", sent))["result"]
        assert asked["resultType"] == "input_required"
        (key,) = asked["inputRequests"]
        responses = {key: {"action": "accept", "content": {}}}
        again = await asker.call("up", sent, inputResponses=responses, requestState=asked["requestState"])
        assert text_of(again) == "fine"

    compacting(stub, tmp_path, work)
    assert calls(stub) == [("create", {"email": "a"})]


def test_a_refusal_is_on_disk_before_it_is_answered(tmp_path: Path) -> None:
    async def work(asker: Asker) -> None:
        await asker.call("up", {"action": "create", "data": {}})
        assert [r.rule for r in read_records(tmp_path / "state", type="policy_decision")] == [
            "arguments.nested_wrapper"
        ]

    compacting(contacts(tmp_path), tmp_path, work)


HARD = {
    "remote": {"type": "object", "properties": {"email": {"$ref": "https://example.com/x"}, "tags": {}}},
    "ahead": {"type": "object", "properties": {"email": {"pattern": r"^(?!-)[a-z0-9@.-]+$"}}},
}


@pytest.mark.requirement("S3")
@pytest.mark.requirement("D14")
@pytest.mark.parametrize("versions", [LEGACY, MODERN], ids=["legacy", "modern"])
def test_actions_whose_schema_cannot_be_compiled_in_place_are_judged(
    tmp_path: Path, way: Way, versions: list[str]
) -> None:
    listed = [tool(name, schema) for name, schema in HARD.items()]
    done = FINE if versions is LEGACY else {**FINE, "resultType": "complete"}
    stub = write_stub(tmp_path, tools=listed, answers={name: answer(done) for name in HARD}, versions=versions)

    async def work(asker: Asker) -> None:
        async def call(action: str, arguments: Json) -> str:
            reply = await asker.call("up", {"action": action, "arguments": arguments})
            return str(reply["result"]["content"][0]["text"])

        assert await call("remote", {"data": {"email": "a"}}) == WRAPPED
        assert "references are never fetched" in await call("remote", {"email": "a"})
        assert await call("ahead", {"email": "a@b"}) == "fine"
        assert "must match the pattern" in await call("ahead", {"email": "-a@b"})

    compacting(stub, tmp_path, work, {"input_validation": {"mode": "strict"}}, way)
    assert calls(stub) == [("ahead", {"email": "a@b"})]
    rules = [rule for kind, _, _, rule in decisions(tmp_path) if kind == "tool_call"]
    assert rules == ["arguments.nested_wrapper", "arguments.schema", "", "arguments.schema"]
