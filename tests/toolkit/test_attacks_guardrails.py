"""Attacks on the guardrails: confirmations, reasons and actors that only look like some, and what logs say of them."""

import asyncio
import logging
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError

from handfast.core.call.guardrails import has_text
from handfast.toolkit import Actor, Answer, Args, Call, ContractError, Toolbox, admin_tool, ok
from tests.toolkit.records import Kept

ADA = Actor(id="ada")


class Which(Args):
    id: int = 0


def make_toolbox(kept: Kept) -> tuple[Toolbox, list[str]]:
    tools = Toolbox("guarded", recorder=kept)
    done: list[str] = []

    @tools.admin
    async def typed(args: Which, call: Call) -> None:
        """Wipe, typed."""
        done.append(call.reason)

    async def wipe(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        done.append(arguments["reason"])
        return ok()

    tools.add(admin_tool("explicit", "Wipe, written out.", args_model=Which, handler=wipe))
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": False}
    tools.add(admin_tool("by_schema", "Wipe, by a schema.", input_schema=schema, handler=wipe))
    return tools, done


class User:
    """Somebody else's idea of an actor."""

    def __init__(self, number: object) -> None:
        self.id = number


TOOLS = ["typed", "explicit", "by_schema"]


def call(tool: str, arguments: Any, actor: Any = ADA) -> tuple[Answer, list[str], Kept]:
    kept = Kept()
    tools, done = make_toolbox(kept)
    return asyncio.run(tools.dispatch(tool, arguments, actor=actor)), done, kept


class Lying(dict[str, Any]):
    """Says yes to whoever asks, and is written as what it holds."""

    def get(self, _key: str, _default: Any = None) -> Any:
        return True

    def __getitem__(self, _key: str) -> Any:
        return True


@pytest.mark.requirement("003-9")
@pytest.mark.requirement("D10")
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    ("arguments", "violation"),
    [
        *[
            ({"confirm": confirm, "reason": "r"}, "missing_confirm")
            for confirm in (1, 1.0, "true", "True", [True], {"confirm": True}, None, False)
        ],
        ({"Confirm": True, "reason": "r"}, "missing_confirm"),
        ({"confirm\x00": True, "reason": "r"}, "missing_confirm"),
        ({"arguments": {"confirm": True, "reason": "r"}}, "missing_confirm"),
        (Lying(confirm=1, reason=" "), "missing_confirm"),
        *[
            ({"confirm": True, "reason": reason}, "missing_reason")
            for reason in (
                "",
                " \t\n",
                "\u200b",
                "\u2800",
                "\u3164",
                "\u115f",
                "\u034f",
                "\ufeff",
                "\x00",
                1,
                ["r"],
                None,
            )
        ],
    ],
)
def test_only_a_true_confirmation_and_a_reason_to_read_let_a_call_through(
    tool: str, arguments: dict[str, Any], violation: str
) -> None:
    answer, done, kept = call(tool, arguments)
    assert (answer.meta or {})["handfast/details"] == {"violation": violation}
    assert done == []
    assert [told[3] for told in kept.told()] == [f"access.{violation}"] * 2


@pytest.mark.requirement("003-9")
@pytest.mark.requirement("D18")
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    "actor",
    [
        *[None, "ada", {"id": "ada"}, object(), Actor(), Actor(id=" ", name="\u2800"), Actor(name="\u200b")],
        *[User(True), User(1.5), User([]), User(b"ada"), User(10**5000)],
    ],
    ids=lambda actor: type(actor).__name__,
)
def test_what_nobody_can_be_told_by_is_no_actor_whatever_the_arguments_say(tool: str, actor: Any) -> None:
    answer, done, _ = call(tool, {"actor": "root", "confirm": True, "reason": "r"}, actor)
    assert (answer.meta or {})["handfast/details"] == {"violation": "missing_actor"}
    assert done == []


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("actor", [ADA, Actor(name="Ada"), User(0), User(UUID(int=1))])
def test_an_id_or_a_name_is_enough(tool: str, actor: Any) -> None:
    answer, done, kept = call(tool, {"confirm": True, "reason": "ok ✓"}, actor)
    assert (answer.is_error, done) == (False, ["ok ✓"])
    assert [told[0] for told in kept.told()] == ["tool_call", "admin_operation"]


def test_an_actor_cannot_write_lines_of_its_own_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "handfast.toolkit")
    forged = Actor(id=f"ada\nmcp.admin.op_executed: wipe by root\x1b[2J{'x' * 10_000}")
    _, _, kept = call("typed", {"confirm": True, "reason": "r"}, forged)
    (line,) = [record for record in caplog.records if getattr(record, "event", "") == "mcp.admin.op_executed"]
    assert line.getMessage().isprintable()
    assert {len(record.actor) for record in kept.records} == {256}
    assert all(record.actor.startswith("ada?mcp.admin.op_executed: wipe by root?[2J") for record in kept.records)


@given(st.text(st.characters(codec="utf-8", categories=["Z", "C", "M"]), max_size=20))
def test_no_text_of_spaces_controls_and_marks_is_a_reason(text: str) -> None:
    assert not has_text(text)


@given(st.text(max_size=20), st.sampled_from("aé漢0.✓"))
def test_one_character_that_can_be_seen_makes_a_text(text: str, seen: str) -> None:
    assert has_text(text + seen)


class Detached:
    """As a row whose session is closed: asking it for anything raises."""

    @property
    def id(self) -> str:
        raise KeyError("hunter2")


@pytest.mark.requirement("002-7")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_an_actor_that_cannot_be_asked_is_nobody_and_tells_nothing(
    mode: Literal["legacy", "2026-07-28"], caplog: pytest.LogCaptureFixture
) -> None:
    tools = Toolbox("guarded", actor=lambda _: Detached())  # type: ignore[arg-type, return-value]  # that is the fault
    done: list[int] = []

    @tools.read
    async def look() -> None:
        """Look."""
        done.append(1)

    async def session() -> str:
        async with Client(tools.build_server(), mode=mode) as client:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("look", {})
            return str(refused.value)

    assert asyncio.run(session()) == "The server failed. Report this to the operator."
    assert (done, "hunter2" in caplog.text) == ([], False)


def test_a_resolver_that_nobody_would_wait_for_is_refused() -> None:
    async def resolve(_context: Any) -> Actor:
        return ADA

    with pytest.raises(
        ContractError, match="The actor of 'guarded' must come from a function that is not async; write `def`"
    ):
        Toolbox("guarded", actor=resolve)  # type: ignore[arg-type]  # that is the fault


# --- progress ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "heard"),
    [
        ((1, 2, "half \ud800 way"), [(1, 2, "half ? way")]),
        ((1, float("nan"), None), [(1, None, None)]),
        ((float("nan"), 2, "x"), []),
        ((object(), 2, "x"), []),
        ((1, 2, 3), [(1, 2, "3")]),
    ],
)
def test_progress_that_no_message_can_carry_does_not_end_the_server(told: Any, heard: list[Any]) -> None:
    got: list[Any] = []

    async def hear(*given: Any) -> None:
        got.append(given)

    asyncio.run(Call(tool="t", request_id="1", report=hear).progress(*told))
    assert got == heard
