"""One client that tries to get what is another's."""

import asyncio
from pathlib import Path

import pytest

from handfast.gateway.backend import Backend
from tests.gateway.bridge.asking import LEGACY, MODERN, PREFIX, Asker, Json, Way, asking, entry_for
from tests.stubs.run import answer, tool, write_stub

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
