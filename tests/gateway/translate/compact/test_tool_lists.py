"""The list behind the dispatcher: every page of it, kept for each caller, asked for again when it may be old."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from handfast.core.call.caller import Caller
from handfast.gateway.translate.backend import Requester, ignore
from handfast.gateway.translate.compact.tool_lists import ListRefused, ToolList, ToolLists
from handfast.wire.message import Message, read_message

Json = Any  # Any: decoded JSON
PREFIX = "io.modelcontextprotocol/"


@dataclass
class Pager:
    """A server that has as many pages as results, each named by its number."""

    results: list[Json]
    asked: list[Json] = field(default_factory=list)

    async def request(self, message: Message, origin: Requester) -> Message:
        params = json.loads(message.raw)["params"]
        self.asked.append((origin.caller.name, params))
        number = int(params.get("cursor", "0"))
        more = {"nextCursor": str(number + 1)} if number + 1 < len(self.results) else {}
        result = {**more, **self.results[number]}
        return read_message(json.dumps({"jsonrpc": "2.0", "id": message.id, "result": result}).encode())


@dataclass
class World:
    server: Pager
    now: float = 0.0

    def __post_init__(self) -> None:
        self.lists = ToolLists(self.server, lambda: self.now)

    def find(self, caller: str = "", capabilities: Json = None, knowing: str | None = None) -> ToolList:
        meta = {PREFIX + "clientCapabilities": capabilities or {}, "progressToken": 1, "traceparent": "00"}
        raw = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"_meta": meta, "name": "up"}})
        question = self.lists.find(
            read_message(raw.encode()), Requester(Caller(session=caller), ignore), knowing=knowing
        )
        return asyncio.run(question)

    @property
    def questions(self) -> int:
        return len(self.server.asked)


def page(*names: str, **more: Json) -> Json:
    return {"tools": [{"name": name, "inputSchema": {}} for name in names], **more}


def test_every_page_is_followed_in_the_server_s_order_and_in_the_client_s_name() -> None:
    world = World(Pager([page("b", _meta={"x": 1}), page("a", "b"), page("c")]))
    found = world.find("ada")
    assert list(found.tools) == ["b", "a", "c"]
    assert (found.is_whole, found.meta) == (True, b'{"x": 1}')
    meta = {PREFIX + "clientCapabilities": {}, "traceparent": "00"}
    assert world.server.asked == [
        ("session ada", {"_meta": meta}),
        ("session ada", {"_meta": meta, "cursor": "1"}),
        ("session ada", {"_meta": meta, "cursor": "2"}),
    ]


def test_a_list_is_kept_for_a_while_and_for_as_long_as_the_server_says() -> None:
    world = World(Pager([page("a", ttlMs=0)]))
    world.find()
    world.now = 29.0
    world.find()
    assert world.questions == 1
    world.now = 31.0
    world.find()
    assert world.questions == 2
    world = World(Pager([page("a", ttlMs=120_000, cacheScope="public"), page("b", ttlMs=60_000, cacheScope="public")]))
    assert (world.find().ttl_ms, world.find().is_private) == (60_000, False)
    world.now = 59.0
    world.find()
    assert world.questions == 2
    world.now = 61.0
    world.find()
    assert world.questions == 4


@pytest.mark.parametrize("words", [{"ttlMs": "soon"}, {"ttlMs": -1}, {"ttlMs": 10**12}, {"cacheScope": 1}, {}])
def test_odd_words_about_time_do_no_harm(words: Json) -> None:
    world = World(Pager([page("a", **words)]))
    assert world.find().is_private
    world.now = 3601.0
    world.find()
    assert world.questions == 2


def test_a_change_or_a_name_that_is_missing_asks_again() -> None:
    world = World(Pager([page("a")]))
    world.find()
    world.server.results = [page("a", "new")]
    assert list(world.find(knowing="a").tools) == ["a"]
    assert list(world.find(knowing="new").tools) == ["a", "new"]
    world.server.results = [page("other")]
    world.lists.forget()
    assert list(world.find().tools) == ["other"]


@pytest.mark.requirement("F6")
def test_a_storm_of_changes_asks_once_a_second_however_many_calls_there_are() -> None:
    world = World(Pager([page("a")]))
    for _ in range(100):
        world.lists.forget()
        world.find()
    assert world.questions == 1
    world.now += 1.0
    world.find()
    assert world.questions == 2, "the last change is seen"


def test_callers_and_clients_that_can_do_more_have_lists_of_their_own() -> None:
    world = World(Pager([page("a")]))
    for _ in range(2):
        world.find("ada")
        world.find("bob")
        world.find("bob", {"sampling": {}})
    assert world.questions == 3


def test_what_is_kept_is_bounded() -> None:
    world = World(Pager([page("a")]))
    for number in range(40):
        world.find(str(number))
    world.find("39")
    assert world.questions == 40
    world.find("0")
    assert world.questions == 41


def test_a_server_that_never_stops_paging_is_stopped() -> None:
    world = World(Pager([page(str(number)) for number in range(300)]))
    found = world.find()
    assert (len(found.tools), found.is_whole) == (200, False)
    world = World(Pager([page("a", fill="x" * 9_000_000), page("b", fill="x" * 9_000_000), page("c")]))
    found = world.find()
    assert (list(found.tools), found.is_whole) == (["a", "b"], False)


@pytest.mark.parametrize("result", [{}, {"tools": 1}, None])
def test_what_is_no_list_is_refused_with_the_server_s_own_answer(result: Json) -> None:
    class Odd:
        async def request(self, message: Message, origin: Requester) -> Message:
            return read_message(json.dumps({"jsonrpc": "2.0", "id": message.id, "result": result}).encode())

    with pytest.raises(ListRefused) as found:
        World(Odd()).find()  # type: ignore[arg-type]  # another server than the usual
    assert json.loads(found.value.answer.raw) == {"jsonrpc": "2.0", "id": 7, "result": result}
