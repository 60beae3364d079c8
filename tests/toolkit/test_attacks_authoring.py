"""Attacks by authors: tools held wrong are refused when they are written, in words that say what to do."""

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import pytest

from handfast.toolkit import (
    Args,
    Call,
    ContractError,
    Toolbox,
    ToolError,
    ToolRegistry,
    ToolSpec,
    ok,
    read_tool,
    with_handlers,
    write_tool,
)
from tests.toolkit.test_registry import CLOSED, handler


class Which(Args):
    id: int = 0


async def good(args: Which, call: Call) -> int:
    """Be as a tool should be."""
    return args.id


def waiting_wrapper(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    return wrapper


class Service:
    async def look(self, args: Which) -> int:
        """Look as a method."""
        return args.id

    async def __call__(self, args: Which) -> int:
        """Look as an object."""
        return args.id


async def variable(*args: Which) -> int:
    """Take any number of models."""
    return 1


async def named(**args: Which) -> int:
    """Take any names."""
    return 1


async def by_position(args: Which, /) -> int:
    """Take the model by its position only."""
    return args.id


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (5, "5 is not a function; write `async def` or `def` and decorate that"),
        (Service(), "Service object .* is not a function; write `async def` or `def`"),
        (functools.partial(good), "is not a function"),
        (Which, "is not a function"),
        (Service.look, "The parameter 'self' of 'look' is neither a model nor a Call"),
        (variable, r"The parameter 'args' of 'variable' cannot be given by its name"),
        (named, r"The parameter 'args' of 'named' cannot be given by its name"),
        (by_position, r"The parameter 'args' of 'by_position' cannot be given by its name"),
        (waiting_wrapper(good), "'good' is async, and what it is wrapped in is not; make the wrapper `async def`"),
    ],
)
def test_what_is_no_function_that_can_be_called_is_refused_when_it_is_written(function: Any, problem: str) -> None:
    with pytest.raises(ContractError, match=problem):
        Toolbox("t").read(function)


def test_methods_and_wrappers_that_are_async_are_tools() -> None:
    @functools.wraps(good)
    async def wrapper(*given: Any, **named: Any) -> Any:
        return await good(*given, **named)

    tools = Toolbox("t")
    tools.read(Service().look)
    tools.read(wrapper)
    assert asyncio.run(tools.dispatch("look", {"id": 4})).payload == {"result": 4}
    assert asyncio.run(tools.dispatch("good", {"id": 5})).payload == {"result": 5}


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "5", True])
def test_a_time_limit_is_a_number_of_seconds(seconds: Any) -> None:
    with pytest.raises(ContractError, match="timeout_s of 'good' must be a number of seconds above 0"):
        Toolbox("t").read(timeout_s=seconds)(good)
    with pytest.raises(ContractError, match="timeout_s of 't' must be a number of seconds above 0"):
        Toolbox("t", timeout_s=seconds)


# --- the explicit form -------------------------------------------------------------------------------------------


def test_a_definition_without_a_handler_is_refused_by_the_toolbox_as_by_the_registry() -> None:
    for add in (Toolbox("t").add, ToolRegistry("t").add):
        with pytest.raises(ContractError, match="'t' has no handler; give it one"):
            add(read_tool("t", "T."))


def test_a_spec_made_by_hand_is_as_good_to_the_registry_as_to_the_toolbox() -> None:
    registry = ToolRegistry("r")
    registry.add(ToolSpec("own", "Own.", CLOSED, handler))
    assert asyncio.run(registry.dispatch("own")).payload == {"result": None}


def test_two_definitions_of_one_name_are_refused_and_none_is_lost() -> None:
    specs = [read_tool("t", "T."), write_tool("t", "Another."), read_tool("u", "U.")]
    with pytest.raises(ContractError, match="Two definitions of the same tool: t"):
        with_handlers(specs, {"t": handler, "u": handler})


async def without_actor(*, app_state: Any, arguments: dict[str, Any]) -> str:
    return ok()


async def with_more(*, app_state: Any, arguments: dict[str, Any], actor: Any = None, extra: int) -> str:
    return ok()


async def with_any(**_: Any) -> str:
    return ok()


@pytest.mark.parametrize("wrong", [without_actor, with_more])
def test_a_handler_that_cannot_be_called_is_refused_when_it_is_given(wrong: Callable[..., Any]) -> None:
    with pytest.raises(ContractError, match=r"cannot be called; write `async def handler\(\*, app_state, arguments"):
        read_tool("t", "T.", handler=wrong)


def test_a_handler_may_take_more_than_it_needs() -> None:
    read_tool("t", "T.", handler=with_any)


@pytest.mark.parametrize("reference", ["#", "#/properties/below", "#/items", "#node"])
def test_an_output_schema_that_refers_to_its_own_place_is_refused(reference: str) -> None:
    """An envelope puts it into another schema, where the reference would lead somewhere else."""
    schema = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": reference}}}}
    with pytest.raises(ContractError, match=r"The output schema of 't' refers to .*; put that under \$defs"):
        read_tool("t", "T.", output_schema=schema, handler=handler)


@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
def test_a_reference_into_definitions_means_the_same_in_every_envelope(envelope: str) -> None:
    node = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
    schema = {"$ref": "#/$defs/Node", "$defs": {"Node": node}}

    async def give(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return ok({"below": [{"below": []}]})

    tools = Toolbox("t", envelope=envelope)
    tools.add(read_tool("give", "Give.", output_schema=schema, handler=give))
    assert not asyncio.run(tools.dispatch("give")).is_error


@pytest.mark.parametrize(
    "text",
    [
        '{"status": "ok", "data": 1, "state_after": {"x": 1}}',
        '{"status": "ok", "data": 1, "pagination": [1]}',
        '{"status": "ok"}',
        '{"status": "done", "data": 1}',
        '{"status": "error", "domain_code": "nobodys", "message": "m"}',
    ],
)
def test_what_a_handler_says_beside_the_form_is_refused_and_not_dropped(text: str) -> None:
    async def say(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return text

    tools = Toolbox("t")
    tools.add(read_tool("say", "Say it.", handler=say))
    answer = asyncio.run(tools.dispatch("say"))
    assert (answer.meta or {})["handfast/code"] == "output_violation"
    assert "the handler's text is not what ok(), err() and the like give" in answer.text


def test_codes_that_are_one_text_are_not_taken_for_its_letters() -> None:
    with pytest.raises(ValueError, match="codes is one text; put the names into a list"):
        Toolbox("t", codes="quota")


# --- errors ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("002-7")
@pytest.mark.parametrize("message", [ValueError("hunter2"), None, 5, b"bytes"])
def test_an_error_whose_message_is_no_text_is_a_coded_error_that_shows_nothing(message: Any) -> None:
    tools = Toolbox("t")

    @tools.read
    async def fail() -> int:
        """Fail with an exception for a message."""
        raise ToolError("conflict", message)

    answer = asyncio.run(tools.dispatch("fail"))
    assert (answer.meta or {})["handfast/code"] == "internal_error"
    assert "hunter2" not in f"{answer}"
    with pytest.raises(TypeError, match="The message of a ToolError must be text for the agent"):
        ToolError("conflict", message)
