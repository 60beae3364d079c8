"""What a handler returned: judged by the rules for every result, and nothing is made up around it."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from mcp.types import ImageContent, TextContent
from pydantic import BaseModel, field_serializer

from handfast.core.answers.outcome import Failed, Succeeded
from handfast.toolkit import Reply, Toolbox, ToolResult, ToolSpec
from tests.toolkit.records import Kept

CLOSED = {"type": "object", "properties": {}, "additionalProperties": False}
OPEN_OBJECT = {"type": "object"}
TWICE = "the structured content is ambiguous: an object has the same key twice"
NO_NUMBER = "the structured content is ambiguous: it holds NaN or Infinity, which JSON does not have"
HALF = "the structured content is ambiguous: it holds text that is not valid Unicode"
TOO_DEEP = "the structured content is nested deeper than the limit of 64 levels"
TOO_LARGE = "the handler's text holds a number that is too large to be passed on"
NO_FORM = "the handler's text is not what ok(), err() and the like give"


def verdict(value: Any, schema: Any = OPEN_OBJECT) -> tuple[str, str] | Any:
    """The rule and reason for which the text of an explicit handler, or any tool's value, is blocked; else the data."""

    async def handler(**_: Any) -> Any:
        return value

    async def run(*_: Any) -> Any:
        return value

    kept = Kept()
    tools = Toolbox("t", recorder=kept)
    own = None if isinstance(value, str) else run
    tools.add(ToolSpec("tool", "A tool.", CLOSED, handler, output_schema=schema, run=own))
    answer = asyncio.run(tools.dispatch("tool"))
    if isinstance(answer.outcome, Succeeded):
        return answer.payload
    assert answer.outcome.code == "output_violation"
    decision, call = kept.records
    assert (decision.rule, decision.reason) == (call.rule, call.reason)
    assert f"was blocked: {call.reason}. The tool did run" in answer.outcome.message
    return call.rule, call.reason


@pytest.mark.requirement("D20")
@pytest.mark.parametrize(
    ("data", "rule", "reason"),
    [
        ('{"a":1,"a":1}', "result.ambiguous", TWICE),
        ('{"a":1,"\\u0061":2}', "result.ambiguous", TWICE),
        ('{"l":[{"a":1,"a":2}]}', "result.ambiguous", TWICE),
        ('{"a":NaN}', "result.ambiguous", NO_NUMBER),
        ('{"a":[-Infinity]}', "result.ambiguous", NO_NUMBER),
        ('{"a":"\\ud83d"}', "result.ambiguous", HALF),
        ('{"a":"\ud83d"}', "result.ambiguous", HALF),
        (f'{{"a":{"[" * 64}{"]" * 64}}}', "result.max_depth", TOO_DEEP),
        (f'{{"a":{"[" * 100_000}{"]" * 100_000}}}', "result.max_depth", TOO_DEEP),
        ('{"a":1e400}', "result.schema", TOO_LARGE),
        ('{"a":-1E+400}', "result.schema", TOO_LARGE),
        (f'{{"a":1{"0" * 5000}}}', "result.schema", TOO_LARGE),
    ],
)
def test_the_text_of_an_explicit_handler_is_judged_as_every_result_is(data: str, rule: str, reason: str) -> None:
    assert verdict(f'{{"status":"ok","data":{data}}}') == (rule, reason)


def test_what_is_only_large_or_deep_passes() -> None:
    deep = f'{{"a":{"[" * 63}{"]" * 63}}}'
    for data in ('{"a":1e300}', f'{{"a":1{"0" * 400}}}', '{"a":"1e400"}', deep, '{"a":9007199254740993}'):
        assert isinstance(verdict(f'{{"status":"ok","data":{data}}}'), dict)


@pytest.mark.parametrize("text", ["", "fine", "[]", "{}", '{"status":"ok"}', '{"status":"error","message":"x"}'])
def test_text_that_is_no_envelope_is_said_to_be_none(text: str) -> None:
    assert verdict(text)[1] in (NO_FORM, "the structured content is ambiguous: it is not valid JSON")


@pytest.mark.parametrize(
    ("data", "kind"), [('"text"', "a string"), ("[1]", "an array"), ("5", "an integer"), ("null", "null")]
)
def test_what_should_be_an_object_and_is_none_is_not_wrapped_to_be_one(data: str, kind: str) -> None:
    reason = f"the structured content does not match the declared output schema: must be an object, not {kind}"
    assert verdict(f'{{"status":"ok","data":{data}}}') == ("result.schema", reason)


def test_a_tool_that_promises_no_object_has_its_data_under_result() -> None:
    assert verdict('{"status":"ok","data":[1]}', {"type": "array"}) == {"result": [1]}
    assert verdict('{"status":"ok","data":null}', None) == {"result": None}


# --- values ------------------------------------------------------------------------------------------------------


def endless() -> Iterator[int]:
    while True:
        yield 1


async def endless_later() -> AsyncIterator[int]:
    while True:
        yield 1


async def later() -> int:
    return 1


@pytest.mark.parametrize("make", [endless, endless_later, later])
def test_what_would_yet_have_to_run_is_no_value(make: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as that of a coroutine that nobody awaited
        rule, reason = verdict(make())
    assert rule == "result.schema"
    kind = reason.partition("(")[2].partition(")")[0]
    assert reason == f"the handler returned something that has yet to run ({kind}) and no value"
    assert kind in ("generator", "async_generator", "coroutine")


class Unserialisable(BaseModel):
    x: int = 1

    @field_serializer("x")
    def refuse(self, _: int) -> int:
        raise RuntimeError("hunter2")


@pytest.mark.parametrize("value", [Unserialisable(), object(), {"a": object()}, {"a": {1: {2: lambda: 0}}}])
def test_a_value_that_cannot_be_written_is_not_passed_on(value: Any) -> None:
    assert verdict(value) == ("result.schema", "the handler returned a value that cannot be written as JSON")


def test_a_value_ten_thousand_levels_deep_is_not_passed_on() -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    assert verdict({"a": deep}) == ("result.schema", "the handler returned a value that cannot be written as JSON")


PICTURE = ImageContent(type="image", data="aGk=", mime_type="image/png")


@pytest.mark.parametrize(
    "blocks",
    [
        ("text",),
        (PICTURE, object()),
        (Unserialisable(),),
        (TextContent.model_construct(type="text", text=object()),),
        ({"type": "hologram"},),
    ],
)
@pytest.mark.parametrize("form", [Reply, ToolResult.ok])
def test_a_content_block_that_is_none_is_a_violation_and_not_a_crash(form: Any, blocks: tuple[Any, ...]) -> None:
    reason = "the handler returned a content block that is none of the protocol's"
    assert verdict(form({"a": 1}, *blocks)) == ("result.schema", reason)
    assert verdict(form({"a": 1}, PICTURE, {"type": "text", "text": "t"})) == {"a": 1}


def test_a_failure_that_was_declared_stays_one() -> None:
    async def handler(**_: Any) -> str:
        return '{"status":"error","domain_code":"not_found","message":"It is gone."}'

    tools = Toolbox("t")
    tools.add(ToolSpec("tool", "A tool.", CLOSED, handler, output_schema=OPEN_OBJECT))
    assert asyncio.run(tools.dispatch("tool")).outcome == Failed("not_found", "It is gone.", True)
