"""The lists of all servers as one, also when some of them are down, slow, broken, endless or have gone."""

import asyncio
import json
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handfast.core.access.identity import Identity
from handfast.core.access.scopes import parse_scopes
from handfast.core.call.caller import Caller
from handfast.wire.message import Message, read_message
from handfast.wire.replies import answer, answer_message
from tests.gateway.translate.combined.scripted import KEYS, Rig, Scripted, items, params_of, request_of, until

UNAVAILABLE = "handfast/unavailable"


@pytest.mark.requirement("D12")
def test_the_tools_of_all_servers_are_listed_by_the_names_of_the_servers() -> None:
    rig = Rig({"b": Scripted({"tools/list": [items("z", "a")]}), "a": Scripted({"tools/list": [items("x")]})})
    assert asyncio.run(rig.names()) == ["a__x", "b__z", "b__a"]


@pytest.mark.requirement("D12")
def test_an_item_keeps_its_bytes_but_for_its_name() -> None:
    tool = b'{ "x": 1.0, "name" : "t\\u0041", "inputSchema":{"a":1e400,"name":"inner"}, "big":9007199254740993 }'
    rig = Rig({"s": Scripted({"tools/list": [b"[%s]" % tool]})})
    raw = asyncio.run(rig.ask_raw(b'{"jsonrpc":"2.0","id":"q","method":"tools/list","params":{"_meta":{}}}'))
    assert tool.replace(b'"t\\u0041"', b'"s__tA"') in raw
    assert raw.startswith(b'{"jsonrpc":"2.0","id":"q",')


@pytest.mark.parametrize("method", KEYS)
def test_only_servers_with_the_capability_are_asked(method: str) -> None:
    has, lacks = Scripted({method: [items("x")]}), Scripted({method: [items("y")]}, capabilities={})
    rig = Rig({"a": lacks, "b": has})
    asyncio.run(rig.ask(method))
    assert (method in has.methods(), method in lacks.methods()) == (True, False)


@pytest.mark.requirement("E5")
@pytest.mark.parametrize("key", ["resources/list", "resources/templates/list"])
def test_uris_are_never_rewritten_and_the_first_server_keeps_one_that_two_list(key: str) -> None:
    field = "uri" if key == "resources/list" else "uriTemplate"
    one, two = items("x:1", "x:2", key=field), items("x:2", "x:3", key=field)
    rig = Rig({"a": Scripted({key: [one]}), "b": Scripted({key: [two]})})

    async def twice() -> None:
        assert await rig.names(key) == ["x:1", "x:2", "x:3"]
        assert await rig.names(key) == ["x:1", "x:2", "x:3"]

    asyncio.run(twice())
    assert [(server, rule) for server, rule, _ in rig.diagnosed] == [("b", "combined.same_uri")]


def test_every_page_is_in_one_answer() -> None:
    rig = Rig({"a": Scripted({"tools/list": [items("1"), items("2"), items("3")]}), "b": Scripted()})
    result = asyncio.run(rig.ask("tools/list"))["result"]
    assert [tool["name"] for tool in result["tools"]] == ["a__1", "a__2", "a__3"]
    assert "nextCursor" not in result


def test_the_shortest_time_and_the_strictest_scope_of_the_parts_are_those_of_the_whole() -> None:
    one = Scripted({"tools/list": [items("x")]}, cache={"ttlMs": 9000, "cacheScope": "public"})
    two = Scripted({"tools/list": [items("y")]}, cache={"ttlMs": 4000, "cacheScope": "public"})
    private = Scripted({"tools/list": [items("z")]}, cache={"ttlMs": 5000, "cacheScope": "private"})
    mute = Scripted(capabilities={}, cache={})

    def kept(**servers: Scripted) -> tuple[int, str]:
        result = asyncio.run(Rig(dict(servers)).ask("tools/list"))["result"]
        return result["ttlMs"], result["cacheScope"]

    assert kept(a=one, b=two, d=mute) == (4000, "public")
    assert kept(a=one, b=two, c=private) == (4000, "private")
    assert kept(a=one, b=Scripted({"tools/list": [items("y")]}, cache={})) == (0, "private")


# --- servers in trouble ----------------------------------------------------------------------------------------------


def test_a_server_in_trouble_costs_only_its_own_items_and_the_answer_says_so() -> None:
    rig = Rig(
        {
            "broken": Scripted({"tools/list": [b'{"not":"a list"}']}),
            "down": Scripted({"tools/list": [items("x")]}, is_down=True),
            "good": Scripted({"tools/list": [items("x")]}),
            "odd": Scripted(
                answers={"tools/list": lambda _: b'{"jsonrpc":"2.0","id":1,"result":{"tools":[],"tools":[]}}'}
            ),
            "slow": Scripted({"tools/list": [items("x")]}, silent={"tools/list"}),
            "stuck": Scripted({"tools/list": [items("x")]}, silent={"server/discover"}),
        },
        seconds=0.1,
    )
    result = asyncio.run(rig.ask("tools/list"))["result"]
    assert [tool["name"] for tool in result["tools"]] == ["good__x"]
    assert result["ttlMs"] == 0
    assert result["_meta"][UNAVAILABLE] == {
        "broken": "It sent a list that cannot be read.",
        "down": "It answered with an error: It does not start. Try again in 5 seconds.",
        "odd": "It sent an answer that cannot be read.",
        "slow": "It did not answer in time.",
        "stuck": "It did not answer in time.",
    }
    assert {(server, rule) for server, rule, _ in rig.diagnosed} == {
        (server, "combined.unavailable") for server in ("broken", "down", "odd", "slow", "stuck")
    }


def test_slow_servers_are_waited_for_side_by_side_and_then_given_up() -> None:
    slow = [Scripted({"tools/list": [items("x")]}, silent={"tools/list"}) for _ in range(20)]
    rig = Rig({f"s{n}": server for n, server in enumerate(slow)}, seconds=0.2)

    async def timed() -> float:
        began = time.monotonic()
        await rig.ask("tools/list")
        took = time.monotonic() - began
        await until(lambda: all(server.cancelled for server in slow))
        return took

    assert 0.2 <= asyncio.run(timed()) < 2
    assert [server.cancelled for server in slow] == [["tools/list"]] * 20


def test_a_server_that_will_not_be_cancelled_holds_nobody() -> None:
    class Stubborn(Scripted):
        async def request(self, message, origin):  # type: ignore[no-untyped-def]  # as in the base
            while not self.ends.is_set():
                try:
                    await self.ends.wait()
                except asyncio.CancelledError:
                    self.cancelled.append("again")
            return answer_message(message.id, {})

    async def outlive() -> None:
        stubborn = Stubborn()
        rig = Rig({"a": stubborn, "b": Scripted({"tools/list": [items("x")]})}, seconds=0.05)
        assert await rig.names() == ["b__x"]
        stubborn.ends.set()

    asyncio.run(outlive())


def test_cancelling_the_request_cancels_what_was_asked_of_the_servers() -> None:
    slow = Scripted(silent={"server/discover"})
    rig = Rig({"a": slow})

    async def leave() -> None:
        task = asyncio.create_task(rig.ask("tools/list"))
        await until(lambda: slow.asked)
        task.cancel()
        await asyncio.wait([task])
        await until(lambda: slow.cancelled)

    asyncio.run(leave())
    assert slow.cancelled == ["server/discover"]


def test_a_crash_inside_one_part_leaves_the_others_their_answer(caplog: pytest.LogCaptureFixture) -> None:
    def crash(_: object) -> bytes:
        raise ZeroDivisionError

    rig = Rig({"a": Scripted(answers={"tools/list": crash}), "b": Scripted({"tools/list": [items("x")]})})
    assert asyncio.run(rig.names()) == ["b__x"]
    assert "failed inside the gateway" in caplog.text


def test_an_item_without_a_readable_name_is_left_out_alone() -> None:
    page = b'[{"name":"ok"},{"name":3},{"title":"x"},7,{"name":"a","name":"b"},{"name":"\\ud800"}]'
    rig = Rig({"a": Scripted({"tools/list": [page]})})
    assert asyncio.run(rig.names()) == ["a__ok"]
    assert [(server, rule) for server, rule, _ in rig.diagnosed] == [("a", "combined.unreadable")]


def test_a_list_that_a_server_lacks_after_all_is_no_trouble() -> None:
    rig = Rig({"a": Scripted(answers={}, capabilities={"resources": {}}), "b": Scripted(is_down=False)})
    lacking = b'{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}'
    rig.servers["a"] = Scripted(answers={"resources/templates/list": lambda _: lacking})
    result = asyncio.run(rig.ask("resources/templates/list"))["result"]
    assert (result["resourceTemplates"], UNAVAILABLE in result["_meta"]) == ([], False)


# --- pages and cursors -----------------------------------------------------------------------------------------------


def _pages(count: int) -> list[bytes]:
    return [items(str(n)) for n in range(count)]


async def _walk(rig: Rig, method: str = "tools/list") -> list[list[str]]:
    """Every page, each by the cursor of the one before."""
    found: list[list[str]] = []
    params: dict[str, str] = {}
    while True:
        result = (await rig.ask(method, params))["result"]
        found.append([next(iter(item.values())) for item in result[KEYS[method]]])
        if "nextCursor" not in result:
            return found
        params = {"cursor": result["nextCursor"]}


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 130), max_size=3))
def test_every_item_is_on_one_page_however_many_pages_servers_have(counts: dict[str, int]) -> None:
    rig = Rig({server: Scripted({"tools/list": _pages(count) or [b"[]"]}) for server, count in counts.items()})
    found = asyncio.run(_walk(rig))
    for page in found:
        assert [name[0] for name in page] == sorted(name[0] for name in page)
    assert sorted(name for page in found for name in page) == sorted(
        f"{server}__{n}" for server, count in counts.items() for n in range(count)
    )


def test_a_server_whose_pages_never_end_holds_nobody_and_hides_nobody() -> None:
    def endless(message: object) -> bytes:
        cursor = int(params_of(message).get("cursor", "0"))  # type: ignore[arg-type]  # a Message
        page = {"tools": [{"name": str(cursor)}], "nextCursor": str(cursor + 1), "ttlMs": 1, "cacheScope": "public"}
        return answer(message.id, page)  # type: ignore[attr-defined]  # a Message

    rig = Rig({"a": Scripted(answers={"tools/list": endless}), "b": Scripted({"tools/list": [items("x")]})})
    result = asyncio.run(rig.ask("tools/list"))["result"]
    assert [tool["name"] for tool in result["tools"]] == [*(f"a__{n}" for n in range(50)), "b__x"]
    again = asyncio.run(rig.ask("tools/list", {"cursor": result["nextCursor"]}))["result"]
    assert [tool["name"] for tool in again["tools"]] == [f"a__{n}" for n in range(50, 100)]


def test_a_page_that_leads_to_itself_ends_the_servers_part() -> None:
    def circular(message: object) -> bytes:
        return answer(message.id, {"tools": [{"name": "x"}], "nextCursor": "same"})  # type: ignore[attr-defined]

    rig = Rig({"a": Scripted(answers={"tools/list": circular})})
    result = asyncio.run(rig.ask("tools/list"))["result"]
    assert [tool["name"] for tool in result["tools"]] == ["a__x"]
    assert result["_meta"][UNAVAILABLE] == {"a": "Its list does not end: a page leads to itself."}


def test_a_huge_list_is_given_out_in_parts() -> None:
    huge = json.dumps([{"name": f"t{n}", "description": "x" * 100_000} for n in range(30)]).encode()
    rig = Rig({"a": Scripted({"tools/list": [huge, huge, huge]}), "b": Scripted({"tools/list": [items("x")]})})
    assert [len(page) for page in asyncio.run(_walk(rig))] == [61, 30]


def test_pages_that_come_too_late_are_behind_the_cursor() -> None:
    class Tiring(Scripted):
        async def request(self, message, origin):  # type: ignore[no-untyped-def]  # as in the base
            if len(self.asked) == 3:
                self.silent.add("tools/list")
            return await super().request(message, origin)

    tiring = Tiring({"tools/list": _pages(4)})
    rig = Rig({"a": tiring}, seconds=0.1)

    async def ask() -> list[str]:
        first = (await rig.ask("tools/list"))["result"]
        assert [tool["name"] for tool in first["tools"]] == ["a__0", "a__1"]
        assert UNAVAILABLE not in first["_meta"]
        tiring.silent.clear()
        tiring.asked.clear()
        rest = (await rig.ask("tools/list", {"cursor": first["nextCursor"]}))["result"]
        return [tool["name"] for tool in rest["tools"]]

    assert asyncio.run(ask()) == ["a__2", "a__3"]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=10), st.booleans())
def test_a_servers_cursor_comes_back_to_it_as_the_same_text(cursor: str, is_ascii: bool) -> None:
    written = json.dumps(cursor, ensure_ascii=is_ascii).encode()
    server = Scripted()
    replies = [b'"nextCursor":%s,' % written, b""]

    def page(message: object) -> bytes:
        head = b'{"jsonrpc":"2.0","id":1,"result":{"ttlMs":0,'
        return head + (replies.pop(0) if replies else b"") + b'"tools":[]}}'

    server.answers["tools/list"] = page
    asyncio.run(Rig({"a": server}).ask("tools/list"))
    assert params_of(server.asked[-1])["cursor"] == cursor


@pytest.mark.requirement("S8")
@pytest.mark.parametrize(
    "cursor", [b"5", b"{}", b'["x"]', b"true", b"NaN", b'"\\ud800"', b'"%s"' % (b"x" * 65_537), b'{"a":1,"a":2}']
)
def test_a_cursor_that_is_no_text_or_endless_costs_only_its_own_server_the_rest(cursor: bytes) -> None:
    def page(message: Message) -> bytes:
        head = b'{"jsonrpc":"2.0","id":"%s","result":{"tools":[{"name":"x"}],"nextCursor":%s}}'
        return head % (str(message.id).encode(), cursor)

    rig = Rig({"a": Scripted(answers={"tools/list": page}), "b": Scripted({"tools/list": [items("y")]})})
    result = asyncio.run(rig.ask("tools/list"))["result"]
    assert [tool["name"] for tool in result["tools"]] == ["a__x", "b__y"]
    assert "nextCursor" not in result
    assert result["_meta"][UNAVAILABLE] == {"a": "Its list goes on, but its cursor is not a string, or is too long."}


def test_a_cursor_outlives_servers_that_come_and_go() -> None:
    def servers(*names: str) -> dict[str, Scripted]:
        return {name: Scripted({"tools/list": _pages(51)}) for name in names}

    rig = Rig(dict(servers("a", "b")))

    async def walk() -> list[str]:
        first = (await rig.ask("tools/list"))["result"]
        rig.servers = dict(servers("b", "c"))
        return await rig.names(cursor=first["nextCursor"])

    assert asyncio.run(walk()) == ["b__50"]


@pytest.mark.parametrize("cursor", ["", "1", "hf1.AAAA", 5])
def test_a_cursor_that_was_not_given_out_is_refused(cursor: object) -> None:
    rig = Rig({"a": Scripted()})
    assert asyncio.run(rig.ask("tools/list", {"cursor": cursor}))["error"]["code"] == -32602


def test_a_cursor_of_another_list_is_refused() -> None:
    rig = Rig({"a": Scripted({"tools/list": _pages(60), "prompts/list": _pages(60)})})

    async def ask() -> int:
        cursor = (await rig.ask("prompts/list"))["result"]["nextCursor"]
        return int((await rig.ask("tools/list", {"cursor": cursor}))["error"]["code"])

    assert asyncio.run(ask()) == -32602


def test_no_servers_have_empty_lists() -> None:
    assert [asyncio.run(Rig({}).names(method)) for method in KEYS] == [[], [], [], []]


def test_a_list_waits_for_what_is_starting_and_not_for_what_began_long_ago() -> None:
    slow, late = Scripted({"tools/list": [items("x")]}), Scripted(silent={"server/discover"})

    async def answer_slowly() -> None:
        rig = Rig({"late": late, "slow": slow}, seconds=0.01, starting={"late": 25.0, "slow": 0.0})
        slow.silent.add("tools/list")
        asking = asyncio.create_task(rig.ask("tools/list"))
        done, _ = await asyncio.wait({asking}, timeout=0.1)  # ten times as long as any other server is given
        assert not done
        asking.cancel()
        rig.starting["slow"] = 25.0
        result = (await rig.ask("tools/list"))["result"]
        text = "It is still starting. Clients that listen are told when it is up."
        assert result["_meta"][UNAVAILABLE] == {"late": text, "slow": text}

    asyncio.run(answer_slowly())


def test_what_a_server_listed_the_last_time_stands_in_while_it_starts_and_clients_hear_of_its_own() -> None:
    server = Scripted({"tools/list": [items("x", "y")]})

    async def run() -> None:
        rig = Rig({"s": server}, seconds=0.01)
        await rig.combined.learn("s")
        listening = asyncio.create_task(rig.ask("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
        await until(lambda: rig.sent)
        rig.starting["s"] = 0.0
        server.silent.add("tools/list")
        result = (await rig.ask("tools/list"))["result"]
        assert [tool["name"] for tool in result["tools"]] == ["s__x", "s__y"]
        assert (result["ttlMs"], result["_meta"]["handfast/remembered"]) == (0, ["s"])
        assert UNAVAILABLE not in result["_meta"]
        rig.combined.server_is_up("s")
        await until(lambda: any(sent.get("method") == "notifications/tools/list_changed" for sent in rig.sent))
        listening.cancel()

    asyncio.run(run())


def test_no_client_waits_for_a_server_that_is_known_from_its_last_start() -> None:
    server = Scripted({"tools/list": [items("x")]}, discovery={"instructions": "Ask for x first."})

    async def run() -> None:
        rig = Rig({"s": server}, seconds=60)
        await rig.combined.learn("s")
        rig.starting["s"] = 0.0
        server.silent |= {"server/discover", "tools/list"}
        async with asyncio.timeout(20):  # a third of what any other server is given
            discovered = (await rig.ask("server/discover"))["result"]
            listed = (await rig.ask("tools/list"))["result"]
        assert "Ask for x first." in discovered["instructions"]
        assert [tool["name"] for tool in listed["tools"]] == ["s__x"]
        for result in (discovered, listed):
            assert (result["ttlMs"], result["_meta"]["handfast/remembered"]) == (0, ["s"])
            assert UNAVAILABLE not in result["_meta"]

    asyncio.run(run())


def test_what_stands_in_while_a_server_starts_is_for_callers_from_whom_nothing_is_hidden() -> None:
    """It was listed to somebody who may do everything, and a dispatcher's tools stand in its description."""
    server = Scripted({"tools/list": [items("x", "y")]})

    async def run() -> None:
        rig = Rig({"s": server}, seconds=0.01)
        await rig.combined.learn("s")
        rig.starting["s"] = 0.0
        server.silent.add("tools/list")
        for scopes, names in (("s", ["s__x", "s__y"]), ("*", ["s__x", "s__y"]), ("s:admin", []), ("s/x", [])):
            identity = Identity(subject="ann", scopes=parse_scopes(scopes))
            origin = replace(rig.origin("ann"), caller=Caller(actor="ann", identity=identity))
            answer = await rig.combined.request(read_message(request_of("tools/list", {})), origin)
            listed = json.loads(answer.raw)["result"]
            assert [tool["name"] for tool in listed["tools"]] == names, scopes
            assert ("s" in listed["_meta"].get(UNAVAILABLE, {})) is not bool(names)

    asyncio.run(run())
