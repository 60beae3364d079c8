"""`/mcp`: all servers at one address for clients of both eras, and a choice of them by the query."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from handfast.gateway import serving as in_process
from handfast.gateway.runtime import Runtime
from handfast.gateway.settings import load_settings
from handfast.wire import message as wire_message
from handfast.wire import scan
from tests.attacks.test_shared_process import Caller
from tests.contracts.rig import HttpGateway, Json
from tests.gateway.running import TEXT, Serving, eventually, read_records, running, send, stdio
from tests.gateway.translate.servers.asking import LEGACY, MODERN
from tests.stubs.run import answer, serving, tool, write_stub

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A legacy server over stdio, a modern one over HTTP, and one that does not start."""
    folder = tmp_path_factory.mktemp("all")
    old = write_stub(folder, name="old", tools=[tool("add")], answers={"add": answer(TEXT)}, versions=LEGACY)
    new = write_stub(
        folder, name="new", tools=[tool("add"), tool("sub")], answers={"sub": answer(TEXT)}, versions=MODERN
    )
    with serving(new, "http-json") as url:
        servers: Json = {
            "old": {"command": old.command[0], "args": old.command[1:]},
            "new": {"url": url},
            "gone": {"command": "handfast-no-such-command"},
        }
        with running(servers, folder) as gateway:
            yield gateway


class All(HttpGateway):
    """A client of `/mcp`."""

    def __init__(self, gateway: Serving, query: str = "", *, is_modern: bool) -> None:
        super().__init__(gateway.base, gateway.state, is_modern=is_modern)
        self.path = f"/mcp{query}"
        self.open()


@pytest.mark.quick
@pytest.mark.requirement("D12")
@pytest.mark.parametrize("is_modern", [False, True])
def test_clients_of_both_eras_use_servers_of_both_eras(gateway: Serving, is_modern: bool) -> None:
    client = All(gateway, is_modern=is_modern)
    listed = client.request("tools/list").result
    assert [tool["name"] for tool in listed["tools"]] == ["new__add", "new__sub", "old__add"]
    assert "gone" in json.dumps(listed["_meta"]), "what is missing is said"
    assert client.call("old__add").text == "fine"
    assert client.call("new__sub").text == "fine"
    assert "no such command" in client.call("gone__add").text
    assert "old__add" in client.call("old__ad").text, "the nearest name is named"


@pytest.mark.parametrize("is_modern", [False, True])
@pytest.mark.parametrize("name", ["old__none", "nobody__add", "add"])
def test_a_call_that_reaches_no_server_is_on_record_once(gateway: Serving, name: str, is_modern: bool) -> None:
    def seen() -> list[tuple[str, str, str, str]]:
        records = read_records(gateway.state, type="tool_call", tool=name)
        return [(record.server, record.status, record.rule, record.reason) for record in records]

    before = seen()
    text = All(gateway, is_modern=is_modern).call(name).text
    eventually(lambda: seen() == [*before, ("", "error", "combined.refused", text)], "the call on record")


def test_a_call_is_on_record_under_the_server_s_own_names(gateway: Serving) -> None:
    All(gateway, is_modern=True).call("old__add", {"x": 1})
    found = eventually(lambda: read_records(gateway.state, server="old", type="tool_call"), "the call on record")
    assert {record.tool for record in found} == {"add"}


@pytest.mark.parametrize("is_modern", [False, True])
def test_a_client_may_choose_servers(gateway: Serving, is_modern: bool) -> None:
    client = All(gateway, "?servers=old", is_modern=is_modern)
    assert [tool["name"] for tool in client.list_tools()] == ["old__add"]
    assert client.call("new__sub").message["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("?servers=old,nobody", 404, "Servers: gone, new, old."),
        ("?servers=", 404, "Servers: gone, new, old."),
        ("?server=old", 400, "/mcp?servers=a,b"),
        ("?servers=old&x=1", 400, "/mcp?servers=a,b"),
    ],
)
def test_a_choice_that_cannot_be_met_is_refused_with_what_there_is(
    gateway: Serving, query: str, status: int, words: str
) -> None:
    refused = send(gateway.base, "POST", f"/mcp{query}", b"{}", JSON)
    assert refused.status == status
    assert words in refused.error["message"]


NAMES = "abcdefg"
CHOICES = ["".join(name for bit, name in enumerate(NAMES) if number >> bit & 1) for number in range(1, 128)]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("many")
    stub = write_stub(folder, tools=[tool("add")], answers={"add": answer(TEXT)}, versions=MODERN)
    with running({name: stdio(stub) for name in NAMES}, folder) as gateway:
        yield gateway


def choose(gateway: Serving, choice: str, name: str, *, is_modern: bool) -> Caller:
    caller = Caller(gateway, f"/mcp?servers={','.join(choice)}#{choice[0]}", name, is_modern=is_modern)
    caller.open()
    return caller


@pytest.mark.requirement("F7")
def test_a_session_whose_initialize_took_long_to_arrive_is_known(many: Serving) -> None:
    """What others asked for meanwhile made the gateway forget the choice that it is for."""
    victim = Caller(many, f"/mcp?servers={CHOICES[0]}#{CHOICES[0]}", "victim", is_modern=False)
    whole = json.dumps(victim.render("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})).encode()

    def pieces() -> Iterator[bytes]:
        yield whole[:40]
        for choice in CHOICES[1:72]:
            choose(many, choice, "greedy", is_modern=True).request("prompts/get", {"name": "none__x"})
        yield whole[40:]

    opened = send(many.base, "POST", victim.path, pieces(), victim.headers(whole))
    victim.session = opened.headers["mcp-session-id"]
    assert victim.run("add").text == "fine"


@pytest.mark.requirement("F7")
def test_choices_of_one_client_keep_no_other_from_its_own(many: Serving) -> None:
    """Each of them was kept as long as a session was open there, and there were 64."""
    victim = choose(many, CHOICES[0], "victim", is_modern=False)
    for choice in CHOICES[1:-1]:
        assert choose(many, choice, "greedy", is_modern=False).session
    assert victim.run("add").text == "fine"
    for is_modern in (False, True):
        assert choose(many, CHOICES[-1], "victim", is_modern=is_modern).run("add").text == "fine"


def test_a_session_belongs_to_the_choice_it_was_opened_for(gateway: Serving) -> None:
    chosen, every = All(gateway, "?servers=old", is_modern=False), All(gateway, is_modern=False)
    every.session = chosen.session
    assert every.request("tools/list").status == 404


# Whatever reads a text of a message.
READERS = (wire_message.read_message, wire_message.read_level, scan.read_pairs, scan.scan_items)
PADDING = 4000  # of the arguments and of the result: what reads so much has read the message whole


@contextmanager
def counting() -> Iterator["Counter[str]"]:
    """How often each reader was given as much as a whole message, by this thread."""
    found: Counter[str] = Counter()
    codes = {reader.__code__: reader.__name__ for reader in READERS}

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code in codes:
            given = frame.f_locals
            text = given["raw"] if "raw" in given else given["text"]
            if len(text) >= PADDING:
                found[codes[frame.f_code]] += 1

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


def test_a_call_and_its_answer_are_each_read_once_whatever_the_eras(tmp_path: Path) -> None:
    """As on the relay: all that is changed on the way is changed without reading the rest again."""
    result = {"content": [{"type": "text", "text": "x" * PADDING}], "structuredContent": {"n": 1}}
    stubs = {
        name: write_stub(
            tmp_path,
            name=name,
            tools=[tool("add", output_schema={"type": "object", "required": ["n"]})],
            answers={"add": answer(json.dumps(result))},
            versions=versions,
        )
        for name, versions in (("old", LEGACY), ("new", MODERN), ("old-http", LEGACY), ("new-http", MODERN))
    }
    with serving(stubs["old-http"], "http-json") as old, serving(stubs["new-http"], "http-sse") as new:
        urls = {"old-http": {"url": old}, "new-http": {"url": new}}
        servers = {name: urls.get(name) or stdio(stub) for name, stub in stubs.items()}
        found = asyncio.run(count_reads(servers, tmp_path))
    assert found == {(is_modern, name): {"read_message": 2} for is_modern in (False, True) for name in stubs}


async def count_reads(servers: Json, folder: Path) -> dict[tuple[bool, str], dict[str, int]]:
    config = folder / "handfast.json"
    modes = {"input_validation": {"mode": "strict"}, "output_validation": {"mode": "strict"}}
    config.write_text(json.dumps({"mcpServers": servers, "listen": "127.0.0.1:0", **modes}))
    settings = load_settings(config, environ={})
    listener = in_process.bind(settings)
    found: dict[tuple[bool, str], dict[str, int]] = {}
    async with in_process.gateway(Runtime(settings, folder / "state"), listener):
        for is_modern in (False, True):
            client = HttpGateway(in_process.address_of(listener), folder / "state", is_modern=is_modern)
            client.path = "/mcp"
            await asyncio.to_thread(client.open)
            for name in servers:
                first = await asyncio.to_thread(client.call, f"{name}__add", {"text": "x" * PADDING})
                with counting() as read:  # the tool is known by now, and so is its server's era
                    again = await asyncio.to_thread(client.call, f"{name}__add", {"text": "x" * PADDING})
                assert first.result["content"] == again.result["content"] != []
                found[is_modern, name] = dict(read)
    return found
