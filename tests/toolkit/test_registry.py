"""The registry: what may be registered, when, and what it publishes."""

import asyncio
from typing import Any

import pytest

from handfast.toolkit import (
    Args,
    Call,
    ContractError,
    Toolbox,
    ToolRegistry,
    ToolSpec,
    UnknownTool,
    admin_tool,
    read_tool,
    with_handlers,
    write_tool,
)
from tests.toolkit.contacts import make_toolbox
from tests.toolkit.records import Kept


async def handler(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
    return '{"status": "ok", "data": null}'


CLOSED = {"type": "object", "additionalProperties": False}


@pytest.mark.requirement("002-9")
def test_every_tool_is_listed_in_the_order_of_names_in_both_forms() -> None:
    tools = make_toolbox()
    names = [spec.name for spec in tools.list_registered()]
    assert names == sorted(names)
    assert {"create_contact", "purge", "echo"} <= set(names)
    assert all(callable(spec.handler) for spec in tools.list_registered())


@pytest.mark.requirement("002-8")
def test_every_published_input_schema_is_a_closed_object() -> None:
    for tool in make_toolbox().registry.published():
        assert tool["inputSchema"]["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False


@pytest.mark.requirement("003-1")
def test_only_admin_tools_are_destructive_and_annotations_follow_from_the_builder() -> None:
    hints = {tool["name"]: tool["annotations"] for tool in make_toolbox().registry.published()}
    pairs = {name: (each["readOnlyHint"], each["destructiveHint"]) for name, each in hints.items()}
    assert pairs == {
        "count_contacts": (True, False),
        "create_contact": (False, False),
        "delete_contact": (False, True),
        "echo": (True, False),
        "fail_softly": (True, False),
        "get_contact": (True, False),
        "go_wrong": (False, False),
        "purge": (False, True),
    }


def test_a_name_can_be_taken_once() -> None:
    registry = ToolRegistry("r")
    registry.add(read_tool("one", "One.", handler=handler))
    with pytest.raises(ContractError, match="There is a tool 'one' already; rename one of the two"):
        registry.add(write_tool("one", "One.", handler=handler))


def test_nothing_is_added_once_a_tool_was_dispatched_or_served() -> None:
    for is_served in (False, True):
        tools = make_toolbox()
        if is_served:
            tools.build_server()
        else:
            asyncio.run(tools.dispatch("count_contacts"))
        with pytest.raises(ContractError, match="comes too late"):
            tools.add(read_tool("late", "Late.", handler=handler))


def test_an_unknown_tool_is_said_to_be_unknown() -> None:
    kept = Kept()
    with pytest.raises(UnknownTool):
        asyncio.run(make_toolbox(recorder=kept).dispatch("no\u202epe"))
    assert kept.told() == [
        ("policy_decision", "blocked", "no?pe", "contract.unlisted"),
        ("tool_call", "blocked", "no?pe", "contract.unlisted"),
    ]
    assert kept.records[0].reason == "There is no tool 'no?pe'. Call tools/list for the tools there are."


@pytest.mark.requirement("002-11")
@pytest.mark.parametrize("name", ["a.b", "", "ä", "a b", "x" * 129])
def test_names_are_flat(name: str) -> None:
    with pytest.raises(ContractError, match="cannot name a tool"):
        ToolRegistry("r").add(read_tool(name, "Named.", handler=handler))


@pytest.mark.requirement("002-8")
@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"type": "object"}, "'t' takes any key"),
        ({"type": "object", "additionalProperties": True}, "'t' takes any key"),
        ({**CLOSED, "properties": {"a": {"type": "object"}}}, "'a' of 't' takes any key"),
        ({**CLOSED, "properties": {"a": {"items": {"properties": {"b": {}}}}}}, "'a' of 't' takes any key"),
        ({**CLOSED, "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "object"}}}, "'A' of 't'"),
        ({**CLOSED, "properties": {"a": {"anyOf": [{"properties": {"b": {}}}]}}}, "'a' of 't' takes any key"),
        ({"type": "string"}, "must be an object at its root"),
    ],
)
def test_an_open_input_schema_is_refused_wherever_it_is_open(schema: dict[str, Any], where: str) -> None:
    with pytest.raises(ContractError, match=where):
        ToolRegistry("r").add(read_tool("t", "T.", input_schema=schema, handler=handler))


def test_a_map_whose_values_have_a_type_is_not_open() -> None:
    values = {"type": "object", "additionalProperties": {"type": "string"}}
    schema = {**CLOSED, "properties": {"labels": values}}
    ToolRegistry("r").add(read_tool("t", "T.", input_schema=schema, handler=handler))


ELSEWHERE = {"$ref": "https://example.com/x"}
UNUSABLE = {
    "elsewhere": (ELSEWHERE, "The schema refers to something outside itself; references are never fetched."),
    "pattern": ({"pattern": "(a"}, r"The pattern at #/properties/p/pattern is not a valid regular expression."),
    "hidden": (
        {"anyOf": [{"pattern": "(?=a)"}, {"pattern": "(a"}]},
        "The pattern at #/properties/p/anyOf/1/pattern is not a valid regular expression.",
    ),
}


@pytest.mark.requirement("S3")
@pytest.mark.requirement("D14")
@pytest.mark.parametrize("name", UNUSABLE)
@pytest.mark.parametrize("side", ["input", "output"])
def test_a_schema_that_cannot_be_used_is_refused_where_the_tool_is_registered(name: str, side: str) -> None:
    part, reason = UNUSABLE[name]
    schema = {**CLOSED, "properties": {"p": part}}
    spec = read_tool("u", "U.", handler=handler, **{f"{side}_schema": schema})
    with pytest.raises(ContractError) as refused:
        Toolbox("r").add(spec)
    assert str(refused.value) == f"The {side} schema of 'u' cannot be used: {reason} Correct the schema."


@pytest.mark.requirement("S3")
def test_a_pattern_that_is_too_large_is_refused_before_anything_is_served() -> None:
    tools = Toolbox("r")
    schema = {**CLOSED, "properties": {"p": {"pattern": r"^(\p{L}{1,1000}){1,50}$"}}}
    tools.add(read_tool("fine", "F.", handler=handler))
    tools.add(read_tool("u", "U.", input_schema=schema, handler=handler))
    with pytest.raises(ContractError) as refused:
        tools.build_server()
    reason = "The pattern at #/properties/p/pattern is too large."
    assert str(refused.value) == f"The input schema of 'u' cannot be used: {reason} Correct the schema."


@pytest.mark.requirement("S3")
def test_look_ahead_in_a_schema_of_our_own_is_judged() -> None:
    tools = Toolbox("r")
    schema = {**CLOSED, "properties": {"p": {"type": "string", "pattern": r"^(?=.*[A-Z])(?=.*\d).{8,}$"}}}
    tools.add(read_tool("t", "T.", input_schema=schema, handler=handler))
    right, wrong, endless = (
        asyncio.run(tools.dispatch("t", {"p": text})) for text in ("Passw0rd", "password", "Passw0rd" * 10_000)
    )
    assert (right.is_error, wrong.is_error, endless.is_error) == (False, True, False)
    assert "p: must match the pattern" in wrong.text


# --- definitions and their handlers ------------------------------------------------------------------------------


def test_definitions_and_handlers_must_match() -> None:
    specs = [read_tool("one", "One."), write_tool("two", "Two.")]
    assert [spec.name for spec in with_handlers(specs, {"one": handler, "two": handler})] == ["one", "two"]
    with pytest.raises(ContractError, match="do not match; look at three, two"):
        with_handlers(specs, {"one": handler, "three": handler})


def test_a_tool_without_a_handler_or_with_one_that_blocks_is_refused() -> None:
    def blocking(**_: Any) -> str:
        return ""

    with pytest.raises(ContractError, match="is not async"):
        read_tool("t", "T.", handler=blocking)
    with pytest.raises(ContractError, match="'t' has no handler"):
        ToolRegistry("r").add(read_tool("t", "T."))


def test_a_builder_takes_a_model_or_a_schema_and_adds_the_guards() -> None:
    class Which(Args):
        id: int

    class Guarded(Args):
        reason: str

    with pytest.raises(ContractError, match="keep one of the two"):
        read_tool("t", "T.", args_model=Which, input_schema=CLOSED)
    with pytest.raises(ContractError, match="Admin tools get reason from the builder"):
        admin_tool("t", "T.", args_model=Guarded)
    spec = admin_tool("t", "T.", args_model=Which)
    assert list(spec.input_schema["properties"]) == ["id", "confirm", "reason"]
    assert spec.input_schema["required"] == ["id", "confirm", "reason"]


@pytest.mark.requirement("003-2")
@pytest.mark.requirement("003-3")
def test_a_handler_gets_app_state_coerced_arguments_and_actor() -> None:
    from datetime import date

    class When(Args):
        day: date

    got: list[Any] = []

    async def keep(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        got.extend((app_state, arguments, actor))
        return '{"status": "ok", "data": 1}'

    tools = Toolbox("r", app="state")
    tools.add(read_tool("keep", "Keep.", args_model=When, handler=keep))
    assert asyncio.run(tools.dispatch("keep", {"day": "2026-03-01"}, actor="nobody")).payload == {"result": 1}
    assert got == ["state", {"day": date(2026, 3, 1)}, "nobody"]
    assert asyncio.run(tools.dispatch("keep", {"day": "2026-03-01", "more": 1})).is_error
    assert len(got) == 3


def test_a_spec_made_by_hand_runs_its_handler() -> None:
    tools = Toolbox("r")
    tools.add(ToolSpec("own", "Own.", CLOSED, handler))
    assert asyncio.run(tools.dispatch("own")).payload == {"result": None}


def test_the_call_says_which_tool_it_is_of() -> None:
    tools = Toolbox("r", app={"a": 1})

    @tools.read(name="renamed", title="A title")
    async def function(call: Call) -> list[str]:
        """Say it."""
        return [call.tool, *call.app]

    assert asyncio.run(tools.dispatch("renamed")).payload == {"result": ["renamed", "a"]}
    (published,) = tools.registry.published()
    assert (published["name"], published["title"]) == ("renamed", "A title")
