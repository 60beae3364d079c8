"""What a legacy client hears without having asked, out of one modern subscription at a time."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from handfast.core.call.caller import ANYONE
from handfast.gateway.translate.backend import Requester
from handfast.gateway.translate.clients import listening as listening_module
from handfast.gateway.translate.clients.listening import Subscriptions
from handfast.gateway.translate.clients.questions import CannotContinue
from handfast.wire.message import Message, read_message
from tests.contracts.rig import Json
from tests.gateway.translate.clients.scripted import ScriptedServer

TOOLS_CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}


class Rig:
    """A subscriber, the server, and what was heard."""

    def __init__(self, *flags: str) -> None:
        self.server = ScriptedServer()
        self.heard: list[Json] = []
        self.listening = Subscriptions(self._relay, lambda raw: self.heard.append(json.loads(raw)), flags)

    async def _relay(self, raw: bytes, send: Callable[[bytes], None]) -> Message:
        return await self.server.request(read_message(raw), Requester(ANYONE, send))

    async def until(self, look: Callable[[], Json]) -> None:
        async with asyncio.timeout(10):
            while not look():  # noqa: ASYNC110 - whatever a test waits for, it is a matter of a few turns of the loop
                await asyncio.sleep(0.001)

    @property
    def wanted(self) -> list[Json]:
        return [call.params["notifications"] for call, _ended in self.server.listeners.values()]


def run(rig: Callable[[], Rig], work: Callable[[Rig], Coroutine[Any, Any, None]]) -> None:  # Any: send types
    async def whole() -> None:
        made = rig()
        await work(made)
        made.listening.close()
        await made.until(lambda: len(asyncio.all_tasks()) == 1)
        assert made.server.listeners == {}

    asyncio.run(whole())


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening_module, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(listening_module, "_ACKNOWLEDGE_SECONDS", 0.2)


def test_changed_lists_are_heard_without_the_subscription() -> None:
    async def work(rig: Rig) -> None:
        rig.listening.begin()
        rig.listening.begin()  # once is enough
        await rig.until(lambda: rig.wanted == [{"toolsListChanged": True}])
        rig.server.publish()
        assert rig.heard == [TOOLS_CHANGED]

    run(lambda: Rig("toolsListChanged"), work)


def test_other_metadata_stays() -> None:
    async def work(rig: Rig) -> None:
        rig.listening.begin()
        await rig.until(lambda: rig.wanted)
        ((call, _ended),) = rig.server.listeners.values()
        meta = {"io.modelcontextprotocol/subscriptionId": call.message.id, "x": 1}
        call.notify("notifications/tools/list_changed", {"_meta": meta, "y": 2})
        call.notify("notifications/cancelled", {"requestId": call.message.id})
        call.notify("notifications/tools/list_changed", {})
        assert rig.heard == [
            {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": {"x": 1}, "y": 2}},
            TOOLS_CHANGED,
        ]

    run(lambda: Rig("toolsListChanged"), work)


def test_where_nothing_can_change_nobody_listens() -> None:
    async def work(rig: Rig) -> None:
        rig.listening.begin()
        await asyncio.sleep(0)
        assert rig.server.seen == []

    run(Rig, work)


def test_a_new_subscription_is_confirmed_before_the_old_one_ends() -> None:
    async def work(rig: Rig) -> None:
        await rig.listening.subscribe("a:1")
        await rig.listening.subscribe("a:1")
        assert (rig.wanted, len(rig.server.seen)) == ([{"resourceSubscriptions": ["a:1"]}], 1)
        order: list[str] = []

        def grant(wanted: Json) -> Json:
            order.append(f"{len(rig.server.listeners)} open")
            return wanted

        rig.server.grants = grant
        await rig.listening.subscribe("a:2")
        assert order == ["1 open"]
        await rig.until(lambda: rig.wanted == [{"resourceSubscriptions": ["a:1", "a:2"]}])
        await rig.listening.unsubscribe("a:1")
        await rig.listening.unsubscribe("a:9")
        await rig.until(lambda: rig.wanted == [{"resourceSubscriptions": ["a:2"]}])
        rig.server.publish()
        assert [heard["params"] for heard in rig.heard] == [{"uri": "a:2"}]
        await rig.listening.unsubscribe("a:2")
        await rig.until(lambda: rig.wanted == [])

    run(Rig, work)


def test_many_changes_at_once_end_in_one_stream_with_all_of_them() -> None:
    async def work(rig: Rig) -> None:
        await asyncio.gather(*(rig.listening.subscribe(f"a:{number}") for number in range(20)))
        await rig.until(lambda: len(rig.wanted) == 1)
        assert rig.wanted == [{"resourceSubscriptions": [f"a:{number}" for number in range(20)]}]

    run(Rig, work)


@pytest.mark.parametrize(
    ("prepare", "code", "text"),
    [
        (
            lambda server: setattr(server, "refuses_to_listen", {"code": -32601, "message": "no"}),
            -32601,
            "The server has no subscriptions.",
        ),
        (
            lambda server: setattr(server, "refuses_to_listen", {"code": -32603, "message": "full"}),
            -31001,
            "The server refused the subscription.",
        ),
        (
            lambda server: setattr(server, "grants", lambda _wanted: {}),
            -32602,
            "The server does not send updates of this resource.",
        ),
    ],
)
def test_what_is_refused_changes_nothing(prepare: Callable[[ScriptedServer], None], code: int, text: str) -> None:
    async def work(rig: Rig) -> None:
        await rig.listening.subscribe("a:1")
        prepare(rig.server)
        with pytest.raises(CannotContinue) as refused:
            await rig.listening.subscribe("a:2")
        assert (refused.value.code, refused.value.text) == (code, text)
        await rig.until(lambda: rig.wanted == [{"resourceSubscriptions": ["a:1"]}])

    run(Rig, work)


def test_a_server_that_never_confirms_is_not_waited_for() -> None:
    async def work(rig: Rig) -> None:
        async def silent(_call: object) -> Json:
            await asyncio.Event().wait()

        rig.server._listen = silent  # type: ignore[method-assign, assignment]  # the fault that this is about
        with pytest.raises(CannotContinue, match="did not confirm"):
            await rig.listening.subscribe("a:1")

    run(Rig, work)


def test_there_is_a_bound_to_the_subscriptions_of_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening_module, "_MOST_URIS", 2)

    async def work(rig: Rig) -> None:
        await rig.listening.subscribe("a:1")
        await rig.listening.subscribe("a:2")
        with pytest.raises(CannotContinue, match="There are 2 subscriptions"):
            await rig.listening.subscribe("a:3")

    run(Rig, work)


def test_a_stream_that_ends_is_opened_again_and_what_was_missed_is_told() -> None:
    async def work(rig: Rig) -> None:
        rig.listening.begin()
        await rig.listening.subscribe("a:1")
        both = {"toolsListChanged": True, "resourceSubscriptions": ["a:1"]}
        await rig.until(lambda: rig.wanted == [both])
        ((_call, ended),) = rig.server.listeners.values()
        ended.set()
        await rig.until(lambda: rig.heard)
        assert rig.wanted == [both]
        assert rig.heard == [
            {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
            {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "a:1"}},
        ]

    run(lambda: Rig("toolsListChanged"), work)


def test_a_server_that_is_down_is_tried_again_until_it_is_back() -> None:
    async def work(rig: Rig) -> None:
        rig.server.refuses_to_listen = {"code": -31001, "message": "down"}
        rig.listening.begin()
        await rig.until(lambda: len(rig.server.seen) >= 3)
        rig.server.refuses_to_listen = None
        await rig.until(lambda: rig.wanted == [{"toolsListChanged": True}])

    run(lambda: Rig("toolsListChanged"), work)


def test_a_server_without_subscriptions_is_asked_once() -> None:
    async def work(rig: Rig) -> None:
        rig.server.refuses_to_listen = {"code": -32601, "message": "no"}
        rig.listening.begin()
        await rig.until(lambda: len(rig.server.seen) == 1 and len(asyncio.all_tasks()) == 1)

    run(lambda: Rig("toolsListChanged"), work)


def test_a_change_that_is_cancelled_leaves_no_stream_behind() -> None:
    async def work(rig: Rig) -> None:
        await rig.listening.subscribe("a:1")
        rig.server.grants = lambda wanted: changing.cancel() and wanted
        changing = asyncio.create_task(rig.listening.subscribe("a:2"))
        await asyncio.wait((changing,))
        assert changing.cancelled()
        await rig.until(lambda: rig.wanted == [{"resourceSubscriptions": ["a:1"]}])

    run(Rig, work)
