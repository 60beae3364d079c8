"""One subscription to all servers: one acknowledgement, one stream, whatever becomes of the servers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from handfast.core.call.caller import ANYONE
from handfast.gateway.callers.task_ids import TaskIds
from handfast.gateway.translate.backend import Backend
from handfast.wire.message import read_message
from handfast.wire.replies import notification
from tests.gateway.translate.combined.scripted import (
    SEAL,
    SUBSCRIPTION,
    Json,
    Rig,
    Scripted,
    items,
    params_of,
    request_of,
    until,
)

LISTS: Json = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
CHANGING = {name: {"listChanged": True, "subscribe": True} for name in ("tools", "prompts", "resources")}
META = {SUBSCRIPTION: "sub"}


def _server(*uris: str, capabilities: Json = CHANGING) -> Scripted:
    return Scripted({"resources/list": [items(*uris, key="uri")]}, capabilities=capabilities)


@asynccontextmanager
async def listening(rig: Rig, backend: Backend | None = None, **wanted: Any) -> AsyncIterator[None]:  # Any: JSON
    """A client that listens, from its acknowledgement to its leave."""
    raw = request_of("subscriptions/listen", {"notifications": wanted}, id="sub")
    task = asyncio.create_task((backend or rig.combined).request(read_message(raw), rig.origin()))
    try:
        await until(lambda: rig.sent or task.done())
        assert not task.done()
        yield
        assert not task.done(), "only the client ends its listen"
    finally:
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(0)


def _news(rig: Rig) -> list[str]:
    return [message["method"].removeprefix("notifications/") for message in rig.sent[1:]]


def _wishes(server: Scripted) -> list[Json]:
    return [params_of(asked)["notifications"] for asked in server.asked if asked.method == "subscriptions/listen"]


def test_one_acknowledgement_says_what_all_servers_honour_together() -> None:
    a = _server("x:1")
    b = _server("y:1", capabilities={"tools": {"listChanged": True}, "resources": {"subscribe": True}})
    none = _server(capabilities={"tools": {}})
    rig = Rig({"a": a, "b": b, "none": none})

    async def listen() -> None:
        async with listening(rig, **LISTS, resourceSubscriptions=["y:1", "x:1", "nobodys:1"]):
            assert rig.sent == [
                {
                    "jsonrpc": "2.0",
                    "method": "notifications/subscriptions/acknowledged",
                    "params": {"notifications": {**LISTS, "resourceSubscriptions": ["y:1", "x:1"]}, "_meta": META},
                }
            ]

    asyncio.run(listen())
    assert _wishes(a) == [{**LISTS, "resourceSubscriptions": ["x:1"]}]
    assert _wishes(b) == [{"toolsListChanged": True, "resourceSubscriptions": ["y:1"]}]
    assert _wishes(none) == []


def test_news_of_every_server_come_under_the_clients_own_subscription_id() -> None:
    a, b = _server("x:1"), _server()
    rig = Rig({"a": a, "b": b})

    async def listen() -> None:
        async with listening(rig, **LISTS, resourceSubscriptions=["x:1"]):
            for server in (a, b):
                own = next(asked.id for asked in server.asked if asked.method == "subscriptions/listen")
                server.listens[0].send(notification("notifications/tools/list_changed", {"_meta": {SUBSCRIPTION: own}}))
            a.listens[0].send(
                b'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:1","n":1.0}}'
            )

    asyncio.run(listen())
    assert (
        rig.sent[1:3]
        == [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": META}}] * 2
    )
    assert b'"uri":"x:1","n":1.0,' in rig.raw_sent[3]


def test_cancelling_ends_the_listen_at_every_server() -> None:
    servers = [_server(), _server()]
    rig = Rig({str(n): server for n, server in enumerate(servers)})

    async def listen() -> None:
        async with listening(rig, **LISTS):
            pass
        await until(lambda: all(server.cancelled for server in servers))

    asyncio.run(listen())
    assert [server.cancelled for server in servers] == [["subscriptions/listen"]] * 2


def test_a_server_that_ends_its_listen_is_asked_again_and_its_lists_count_as_changed() -> None:
    a, b = _server(capabilities={"tools": {"listChanged": True}}), _server()
    rig = Rig({"a": a, "b": b})

    async def listen() -> None:
        async with listening(rig, **LISTS):
            a.ends.set()
            await asyncio.sleep(0)
            a.ends = asyncio.Event()
            await until(lambda: len(a.listens) == 2)
            a.listens[1].send(notification("notifications/tools/list_changed"))

    asyncio.run(listen())
    assert (len(b.listens), _news(rig)) == (1, ["tools/list_changed", "tools/list_changed"])


def test_a_server_that_ends_every_listen_is_asked_less_and_less_often() -> None:
    a = _server()
    rig = Rig({"a": a})

    async def listen() -> None:
        a.ends.set()
        async with listening(rig, toolsListChanged=True):
            await asyncio.sleep(0.1)

    asyncio.run(listen())
    assert 2 <= len(a.listens) <= 8  # waits of 1, 2, 4, … milliseconds


def test_a_server_that_is_down_or_slow_does_not_hold_the_acknowledgement_and_joins_later() -> None:
    down, slow, good = _server(), _server(), _server()
    down.is_down, slow.silent = True, {"subscriptions/listen"}
    rig = Rig({"down": down, "slow": slow, "good": good}, seconds=0.05)

    async def listen() -> None:
        async with listening(rig, **LISTS):
            assert rig.sent[0]["params"]["notifications"] == LISTS
            down.is_down = False
            await until(lambda: down.listens)

    asyncio.run(listen())
    # It was missing, so what the client listed before lacks its part.
    assert set(_news(rig)) == {"tools/list_changed", "prompts/list_changed", "resources/list_changed"}


def test_a_server_that_never_tells_of_changes_is_news_itself_when_it_is_back() -> None:
    down = _server(capabilities={"tools": {}})
    down.is_down = True
    rig = Rig({"down": down})

    async def listen() -> None:
        async with listening(rig, **LISTS):
            down.is_down = False
            await until(lambda: len(rig.sent) > 1)

    asyncio.run(listen())
    assert _news(rig) == ["tools/list_changed"]


def test_what_servers_say_before_the_acknowledgement_comes_after_it() -> None:
    class Hasty(Scripted):
        async def request(self, message, origin):  # type: ignore[no-untyped-def]  # as in the base
            if message.method == "subscriptions/listen":
                origin.send(notification("notifications/tools/list_changed"))
            return await super().request(message, origin)

    slow = _server()
    slow.silent = {"subscriptions/listen"}
    rig = Rig({"hasty": Hasty(capabilities=CHANGING), "slow": slow}, seconds=0.05)

    async def listen() -> None:
        async with listening(rig, toolsListChanged=True):
            pass

    asyncio.run(listen())
    assert [message["method"] for message in rig.sent] == [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    ]


def test_a_server_that_cannot_listen_is_not_asked_again() -> None:
    lacking = b'{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}}'
    a = Scripted(capabilities=CHANGING, answers={"subscriptions/listen": lambda _: lacking})
    rig = Rig({"a": a})

    async def listen() -> None:
        async with listening(rig, **LISTS):
            await asyncio.sleep(0.02)

    asyncio.run(listen())
    assert a.methods().count("subscriptions/listen") == 1


def test_when_servers_come_and_go_the_client_is_told_and_the_new_ones_are_listened_to() -> None:
    old, kept, new, replaced = _server(), _server(), _server("z:1"), _server()
    rig = Rig({"old": old, "kept": kept, "same": replaced})

    async def listen() -> None:
        async with listening(rig, toolsListChanged=True, resourceSubscriptions=["z:1"]):
            assert "resourceSubscriptions" not in rig.sent[0]["params"]["notifications"]
            again = _server()
            rig.servers = {"kept": kept, "new": new, "same": again}
            rig.combined.servers_changed()
            await until(lambda: new.listens and again.listens and old.cancelled and replaced.cancelled)

    asyncio.run(listen())
    assert set(_news(rig)) == {"tools/list_changed"}
    assert (len(kept.listens), old.cancelled, replaced.cancelled) == (
        1,
        ["subscriptions/listen"],
        ["subscriptions/listen"],
    )
    assert _wishes(new) == [{"toolsListChanged": True, "resourceSubscriptions": ["z:1"]}]


def test_listens_of_a_subset_hear_of_changes_too() -> None:
    a = _server()
    rig = Rig({"a": a, "b": _server()})

    async def listen() -> None:
        async with listening(rig, rig.combined.subset(["a"], ANYONE), toolsListChanged=True):
            del rig.servers["a"]
            rig.combined.servers_changed()
            await until(lambda: a.cancelled)

    asyncio.run(listen())
    assert _news(rig) == ["tools/list_changed"]


@pytest.mark.requirement("E5")
def test_a_subscription_to_a_uri_of_two_servers_goes_to_the_first() -> None:
    a, b = _server("x:1"), _server("x:1")
    rig = Rig({"b": b, "a": a})

    async def listen() -> None:
        async with listening(rig, resourceSubscriptions=["x:1"]):
            pass

    asyncio.run(listen())
    assert (_wishes(a), _wishes(b)) == ([{"resourceSubscriptions": ["x:1"]}], [])


def _update(uri: str) -> bytes:
    return notification("notifications/resources/updated", {"uri": uri})


@pytest.mark.requirement("S9")
def test_a_server_tells_of_what_it_was_asked_for_and_of_nothing_else() -> None:
    a, b = _server("x://a"), _server("x://b", "x://a/b")
    rig = Rig({"a": a, "b": b})

    async def listen() -> None:
        async with listening(rig, toolsListChanged=True, resourceSubscriptions=["x://a", "x://b"]):
            for uri in ("x://a", "x://a/below", "x://b", "x://a/b", "x://other", "x://aa"):
                a.listens[0].send(_update(uri))
            a.listens[0].send(notification("notifications/resources/updated", {"uri": 5}))
            b.listens[0].send(_update("x://b"))

    asyncio.run(listen())
    assert [message["params"]["uri"] for message in rig.sent[1:]] == ["x://a", "x://a/below", "x://b"]
    assert [(server, rule) for server, rule, _ in rig.diagnosed] == [("a", "combined.foreign_update")] * 5


@pytest.mark.requirement("S9")
def test_a_subscription_to_what_cannot_be_told_whose_it_is_is_not_honoured_and_on_record() -> None:
    a = _server("x:1")
    a.lists["resources/templates/list"] = [items("x:t:{n}", "https://{+p}", key="uriTemplate")]
    rig = Rig({"a": a, "b": _server()})

    async def listen() -> None:
        async with listening(rig, resourceSubscriptions=["x:1", "x:t:1", "https://docs.example/x"]):
            pass

    asyncio.run(listen())
    assert rig.sent[0]["params"]["notifications"] == {"resourceSubscriptions": ["x:1", "x:t:1"]}
    assert (rig.templated, rig.refused) == ([("a", "x:t:1")], ["combined.unrouted"])


def test_tasks_are_listened_to_at_their_servers_under_their_wrapped_ids() -> None:
    a, b = _server(), _server()
    rig = Rig({"a": a, "b": b})
    ids = [TaskIds(SEAL, "session ada").wrap("b", "t1"), TaskIds(SEAL, "session ada").wrap("gone", "t1")]

    async def listen() -> None:
        async with listening(rig, taskIds=ids):
            b.listens[0].send(notification("notifications/tasks", {"taskId": "t1", "status": "working"}))

    asyncio.run(listen())
    assert (_wishes(a), _wishes(b)) == ([], [{"taskIds": ["t1"]}])
    assert rig.sent[0]["params"]["notifications"] == {"taskIds": ids[:1]}
    assert rig.sent[1]["params"] == {"taskId": ids[0], "status": "working", "_meta": META}


@pytest.mark.requirement("S8")
def test_a_listen_for_a_task_that_was_never_given_out_is_refused_and_on_record() -> None:
    a = _server()
    rig = Rig({"a": a})
    ids = [TaskIds(SEAL, "session ada").wrap("a", "t1"), "never-given-out"]
    answered = asyncio.run(rig.ask("subscriptions/listen", {"notifications": {"taskIds": ids}}))
    assert (answered["error"]["code"], rig.refused, _wishes(a)) == (-32602, ["combined.forged"], [])


def test_what_a_server_sends_that_is_no_message_goes_no_further() -> None:
    a = _server()
    rig = Rig({"a": a})

    async def listen() -> None:
        async with listening(rig, toolsListChanged=True):
            for raw in (b"[]", b"no", b'{"jsonrpc":"2.0","method":"m","params":{"_meta":1,"_meta":2}}'):
                a.listens[0].send(raw)

    asyncio.run(listen())
    assert _news(rig) in ([], ["m"])
    assert all(json.loads(raw) for raw in rig.raw_sent)


@pytest.mark.parametrize("wanted", ["all", None, {"a": 1, "A\u0000": 2, "taskId": 1, "TASKID": 1}])
def test_a_listen_without_a_clear_wish_is_refused(wanted: object) -> None:
    answered = asyncio.run(Rig({"a": _server()}).ask("subscriptions/listen", {"notifications": wanted}))
    assert answered["error"]["code"] == -32602
