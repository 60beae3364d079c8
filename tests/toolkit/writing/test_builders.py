"""Maps of handlers: read-only, without a lost name, and with an answer for tools that have none."""

import asyncio
import json
from typing import Any

import pytest

from handfast.core.answers.outcome import Failed
from handfast.toolkit import Reply, Toolbox, ToolResult, read_tool
from handfast.toolkit.writing.builders import (
    ToolHandler,
    build_handler_map,
    make_handlers_for_tools,
    make_placeholder_handler,
)
from handfast.toolkit.writing.status_envelope import not_supported, ok


async def answer(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:  # Any: of the protocol
    return ok({"state": app_state, "arguments": arguments, "actor": actor})


def call(handler: ToolHandler) -> Any:  # Any: the payload
    async def run() -> str:
        return str(await handler(app_state="s", arguments={"a": 1}))

    return json.loads(asyncio.run(run()))


@pytest.mark.requirement("003-12")
def test_maps_are_joined_and_cannot_be_changed() -> None:
    joined = build_handler_map({"a": answer}, {"b": answer}, {})
    assert dict(joined) == {"a": answer, "b": answer}
    with pytest.raises(TypeError):
        joined["c"] = answer  # type: ignore[index]  # that is the point
    assert dict(build_handler_map()) == {}


@pytest.mark.requirement("003-12")
def test_a_map_that_changes_later_changes_nothing_here() -> None:
    source: dict[str, ToolHandler] = {"a": answer}
    joined = build_handler_map(source)
    source["b"] = answer
    assert list(joined) == ["a"]


@pytest.mark.requirement("003-12")
def test_a_duplicate_name_raises() -> None:
    with pytest.raises(ValueError, match="Two handlers for the same tool: a, b"):
        build_handler_map({"b": answer, "a": answer}, {"c": answer}, {"a": answer, "b": answer})
    with pytest.raises(ValueError, match="same tool: a"):
        make_handlers_for_tools(["a", "a"])


@pytest.mark.requirement("003-5")
def test_a_tool_without_a_handler_says_that_it_is_not_supported() -> None:
    handlers = make_handlers_for_tools(["a", "b"])
    assert list(handlers) == ["a", "b"]
    with pytest.raises(TypeError):
        handlers["c"] = answer  # type: ignore[index]  # that is the point
    expected = json.loads(not_supported("b", "it is announced and has no handler yet"))
    assert call(handlers["b"]) == expected
    assert expected["status"] == "error"
    assert call(make_placeholder_handler("a", "the store is gone")) == json.loads(
        not_supported("a", "the store is gone")
    )


@pytest.mark.requirement("D1")
@pytest.mark.parametrize(
    ("value", "kind"), [(None, "nothing"), ({"a": 1}, "a value of the type dict"), (5, "a value of the type int")]
)
@pytest.mark.parametrize("schema", [None, {"type": "object"}])
def test_a_handler_that_returns_no_text_is_an_error_and_no_success(value: Any, kind: str, schema: Any) -> None:
    async def forgetful(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> Any:  # Any: the fault
        return value

    tools = Toolbox("t")
    tools.add(read_tool("find", "Find it.", output_schema=schema, handler=forgetful))
    answer = asyncio.run(tools.dispatch("find"))
    assert isinstance(answer.outcome, Failed)
    assert answer.outcome.code == "output_violation"
    assert f"its handler returned {kind}, where the text of ok() or err() is promised" in answer.outcome.message


@pytest.mark.parametrize("value", [Reply({"a": 1}), ToolResult.ok({"a": 1})])
def test_a_handler_may_return_what_says_how_it_ended(value: Any) -> None:
    async def find(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> Any:  # Any: of the cases
        return value

    tools = Toolbox("t")
    tools.add(read_tool("find", "Find it.", output_schema={"type": "object"}, handler=find))
    assert asyncio.run(tools.dispatch("find")).payload == {"a": 1}
