"""Servers of either era that misbehave, asked in the modern form: every request ends, and nothing is left of it."""

import asyncio
import json
import os
import time
from pathlib import Path

import pytest

from handfast.core.call.caller import Caller
from handfast.gateway.admission import server_era
from handfast.gateway.calls.flow import Flow
from handfast.gateway.translate.backend import Backend, Requester, leave
from handfast.gateway.translate.servers.judged_server import JudgedServer
from handfast.wire.message import read_message
from tests.gateway.running import eventually, is_running, pids, read_records
from tests.gateway.translate.servers.asking import LEGACY, MODERN, PREFIX, WAYS, Asker, Json, Way, asking, entry_for
from tests.stubs.run import Stub, answer, tool, write_stub

FINE = {"content": [{"type": "text", "text": "fine"}]}
ASKS: Json = {"elicitation": {}}
SHORT: Json = {"limits": {"call_timeout_s": 0.5}}
LOUD: Json = {PREFIX + "logLevel": "debug"}


def stub_of(folder: Path, versions: list[str] = LEGACY, methods: Json = None, **answers: object) -> Stub:
    tools = [tool(name) for name in answers]
    return write_stub(folder, tools=tools, answers=answers, versions=versions, methods=methods or {})


async def wait_for(stub: Stub, what: str) -> None:
    await asyncio.to_thread(stub.journal.wait_for, lambda journal: what in journal.methods())


def endings(folder: Path) -> list[tuple[str, str]]:
    return [(record.status.value, record.rule) for record in read_records(folder / "state", type="tool_call")]


# --- calls that are held for the client ------------------------------------------------------------------------------


def test_a_call_that_is_held_when_its_server_dies_is_not_carried_on_in_another_session(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, add=answer(FINE, "server_request"))

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS)
        asked = (await asker.call("add"))["result"]
        os.kill(pids(stub)[-1], 9)
        await asyncio.to_thread(_until_gone, pids(stub)[-1])
        retry = {
            "requestState": asked["requestState"],
            "inputResponses": {next(iter(asked["inputRequests"])): {"action": "accept"}},
        }
        late = await asker.call("add", **retry)
        # Refused once the end was noticed; before that the call is taken up, and ends with its process.
        assert late["error"]["code"] in (-32602, -31001)

    with entry_for(stub, "stdio") as entry:
        asking(entry, tmp_path, work)
    answers = [entry.message for entry in stub.journal.messages() if "method" not in entry.message]
    assert answers == [], "the answer to a question of the one process went to another"


def test_a_retry_that_says_more_of_its_client_is_carried_on_where_the_call_began(tmp_path: Path) -> None:
    """With a log level it would have a session of its own."""
    stub = stub_of(tmp_path, add=answer(FINE, "server_request"))

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS)
        asked = (await asker.call("add"))["result"]
        retry = {
            "requestState": asked["requestState"],
            "inputResponses": {next(iter(asked["inputRequests"])): {"action": "accept"}},
        }
        assert (await asker.call("add", meta=LOUD, **retry))["result"]["content"] == FINE["content"]

    with entry_for(stub, "stdio") as entry:
        asking(entry, tmp_path, work)


@pytest.mark.parametrize("way", ["stdio", "http-sse"])
def test_a_call_under_way_or_held_ends_with_the_gateway(tmp_path: Path, way: Way) -> None:
    stub = stub_of(tmp_path, add=answer(FINE, "server_request"), slow=answer(FINE, "slow:60"))
    under_way: list[asyncio.Task[Json]] = []

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS)
        await asker.call("add")
        under_way.append(asyncio.create_task(asker.call("slow")))
        await asyncio.to_thread(stub.journal.wait_for, lambda journal: journal.calls("slow"))
        assert isinstance(backend, JudgedServer)
        await backend.close()  # as the gateway does
        reply = await under_way[0]
        assert reply["error"]["code"] == -31001

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)
    assert endings(tmp_path) == [("success", ""), ("error", "upstream.failed")]


# --- servers that do not do their part -------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("versions", [LEGACY, MODERN], ids=["legacy", "modern"])
def test_a_server_that_dies_in_mid_call_is_an_error_and_no_cancellation(
    tmp_path: Path, way: Way, versions: list[str]
) -> None:
    stub = stub_of(tmp_path, versions, add=answer(FINE, "close"))

    async def work(backend: Backend) -> None:
        reply = await Asker(backend, "me", ASKS).call("add", meta=LOUD)
        assert reply["error"]["code"] == -31001

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)
    assert endings(tmp_path) == [("error", "upstream.failed")]
    assert len(stub.journal.calls("add")) == 1, "it may have run"


@pytest.mark.parametrize("versions", [LEGACY, MODERN], ids=["legacy", "modern"])
def test_babble_is_no_sign_of_life(tmp_path: Path, versions: list[str]) -> None:
    stub = stub_of(tmp_path, versions, add=answer(FINE, "endless"))

    async def work(backend: Backend) -> None:
        reply = await asyncio.wait_for(Asker(backend, "me", ASKS).call("add", meta=LOUD), 20)
        assert reply["error"]["code"] == -31002

    with entry_for(stub, "stdio") as entry:
        asking(entry, tmp_path, work, SHORT)
    assert endings(tmp_path) == [("error", "upstream.timeout")]


@pytest.mark.parametrize("way", ["stdio", "http-sse"])
def test_a_server_that_never_sets_the_log_level_is_waited_for_once(tmp_path: Path, way: Way) -> None:
    stub = stub_of(tmp_path, methods={"logging/setLevel": answer(None, "silence")}, add=answer(FINE))

    async def work(backend: Backend) -> None:
        asker = Asker(backend, "me", ASKS)
        reply = await asyncio.wait_for(asker.call("add", meta=LOUD), 20)
        assert reply["error"]["code"] == -31002
        for meta in (LOUD, None):
            assert (await asker.call("add", meta=meta))["result"]["content"] == FINE["content"]

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work, SHORT)


def test_a_server_that_will_not_let_go_of_a_session_does_not_keep_the_gateway(tmp_path: Path) -> None:
    """Its DELETE is answered by nobody: it stops reading before."""
    stub = stub_of(tmp_path, add=answer(FINE))

    async def work(backend: Backend) -> None:
        await Asker(backend, "me", ASKS).call("add")
        os.kill(pids(stub)[-1], 19)  # SIGSTOP

    began = time.monotonic()
    with entry_for(stub, "http-json") as entry:
        asking(entry, tmp_path, work)
        os.kill(pids(stub)[-1], 18)  # SIGCONT
    assert time.monotonic() - began < 60


# --- clients that read slowly ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("way", "versions"), [("stdio", LEGACY), ("stdio", MODERN), ("http-sse", LEGACY)])
def test_a_flood_waits_for_its_client_and_comes_whole(tmp_path: Path, way: Way, versions: list[str]) -> None:
    stub = stub_of(tmp_path, versions, add=answer(FINE, "notify:5000"))

    async def work(backend: Backend) -> None:
        flow, heard = Flow(), 0

        def send(_message: bytes) -> None:
            nonlocal heard
            heard += 1
            if heard == 10:
                flow.hold(True)

        meta = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": ASKS, **LOUD}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "_meta": meta}}
        origin = Requester(Caller(session="me"), send, flow=flow)
        message = read_message(json.dumps(asked).encode())
        call = asyncio.create_task(backend.request(message, origin))
        await asyncio.to_thread(stub.journal.wait_for, lambda journal: journal.calls("add"))
        done, _ = await asyncio.wait((call,), timeout=0.5)
        assert (done, heard) == (set(), 10), "the answer overtook what comes before it"
        flow.hold(False)
        assert json.loads((await call).raw)["result"]["content"] == FINE["content"]
        assert heard == 5000

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)


# --- callers that are gone -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("versions", [LEGACY, MODERN], ids=["legacy", "modern"])
def test_the_processes_of_a_caller_end_when_it_leaves(tmp_path: Path, versions: list[str]) -> None:
    stub = stub_of(tmp_path, versions, add=answer(FINE))

    async def work(backend: Backend) -> None:
        await Asker(backend, "you", ASKS).call("add", meta=LOUD)
        yours = pids(stub)[-1]
        await Asker(backend, "me", ASKS).call("add", meta=LOUD)
        mine = pids(stub)[-1]
        leave(backend, Caller(session="me"))
        await asyncio.to_thread(_until_gone, mine)
        assert is_running(yours)

    with entry_for(stub, "stdio") as entry:
        asking(entry, tmp_path, work)


def test_a_caller_that_leaves_while_its_process_starts_leaves_none(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, methods={"initialize": answer(None, "silence")}, add=answer(FINE))

    async def work(backend: Backend) -> None:
        assert isinstance(backend, JudgedServer)
        backend.native.knows(is_modern=False)  # or the process that hangs would be the one that is asked for its era
        call = asyncio.create_task(Asker(backend, "me", ASKS).call("add"))
        await wait_for(stub, "initialize")
        started = pids(stub)
        leave(backend, Caller(session="me"))
        assert (await call)["error"]["code"] == -31001
        for pid in started:
            await asyncio.to_thread(_until_gone, pid)

    with entry_for(stub, "stdio") as entry:
        asking(entry, tmp_path, work, {"input_validation": {"mode": "off"}, "output_validation": {"mode": "off"}})


# --- requests that may be sent again ---------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("versions", [LEGACY, MODERN], ids=["legacy", "modern"])
def test_a_request_that_changes_nothing_is_sent_again_when_the_server_breaks_off(
    tmp_path: Path, way: Way, versions: list[str]
) -> None:
    prompts = [answer(None, "close"), answer({"prompts": [], "resultType": "complete"})]
    stub = stub_of(tmp_path, versions, methods={"prompts/list": prompts}, add=answer(FINE))

    async def work(backend: Backend) -> None:
        reply = await Asker(backend, "me").ask("prompts/list")
        assert "error" not in reply or way == "stdio", reply  # a new process begins its script anew

    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)
    assert stub.journal.methods().count("prompts/list") == 2


def _until_gone(pid: int) -> None:
    eventually(lambda: not is_running(pid), "its end")


@pytest.mark.requirement("F7")
@pytest.mark.parametrize("way", WAYS)
def test_a_modern_server_at_work_keeps_its_era_when_it_is_asked_for_it_and_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Way
) -> None:
    """It does one thing at a time: it answers `server/discover` when the call of another caller is done."""
    discovery = {
        "supportedVersions": MODERN,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "stub", "version": "1"},
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
    }
    silent = [answer(discovery), answer(None, "silence")]
    answers = {
        "slow": answer({"resultType": "complete", **FINE}, "slow:2"),
        "add": answer({"resultType": "complete", **FINE}),
        "odd": answer(None, error={"code": -32600, "message": "no such thing"}),
    }
    stub = write_stub(
        tmp_path,
        tools=[tool(name) for name in answers],
        answers=answers,
        methods={"server/discover": silent},
        versions=MODERN,
    )

    async def work(backend: Backend) -> None:
        mine, yours = Asker(backend, "mine"), Asker(backend, "yours")
        assert "result" in await yours.call("add")
        monkeypatch.setattr(server_era, "_PROBE_SECONDS", 0.3)  # only now: on a busy machine a start takes longer
        slow = asyncio.create_task(yours.call("slow"))
        await asyncio.to_thread(stub.journal.wait_for, lambda journal: journal.calls("slow"))
        assert (await mine.call("odd"))["error"]["code"] == -32600  # by which the era is to be found out again
        assert "result" in await mine.call("add")
        assert "result" in await slow
        assert stub.journal.methods().count("server/discover") == 2
        assert stub.journal.methods().count("initialize") == is_greeted

    is_greeted = way in ("stdio", "sse")  # a pipe of its own was offered a handshake first
    with entry_for(stub, way) as entry:
        asking(entry, tmp_path, work)
    assert len(stub.journal.events("started")) == 1 + (way == "stdio")
