"""Tools that also take a list: each item judged as one call, both forms published, nothing undeclared lost."""

from typing import Any

import jsonschema_rs
import pytest

from handfast.core.answers.outcome import Failed, Succeeded
from handfast.core.call.policy import InputPolicy, Mode, OutputPolicy, ToolPolicy, UnknownArguments
from handfast.toolkit import Answer, ContractError, Kind, ToolCaller, ToolRegistry, ToolSpec, UnknownTool
from handfast.toolkit.running.slow_lanes import run_here

LOOSE = ToolPolicy(
    InputPolicy(mode=Mode.STRICT, unknown_arguments=UnknownArguments.REJECT_OBJECTS), OutputPolicy(mode=Mode.STRICT)
)
FIELDS: dict[str, Any] = {  # Any: JSON Schema
    "type": "object",
    "properties": {
        "email": {"type": "string"},
        "first_name": {"type": "string"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
    "required": ["email"],
}
ROW = {"type": "object", "properties": {"id": {"type": "integer"}, "email": {"type": "string"}}, "required": ["id"]}


class Table:
    """Rows in memory, and a registry in front of them."""

    def __init__(self, **more: Any) -> None:
        self.rows: list[dict[str, Any]] = []
        spec = ToolSpec(
            "create",
            "Create one.",
            FIELDS,
            self.nothing,
            Kind.WRITE,
            ROW,
            run=self.create,
            run_list=self.create_all,
        )
        self.registry = ToolRegistry("table", policy=LOOSE, timeout_s=None, in_threads=True)
        self.registry.add(spec)
        self.registry.dispatcher("rows", "Rows.", actions={"create": "create"})

    def nothing(self) -> None: ...

    async def create(self, _: Any, arguments: dict[str, Any], call: Any) -> Any:
        self.rows.append(arguments)
        return {"id": len(self.rows), "email": arguments["email"]}

    async def create_all(self, _: Any, arguments: dict[str, Any], call: Any) -> Any:
        (items,) = arguments.values()
        return [await self.create(_, item, call) for item in items]

    def call(self, arguments: dict[str, Any], name: str = "create", caller: ToolCaller | None = None) -> Answer:
        return run_here(self.registry.dispatch(name, arguments, caller=caller))


@pytest.mark.requirement("000-11")
@pytest.mark.requirement("000-16")
@pytest.mark.parametrize("key", ["objects", "data", "items", "_items", "body"])
@pytest.mark.parametrize("through", ["create", "rows"])
def test_a_list_does_for_each_what_the_tool_does_for_one(key: str, through: str) -> None:
    table = Table()
    sent = {key: [{"email": "a"}, {"email": "b", "first_name": "B"}]}
    answer = table.call(sent if through == "create" else {"action": "create", "arguments": sent}, through)
    assert answer.outcome == Succeeded([{"id": 1, "email": "a"}, {"id": 2, "email": "b"}])
    assert answer.payload == {"result": [{"id": 1, "email": "a"}, {"id": 2, "email": "b"}]}
    assert table.rows == sent[key]


@pytest.mark.requirement("000-1")
@pytest.mark.requirement("000-2")
@pytest.mark.requirement("000-3")
@pytest.mark.parametrize("through", ["create", "rows"])
@pytest.mark.parametrize(
    ("sent", "offender"),
    [
        ({"data": {"email": "a"}}, "data"),
        ({"email": "a", "data": {"notes": "b"}}, "data"),
        ({"objects": [{"email": "a"}, {"data": {"email": "b"}}]}, "objects[1].data"),
        ({"objects": [{"email": "a", "more": {"x": 1}}]}, "objects[0].more"),
        ({"email": "a", "address": {"data": {"city": "b"}}}, "address.data"),
        ({"objects": [{"email": "a"}], "data": {"email": "b"}}, "data"),
    ],
)
def test_no_wrapper_at_any_depth_reaches_the_tool(sent: dict[str, Any], offender: str, through: str) -> None:
    table = Table()
    answer = table.call(sent if through == "create" else {"action": "create", "arguments": sent}, through)
    assert isinstance(answer.outcome, Failed)
    assert answer.is_refused
    assert answer.text.splitlines()[0] == (
        f"Argument '{offender}' is not a declared field and its value is a nested object."
    )
    assert table.rows == []


@pytest.mark.requirement("000-20")
@pytest.mark.requirement("000-6")
def test_undeclared_scalars_and_lists_pass_and_are_named_in_the_answer() -> None:
    table = Table()
    answer = table.call({"email": "a", "bogus": 1, "more": [1], "address": {"zip": "x"}})
    assert answer.payload == {"id": 1, "email": "a"}
    assert [block.text for block in answer.blocks] == ["Ignored arguments: bogus, more, address.zip"]  # type: ignore[attr-defined]  # notices
    clean = table.call({"email": "a", "first_name": "b"})
    assert list(clean.blocks) == []


@pytest.mark.parametrize(
    "sent",
    [{"objects": []}, {"objects": [3]}, {"objects": [{"first_name": "a"}]}, {"objects": [{"email": "a"}] * 1001}],
    ids=["empty", "scalar", "incomplete", "too many"],
)
def test_a_list_with_anything_wrong_in_it_does_nothing(sent: dict[str, Any]) -> None:
    table = Table()
    assert table.call(sent).is_refused
    assert table.rows == []


def test_what_is_published_holds_for_both_forms() -> None:
    table = Table()
    (entry,) = [each for each in table.registry.published() if each["name"] == "create"]
    takes = jsonschema_rs.validator_for(entry["inputSchema"])
    gives = jsonschema_rs.validator_for(entry["outputSchema"])
    for sent in ({"email": "a"}, {"objects": [{"email": "a"}]}):
        assert takes.is_valid(sent)
        assert gives.is_valid(table.call(sent).payload)
    assert not takes.is_valid({})
    assert not gives.is_valid({"result": [{"email": "a"}]})
    assert "additionalProperties" not in entry["inputSchema"]


def test_a_declared_field_of_that_name_is_the_tools_own() -> None:
    own = {**FIELDS, "properties": {**FIELDS["properties"], "items": {"type": "array"}}}
    table = Table()
    spec = ToolSpec("own", "Own.", own, table.nothing, run=table.create, run_list=table.create_all)
    registry = ToolRegistry("own", policy=LOOSE, timeout_s=None, in_threads=True)
    registry.add(spec)
    answer = run_here(registry.dispatch("own", {"items": [{"email": "a"}]}))
    assert answer.is_refused
    assert "email" in answer.text


def test_a_tool_that_takes_lists_answers_whole() -> None:
    table = Table()
    registry = ToolRegistry("pieces", policy=LOOSE, in_pieces=True)
    with pytest.raises(ContractError, match="takes lists"):
        registry.add(ToolSpec("a", "A.", FIELDS, table.nothing, run=table.create, run_list=table.create_all))


def test_what_a_caller_does_not_see_is_not_there() -> None:
    table = Table()
    blind = ToolCaller(sees=lambda _: False)
    for name in ("create", "rows"):
        with pytest.raises(UnknownTool):
            table.call({"email": "a"}, name, blind)
    assert table.registry.published_to(lambda _: False) == []
    assert table.registry.published_to(lambda _: True) == table.registry.published()


def test_a_dispatcher_names_to_a_caller_only_what_they_see() -> None:
    table = Table()
    registry = ToolRegistry("half", policy=LOOSE, timeout_s=None, in_threads=True)
    for name in ("see", "hide"):
        registry.add(ToolSpec(name, f"To {name}.", FIELDS, table.nothing, run=table.create))
    registry.dispatcher("both", "Both.", actions=["see", "hide"])
    half = ToolCaller(sees=lambda name: name == "see")
    listed = registry.published_to(lambda name: name == "see")
    assert [entry["name"] for entry in listed] == ["both", "see"]
    assert "hide" not in str(listed)
    told = run_here(registry.dispatch("both", {"action": "help"}, caller=half))
    assert "hide" not in told.text
    refused = run_here(registry.dispatch("both", {"action": "hide", "arguments": {"email": "a"}}, caller=half))
    assert refused.is_refused
    assert table.rows == []
