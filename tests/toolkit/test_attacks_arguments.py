"""Attacks on how arguments are read: validators that raise anything, payloads that are deep, numbers that are odd."""

import asyncio
import json
import logging
from collections import Counter
from types import MappingProxyType
from typing import Any, Literal

import pytest
from mcp import Client
from pydantic import Field, create_model, field_validator

from handfast.boundary import broken_rule
from handfast.toolkit import Answer, Args, Toolbox, ToolError
from tests.toolkit.records import Kept

SECRET = "hunter2-should-never-be-seen"
MODES: tuple[Literal["legacy", "2026-07-28"], ...] = ("legacy", "2026-07-28")
RULE = (
    "The arguments do not fit what the tool declares: does not meet a rule of this tool. Correct them and call "
    'again.\nDeclared fields: ["x"].'
)


class Unprintable(ValueError):
    def __str__(self) -> str:
        raise RuntimeError(SECRET)


RAISED = [KeyError(SECRET), TypeError(SECRET), RuntimeError(SECRET), RecursionError(SECRET), Unprintable(SECRET)]


def toolbox_of(model: type[Args], kept: Kept) -> tuple[Toolbox, list[Any]]:
    tools = Toolbox("attacked", recorder=kept)
    got: list[Any] = []

    async def take(args: Args) -> int:
        """Take it."""
        got.append(args)
        return 1

    take.__annotations__["args"] = model
    tools.read(take)
    return tools, got


def rejecting(error: Exception) -> type[Args]:
    class Picky(Args):
        x: int

        @field_validator("x")
        @classmethod
        def refuse(cls, _: int) -> int:
            raise error

    return Picky


def with_field(kind: Any) -> type[Args]:
    model: type[Args] = create_model("Given", __base__=Args, x=(kind, ...))
    return model


def nested(depth: int, leaf: object) -> object:
    value = leaf
    for _ in range(depth):
        value = [value]
    return value


def call(tools: Toolbox, arguments: Any) -> Answer:
    return asyncio.run(tools.dispatch("take", arguments))


# --- validators --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("002-7")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_whatever_a_validator_raises_is_told_without_its_text(
    error: Exception, mode: Literal["legacy", "2026-07-28"], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    kept = Kept()
    tools, got = toolbox_of(rejecting(error), kept)

    async def session() -> Any:
        async with Client(tools.build_server(), mode=mode) as client:
            return await client.call_tool("take", {"x": 1})

    refused = asyncio.run(session())
    assert (refused.is_error, refused.content[0].text) == (True, RULE)
    assert refused.meta["handfast/code"] == "invalid_input"
    assert SECRET not in f"{refused} {kept.records} {caplog.text} {[vars(record) for record in caplog.records]}"
    assert kept.told() == [
        ("policy_decision", "blocked", "take", "arguments.schema"),
        ("tool_call", "blocked", "take", "arguments.schema"),
    ]
    assert (got, tools.registry.freeze().path.open_calls) == ([], 0)


def test_an_author_finds_the_line_of_the_validator_that_crashed(caplog: pytest.LogCaptureFixture) -> None:
    tools, _ = toolbox_of(rejecting(KeyError(SECRET)), Kept())
    call(tools, {"x": 1})
    (line,) = [record.getMessage() for record in caplog.records if "validator" in record.getMessage()]
    assert line.startswith("A validator of Picky raised KeyError at ")
    assert __file__ in line


class Booking(Args):
    nights: int
    room: int = 1

    @field_validator("nights")
    @classmethod
    def is_short(cls, value: int) -> int:
        if value > 30:
            raise ValueError(f"{value} is too long: s3cret")
        return value

    @field_validator("room")
    @classmethod
    def is_there(cls, value: int) -> int:
        if value > 5:
            raise broken_rule("must be a room from 1 to 5")
        return value


def test_a_validators_value_error_names_its_field_and_its_author_is_told_how_to_say_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tools, _ = toolbox_of(Booking, Kept())
    assert "nights: does not meet a rule of this tool. Correct" in str(call(tools, {"nights": 31}).text)
    assert "room: must be a room from 1 to 5. Correct" in str(call(tools, {"nights": 1, "room": 9}).text)
    (advice,) = [one for one in caplog.records if getattr(one, "event", "") == "toolkit.validator.silent"]
    assert advice.getMessage().startswith("Booking.is_short raises ValueError, whose text no agent reads")


def test_a_default_that_cannot_be_made_is_a_coded_error() -> None:
    class Odd(Args):
        x: int = Field(default_factory=lambda: 1 // 0)

    tools, got = toolbox_of(Odd, Kept())
    assert call(tools, {}).text == RULE
    assert got == []


def test_what_a_validator_says_to_the_agent_reaches_it() -> None:
    tools, _ = toolbox_of(rejecting(ToolError("not_found", "There is no such number. List them.")), Kept())
    assert call(tools, {"x": 1}).text == (
        "The arguments do not fit what the tool declares: There is no such number. List them. Correct them and call "
        'again.\nDeclared fields: ["x"].'
    )


# --- depth -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [64, 65, 200, 300, 490, 700, 970, 980, 5000])
@pytest.mark.parametrize("leaf", [1, 1.0])  # 1.0 takes another way through the reader
def test_arguments_nested_beyond_measure_are_refused_and_on_record(depth: int, leaf: object) -> None:
    kept = Kept()
    tools, got = toolbox_of(with_field(Any), kept)
    answer = call(tools, {"x": nested(depth, leaf)})
    assert answer.is_error
    assert [told[0] for told in kept.told()] == ["policy_decision", "tool_call"]
    assert (got, tools.registry.freeze().path.open_calls) == ([], 0)


def test_arguments_of_many_levels_say_so_and_those_of_a_few_pass() -> None:
    tools, got = toolbox_of(with_field(Any), Kept())
    assert not call(tools, {"x": nested(63, 1.5)}).is_error
    assert got[0].model_dump() == {"x": nested(63, 1.5)}
    assert "is nested deeper than the limit of 64 levels. Correct them" in call(tools, {"x": nested(64, 1)}).text


# --- numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("D7")
@pytest.mark.parametrize("sent", ["1e400", "-1e400", "1" + "0" * 400])
def test_a_number_that_no_float_can_hold_never_becomes_infinity(sent: str) -> None:
    tools, got = toolbox_of(with_field(float), Kept())
    assert call(tools, {"x": json.loads(sent)}).is_error
    assert got == []


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        ({"x": object()}, "it is not valid JSON"),
        ({"x": "\ud800"}, "it holds text that is not valid Unicode"),
        ({"x": float("nan")}, "it holds NaN or Infinity, which JSON does not have"),
    ],
)
def test_what_no_client_could_send_is_refused_for_what_it_is(sent: dict[str, Any], problem: str) -> None:
    tools, got = toolbox_of(with_field(Any), Kept())
    assert call(tools, sent).text == f"The arguments are ambiguous: {problem}. Send plain JSON and call again."
    assert got == []


def test_arguments_may_be_any_mapping() -> None:
    tools, got = toolbox_of(with_field(int), Kept())
    assert not call(tools, MappingProxyType({"x": 1})).is_error
    assert got[0].model_dump() == {"x": 1}


# --- what is logged ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("003-4")
@pytest.mark.requirement("D5")
@pytest.mark.parametrize(
    ("arguments", "opening"),
    [
        ({"x": "1"}, "The arguments do not fit"),
        ({"x": 1, "bogus": 1}, "Argument 'bogus' is not a declared field."),
        ({"data": {"x": 1}}, "Argument 'data' is not a declared field and its value is a nested object."),
    ],
)
def test_whatever_is_wrong_with_typed_arguments_both_events_are_logged(
    arguments: dict[str, Any], opening: str, caplog: pytest.LogCaptureFixture
) -> None:
    tools, got = toolbox_of(with_field(int), Kept())
    assert call(tools, arguments).text.startswith(opening)
    events = Counter(getattr(record, "event", "") for record in caplog.records)
    assert events == {"api.boundary.validation_failed": 1, "mcp.server.invoke.failed": 1}
    assert (got, tools.registry.outcomes.of("take")) == ([], {"validation_error": 1})
