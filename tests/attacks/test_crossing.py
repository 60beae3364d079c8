"""One client that tries to get what is another's."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from handfast.gateway.translate.backend import Backend
from tests.contracts.rig import MODERN_META
from tests.gateway.running import Serving, meanwhile, one_record, request, running, send, stdio
from tests.gateway.translate.servers.asking import LEGACY, MODERN, PREFIX, Asker, Json, Way, asking, entry_for
from tests.stubs.run import Journal, answer, tool, write_stub

FINE = {"content": [{"type": "text", "text": "fine"}]}
ACCEPT = {"action": "accept", "content": {}}
ASKS: Json = {"elicitation": {}}


def test_a_modern_server_that_hands_out_a_session_gets_it_back_from_nobody(tmp_path: Path) -> None:
    given = answer(FINE, headers="Mcp-Session-Id: of-the-first\r\n")
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": given}, versions=MODERN)

    async def work(backend: Backend) -> None:
        for caller in "ab":
            assert (await Asker(backend, caller).call("add"))["result"]["content"] == FINE["content"]
        assert (await Asker(backend, "c").ask("no/such"))["error"]["code"] == -32601

    with entry_for(stub, "http-json") as entry:
        asking(entry, tmp_path, work)
    assert [entry.headers.get("mcp-session-id") for entry in stub.journal.messages()].count("of-the-first") == 0


@pytest.mark.parametrize("way", ["stdio", "http-sse"])
@pytest.mark.parametrize("change", ["capabilities", "level"])
def test_an_answer_reaches_the_process_that_asked_whatever_else_the_retry_says(
    tmp_path: Path, way: Way, change: str
) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(FINE, "server_request")}, versions=LEGACY)

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS)
        asked = (await asker.call("add"))["result"]
        if change == "capabilities":
            asker.capabilities = {}
        meta = {PREFIX + "logLevel": "debug"} if change == "level" else None
        retry = {"requestState": asked["requestState"], "inputResponses": {next(iter(asked["inputRequests"])): ACCEPT}}
        reply = await asyncio.wait_for(asker.call("add", meta=meta, **retry), 10)
        assert reply["result"]["content"] == FINE["content"]

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)


@pytest.mark.requirement("E2")
def test_a_question_goes_to_the_client_whose_call_it_is_though_nobody_signed_in(tmp_path: Path) -> None:
    """On a line nothing says which call a question is about, so two clients must not share one."""
    answers = {"transfer": answer(FINE, "progress:1:0.5", "server_request"), "wait": answer(FINE, "slow:1")}
    stub = write_stub(tmp_path, tools=[tool(name) for name in answers], answers=answers, versions=LEGACY)

    def has_calls(journal: Journal, number: int) -> bool:
        return len(journal.calls("transfer")) == number

    def call(gateway: Serving, path: str, client: str, name: str) -> Json:
        meta = {
            **MODERN_META,
            PREFIX + "clientCapabilities": ASKS,
            PREFIX + "clientInfo": {"name": client, "version": "1"},
        }
        name = name if path == "/mcp/up" else f"up__{name}"
        body = request(1, "tools/call", name=name, arguments={}, _meta=meta)
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": name,
        }
        return json.loads(send(gateway.base, "POST", path, body, headers).body)["result"]

    with running({"up": stdio(stub)}, tmp_path) as gateway:
        for number, path in enumerate(("/mcp/up", "/mcp"), 1):
            with meanwhile(partial(call, gateway, path, "mine", "transfer")) as mine:
                stub.journal.wait_for(partial(has_calls, number=number))
                yours = call(gateway, path, "yours", "wait")
            found = (mine.result()["resultType"], yours["resultType"])
            assert found == ("input_required", "complete"), path


@pytest.mark.requirement("F3")
@pytest.mark.requirement("D23")
@pytest.mark.parametrize(("path", "surface"), [("/mcp/up", "full"), ("/mcp/up", "compact"), ("/mcp", "full")])
def test_a_question_is_not_put_to_another_call_though_both_clients_have_one_name(
    tmp_path: Path, path: str, surface: str
) -> None:
    """Nothing but their calls tells them apart. The first time the question is refused, then calls take turns."""
    answers = {"transfer": answer(FINE, "progress:1:0.5", "server_request"), "wait": answer(FINE, "slow:1.5")}
    stub = write_stub(tmp_path, tools=[tool(name) for name in answers], answers=answers, versions=LEGACY)

    def call(gateway: Serving, name: str, **more: Json) -> Json:
        arguments: Json = {}
        if surface == "compact":
            name, arguments = "up", {"action": name, "arguments": {}}
        elif path == "/mcp":
            name = f"up__{name}"
        meta = {**MODERN_META, PREFIX + "clientCapabilities": ASKS}
        body = request(1, "tools/call", name=name, arguments=arguments, _meta=meta, **more)
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": name,
        }
        return json.loads(send(gateway.base, "POST", path, body, headers).body)["result"]

    with running({"up": stdio(stub, handfast={"surface": surface})}, tmp_path) as gateway:
        with meanwhile(partial(call, gateway, "transfer")) as mine:
            stub.journal.wait_for(lambda journal: journal.calls("transfer"))
            yours = call(gateway, "wait")
        assert (mine.result()["resultType"], yours["resultType"]) == ("complete", "complete")
        (refused,) = [entry.message for entry in stub.journal.messages() if "error" in entry.message]
        assert refused["error"]["code"] == -32601
        record = one_record(gateway.state, type="diagnostic", rule="message.unowned")
        assert record.reason == (
            "The server sent elicitation/create while several calls were under way, and was refused."
        )
        with meanwhile(partial(call, gateway, "transfer")) as mine:
            stub.journal.wait_for(lambda journal: len(journal.calls("transfer")) == 2)
            yours = call(gateway, "wait")
        asked = mine.result()
        assert (asked["resultType"], yours["resultType"]) == ("input_required", "complete")
        retry = {"requestState": asked["requestState"], "inputResponses": {next(iter(asked["inputRequests"])): ACCEPT}}
        with meanwhile(partial(call, gateway, "wait")) as yours_again:
            stub.journal.wait_for(lambda journal: len(journal.calls("wait")) == 3)
            assert call(gateway, "transfer", **retry)["resultType"] == "complete"
        assert yours_again.result()["resultType"] == "complete"


@pytest.mark.requirement("F3")
def test_a_server_asks_nothing_of_clients_that_share_its_session(tmp_path: Path) -> None:
    """They can be asked nothing, and a question on the listening stream says nothing of the call it is about."""
    question = b'data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Go on?"}}\n\n'
    answers = {"ask": answer(FINE, "slow:0.5", events=question), "wait": answer(FINE, "slow:1.5")}
    stub = write_stub(tmp_path, tools=[tool(name) for name in answers], answers=answers, versions=LEGACY)

    async def work(backend: Backend) -> None:
        mine = asyncio.create_task(Asker(backend, "a").call("ask"))
        await asyncio.to_thread(stub.journal.wait_for, lambda journal: journal.calls("ask"))
        yours = await Asker(backend, "b").call("wait")
        assert [(await mine)["result"]["content"], yours["result"].get("content")] == [FINE["content"]] * 2

    with entry_for(stub, "http-json") as entry:
        asking(entry, tmp_path, work)
    assert one_record(tmp_path / "state", type="diagnostic", rule="message.unowned").reason == (
        "The server sent elicitation/create outside a call, and was refused."
    )


def test_a_session_is_good_at_the_address_that_gave_it_and_nowhere_else(tmp_path: Path) -> None:
    stubs = {
        name: write_stub(tmp_path, name=name, tools=[tool("add")], answers={"add": answer(FINE)}, versions=versions)
        for name, versions in (("old", LEGACY), ("new", MODERN))
    }
    places = ("/mcp", "/mcp?servers=old", "/mcp?servers=new", "/mcp/old", "/mcp/new")
    with running({name: stdio(stub) for name, stub in stubs.items()}, tmp_path) as gateway:
        for given in places:
            client = gateway.client(opens=False)
            client.path = given
            client.open()
            assert client.session
            for path in places:
                client.path = path
                body = request(5, "tools/list")
                for method in ("POST", "GET", "DELETE"):
                    if path != given:
                        headers = client.headers(body) | {"Last-Event-ID": "1-1"}
                        found = send(gateway.base, method, path, body if method == "POST" else None, headers)
                        assert found.status == 404, (given, path, method, found.body)
            client.path = given
            assert client.list_tools(), given
