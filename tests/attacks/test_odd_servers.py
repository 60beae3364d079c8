"""Servers that say odd things on purpose: they may harm themselves, and nobody else."""

import json
from pathlib import Path

import pytest

from handfast.core.call.caller import Caller
from handfast.gateway.translate.backend import Backend, Requester, ignore
from handfast.wire.message import read_message
from tests.contracts.rig import MODERN_META
from tests.gateway.running import call, running, send, stdio
from tests.gateway.translate.servers.asking import LEGACY, MODERN, Json, Way, asking, entry_for
from tests.stubs.run import answer, tool, write_stub

DEEP = "[" * 500 + "]" * 500
NUMBER = "9" * 5000  # more digits than Python reads
FINE = '{"content":[{"type":"text","text":"fine"}]}'
INFO = '{"name":"odd","version":"1"}'
ASKS: Json = {"elicitation": {}, "roots": {}}


def note(method: str, params: str) -> str:
    return f'{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{params}}}}}'


ASIDES = [
    note("progress", f'"progressToken":{NUMBER},"progress":1'),
    note("progress", f'"progressToken":{DEEP},"progress":1'),
    note("cancelled", f'"requestId":{NUMBER}'),
    note("cancelled", f'"requestId":{DEEP}'),
    note("resources/updated", f'"uri":{DEEP}'),
    note("message", f'"level":{DEEP}'),
    note("tasks", f'"taskId":{NUMBER},"result":{DEEP}'),
    note("subscriptions/acknowledged", f'"_meta":{{"io.modelcontextprotocol/subscriptionId":{NUMBER}}}'),
    f'{{"jsonrpc":"2.0","id":{NUMBER},"method":"roots/list"}}',
    f'{{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{DEEP}}}',
    f'{{"jsonrpc":"2.0","id":{NUMBER},"result":{{}}}}',
]


async def ask(backend: Backend, tool_name: str, capabilities: Json = None) -> bytes:
    meta = {
        **MODERN_META,
        "progressToken": 1,
        "io.modelcontextprotocol/clientCapabilities": capabilities or {},
        "io.modelcontextprotocol/logLevel": "debug",
    }
    return (
        await backend.request(read_message(call(1, tool_name, _meta=meta)), Requester(Caller(session="me"), ignore))
    ).raw


@pytest.mark.parametrize("way", ["stdio", "http-json"])
@pytest.mark.parametrize("said", [DEEP, f'{{"listChanged":{DEEP}}}', '{"a":1,"a":2}'], ids=["array", "flag", "twice"])
def test_odd_capabilities_of_a_legacy_server_cost_nothing(tmp_path: Path, way: Way, said: str) -> None:
    capabilities_said = f'{{"tools":{said},"x":"\\ud800"}}'
    greeting = f'{{"protocolVersion":"2025-11-25","serverInfo":{INFO},"capabilities":{capabilities_said}}}'
    stub = write_stub(
        tmp_path,
        tools=[tool("add")],
        answers={"add": answer(FINE)},
        methods={"initialize": answer(greeting)},
        versions=LEGACY,
    )

    async def work(backend: Backend) -> None:
        for capabilities in (None, ASKS):
            assert b'"text":"fine"' in await ask(backend, "add", capabilities)

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)


@pytest.mark.parametrize(("way", "versions"), [("stdio", LEGACY), ("http-sse", LEGACY), ("stdio", MODERN)])
def test_what_a_server_says_beside_its_answer_keeps_nobody_from_it(
    tmp_path: Path, way: Way, versions: list[str]
) -> None:
    answers = {f"say-{number}": answer(FINE, aside=aside) for number, aside in enumerate(ASIDES)}
    stub = write_stub(tmp_path, tools=[tool(name) for name in answers], answers=answers, versions=versions)

    async def work(backend: Backend) -> None:
        for name in answers:
            assert b'"text":"fine"' in await ask(backend, name), name

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)


def test_an_odd_demand_for_a_url_is_an_error_like_any_other(tmp_path: Path) -> None:
    demands = [DEEP, f'{{"elicitations":{DEEP}}}', f'{{"elicitations":[{DEEP}]}}']
    errors = {
        f"visit-{number}": answer(error=f'{{"code":-32042,"message":"visit","data":{data}}}')
        for number, data in enumerate(demands)
    }
    stub = write_stub(tmp_path, tools=[tool(name) for name in errors], answers=errors, versions=LEGACY)

    async def work(backend: Backend) -> None:
        for name in errors:
            found = read_message(await ask(backend, name, ASKS))
            assert found.error_code() == -32603, name

    with entry_for(stub, "stdio") as entry:
        asking(entry, tmp_path, work)


QUESTION = (
    '{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}'
)


def test_a_question_that_nobody_can_answer_ends_the_call_of_a_legacy_client(tmp_path: Path) -> None:
    two = f'"a":{QUESTION},"a":{QUESTION}'
    asked = [f'{{"\\ud800":{QUESTION}}}', f'{{"a":{DEEP}}}', DEEP, f"{{{two}}}"]
    answers = {
        f"ask-{number}": answer(f'{{"resultType":"input_required","inputRequests":{requests},"requestState":"s"}}')
        for number, requests in enumerate(asked)
    }
    stub = write_stub(tmp_path, tools=[tool(name) for name in answers], answers=answers, versions=MODERN)
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        client = gateway.client(capabilities=ASKS)
        for name in answers:
            body = call(7, name)
            found = send(gateway.base, "POST", client.path, body, client.headers(body))
            assert found.status == 200, name
            assert json.loads(found.body)["error"]["code"] < 0, name
    assert b"Traceback" not in b"".join(gateway.errors)


@pytest.mark.requirement("S8")
@pytest.mark.parametrize("way", ["stdio", "http-json", "http-sse"])
@pytest.mark.parametrize("surface", ["full", "compact"])
@pytest.mark.parametrize("versions", [LEGACY, MODERN], ids=["old", "new"])
def test_a_servers_odd_cursor_and_times_break_nothing_at_the_combined_endpoint(
    tmp_path: Path, way: Way, surface: str, versions: list[str]
) -> None:
    odd = ["NaN", "5", '{"a":1,"a":2}', '"\\ud800"', f'"{"x" * 70_000}"']
    page = '{"resultType":"complete","tools":[{"name":"add","inputSchema":{}}],"ttlMs":%s,"nextCursor":%s}'
    pages = [answer(page % ("9" * 400, cursor)) for cursor in odd]
    stub = write_stub(tmp_path, answers={"add": answer(FINE)}, methods={"tools/list": pages}, versions=versions)
    fine = write_stub(tmp_path, name="fine", tools=[tool("add")], answers={"add": answer(FINE)}, versions=versions)
    with entry_for(stub, way) as entry:
        servers = {"fine": stdio(fine), "odd": {**entry, "handfast": {"surface": surface}}}
        with running(servers, tmp_path) as gateway:
            client = gateway.client(is_modern=True)
            client.path = "/mcp"
            for _ in odd:
                listed = client.request("tools/list").result["tools"]
                assert [tool["name"] for tool in listed][:1] == ["fine__add"]
    assert [line for line in gateway.errors if b"Traceback" in line] == []


@pytest.mark.requirement("S8")
@pytest.mark.parametrize("version", ['{"a":\r\n1}', '"2025-11-25\\r\\nx: y"', "5", '"\\ud800"'])
def test_a_servers_odd_revision_never_becomes_a_header(tmp_path: Path, version: str) -> None:
    greeting = f'{{"protocolVersion":{version},"serverInfo":{INFO},"capabilities":{{"tools":{{}}}}}}'
    stub = write_stub(
        tmp_path,
        tools=[tool("add")],
        answers={"add": answer(FINE)},
        methods={"initialize": answer(greeting)},
        versions=LEGACY,
    )

    async def work(backend: Backend) -> None:
        assert json.loads(await ask(backend, "add"))["result"]["content"]

    with entry_for(stub, "http-json") as entry:
        asking(entry, tmp_path, work)
    said = {entry.headers.get("mcp-protocol-version") for entry in stub.journal.messages() if b"add" in entry.bytes}
    assert said == {"2025-11-25"}


@pytest.mark.requirement("S8")
@pytest.mark.requirement("E2")
@pytest.mark.parametrize("way", ["stdio", "http-sse"])
@pytest.mark.parametrize("state", [5, {"x": 1}, True, "", "never given out"])
def test_a_state_that_was_never_given_out_does_not_begin_the_call_again(tmp_path: Path, way: Way, state: Json) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(FINE)}, versions=LEGACY)

    async def work(backend: Backend) -> None:
        raw = call(1, "add", _meta=MODERN_META, requestState=state, inputResponses={})
        answered = json.loads((await backend.request(read_message(raw), Requester(Caller(session="me"), ignore))).raw)
        assert answered["error"]["code"] == -32602

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)
    assert stub.journal.calls("add") == []
