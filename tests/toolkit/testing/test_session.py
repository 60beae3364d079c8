"""in_memory: the official client on a toolbox of this process."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from handfast.toolkit import Actor, Call, Toolbox, read_tool
from handfast.toolkit.testing.session import Mode, in_memory
from tests.toolkit.contacts import make_toolbox

MODES: tuple[Mode, ...] = ("auto", "legacy", "2026-07-28")
ADA = Actor(id="ada")


@pytest.mark.requirement("002-13")
@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
@pytest.mark.parametrize("mode", MODES)
def test_a_whole_session_runs_in_memory(mode: Mode, envelope: str) -> None:
    async def session() -> list[Any]:
        async with in_memory(make_toolbox(envelope), mode=mode, actor=ADA) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            guards = {"confirm": True, "reason": "asked to"}
            answers = [
                await client.call_tool("create_contact", {"email": "a@b.c"}),
                await client.call_tool("create_contact", {"data": {"email": "a@b.c"}}),
                await client.call_tool("get_contact", {"id": 1}),
                await client.call_tool("delete_contact", {"id": 1, **guards}),
                await client.call_tool("get_contact", {"id": 1}),
                await client.call_tool("fail_softly"),
                await client.call_tool("go_wrong", {"how": "raise"}),
                await client.call_tool("count_contacts"),
            ]
            with pytest.raises(MCPError, match="There is no tool 'nope'"):
                await client.call_tool("nope")
        assert names == sorted(tool.name for tool in make_toolbox().list_registered())
        return [(answer.is_error, answer.structured_content) for answer in answers]

    ended = asyncio.run(session())
    assert [is_error for is_error, _ in ended] == [False, True, False, False, True, True, True, False]
    contact = {"id": 1, "email": "a@b.c", "born": None, "score": 0.5}
    deleted = {"id": 1, "reason": "asked to", "by": "ada"}
    told = {
        "plain": [contact, deleted, {"result": 0}],
        "result": [{"success": True, "data": data, "error": None} for data in (contact, deleted, 0)],
        "status": [{"status": "ok", "data": data} for data in (contact, deleted, 0)],
    }
    assert [ended[place][1] for place in (0, 3, 7)] == told[envelope]


def test_an_actor_is_that_of_the_session_and_the_toolbox_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDFAST_ACTOR", "the operator")
    tools = Toolbox("t")

    @tools.read
    async def who(call: Call) -> str:
        """Say who calls."""
        return str(call.actor.id)

    async def asked(actor: Any) -> Any:
        async with in_memory(tools, actor=actor) as client:
            return (await client.call_tool("who")).structured_content

    resolver = tools.actor
    assert asyncio.run(asked(ADA)) == {"result": "ada"}
    assert asyncio.run(asked(None)) == {"result": "the operator"}
    assert tools.actor is resolver


def test_sessions_of_one_toolbox_share_what_it_holds() -> None:
    tools = make_toolbox()

    async def create() -> Any:
        async with in_memory(tools) as client:
            return (await client.call_tool("create_contact", {"email": "a"})).structured_content

    assert [asyncio.run(create())["id"] for _ in range(2)] == [1, 2]
    assert tools.app.keys() == {1, 2}
    assert tools.registry.outcomes.of("create_contact") == {"success": 2}


@pytest.mark.parametrize("mode", MODES)
def test_what_fails_in_a_session_arrives_as_itself(mode: Mode) -> None:
    async def session() -> None:
        async with in_memory(make_toolbox(), mode=mode) as client:
            assert (await client.call_tool("count_contacts")).is_error, "as expected"

    with pytest.raises(AssertionError, match="as expected"):
        asyncio.run(session())


@pytest.mark.parametrize("mode", MODES)
def test_a_session_can_be_left_and_cancelled(mode: Mode) -> None:
    async def hang() -> None:
        async with in_memory(make_toolbox(), mode=mode) as client:
            await client.call_tool("go_wrong", {"how": "hang"}, read_timeout_seconds=30)
            await asyncio.Event().wait()

    async def leave() -> None:
        async with asyncio.timeout(0.5):
            await hang()

    with pytest.raises(TimeoutError):
        asyncio.run(leave())


def test_what_a_session_starts_ends_with_it() -> None:
    """Large arguments are judged in a process beside; each session has its own, and the next one works again."""

    async def count(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return '{"status": "ok", "data": 1}'

    tools = Toolbox("t")
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "pattern": "^.{1,255}$"}},
        "additionalProperties": False,
    }
    tools.add(read_tool("count", "Count.", handler=count, input_schema=schema))

    async def judged() -> list[bool]:
        before = children()
        async with in_memory(tools) as client:
            answers = [await client.call_tool("count", {"name": name}) for name in ("Zoë", "")]
            assert len(children() - before) == 1
        assert children() - before == set()
        return [answer.is_error for answer in answers]

    assert [asyncio.run(judged()) for _ in range(2)] == [[False, True]] * 2


def children() -> set[str]:
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())
