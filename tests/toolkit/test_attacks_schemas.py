"""Attacks on what an author may register: input schemas that are open in a way that is easy to overlook."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import pytest
from pydantic import BaseModel, ConfigDict, Field, Json, RootModel, create_model
from typing_extensions import TypedDict

from handfast.toolkit import Args, ContractError, Toolbox, ToolRegistry, read_tool
from tests.toolkit.test_registry import CLOSED, handler

T = TypeVar("T")


class Ignoring(BaseModel):
    x: int = 0


class Allowing(BaseModel):
    model_config = ConfigDict(extra="allow")


class Boxed(Args, Generic[T]):
    item: T


class Cat(Ignoring):
    kind: Literal["cat"] = "cat"


class Dog(Args):
    kind: Literal["dog"] = "dog"


class Rooted(RootModel[Ignoring]):
    """A model that is another one."""


class Named(NamedTuple):
    a: Ignoring


class Tree(Args):
    value: int = 0
    below: list["Tree"] = Field(default_factory=list)


class Loose(BaseModel):
    below: list["Loose"] = Field(default_factory=list)


class Keys(TypedDict):
    a: int


@dataclass
class Data:
    a: int


def taking(kind: Any) -> Callable[..., Any]:
    model: type[Args] = create_model("Given", __base__=Args, f=(kind, ...))

    async def take(args: Args) -> int:
        """Take it."""
        return 1

    take.__annotations__["args"] = model
    return take


@pytest.mark.requirement("002-8")
@pytest.mark.parametrize(
    "kind",
    [
        Ignoring,
        Allowing,
        Rooted,
        Named,
        Loose,
        Boxed[Ignoring],
        list[Ignoring],
        dict[str, Ignoring],
        Mapping[str, Ignoring],
        tuple[Ignoring, int],
        Ignoring | None,
        int | Ignoring,
        Annotated[Ignoring, Field(description="d")],
        Annotated[Cat | Dog, Field(discriminator="kind")],
        Json[Ignoring],
        dict,
        dict[str, Any],
        dict[str, object],
        dict[str, Annotated[Any, Field(description="said, and nothing with it")]],
    ],
)
def test_a_field_that_would_drop_unknown_keys_is_refused_wherever_it_hides(kind: Any) -> None:
    with pytest.raises(ContractError, match="takes any key"):
        Toolbox("t").read(taking(kind))


@pytest.mark.requirement("002-8")
@pytest.mark.parametrize("kind", [Dog, Boxed[int], Tree, Keys, Data, dict[str, int], list[Dog], Dog | None])
def test_a_field_that_is_closed_is_not_refused_and_takes_no_unknown_key(kind: Any) -> None:
    tools = Toolbox("t")
    tools.read(taking(kind))
    unknown = {"kind": "dog", "item": 1, "a": 1, "surely_unknown": "x"}
    assert asyncio.run(tools.dispatch("take", {"f": [unknown] if kind == list[Dog] else unknown})).is_error


@pytest.mark.requirement("002-8")
@pytest.mark.parametrize(
    "part",
    [
        {"type": ["object", "null"]},
        {"type": ["object", "null"], "properties": {"a": {}}},
        {"required": ["a"]},
        {"minProperties": 1},
        {"patternProperties": {"^a": {"type": "string"}}},
        {"type": "object", "additionalProperties": False, "patternProperties": {".*": {}}},
        {"type": "object", "additionalProperties": {"description": "anything"}},
        {"type": "object", "unevaluatedProperties": {}},
        {"type": "object", "additionalProperties": {"type": "object"}},
        {"type": "string", "contentMediaType": "application/json", "contentSchema": {"type": "object"}},
        {"prefixItems": [{"type": "object"}]},
        {"anyOf": [{"type": "null"}, {"type": "object"}]},
        {"type": "object", "if": {"required": ["a"]}},
        {**CLOSED, "properties": {}, "oneOf": [{"properties": {"b": {"type": "object"}}}]},
    ],
)
def test_a_schema_written_out_is_refused_where_it_is_open(part: dict[str, Any]) -> None:
    schema = {**CLOSED, "properties": {"p": part}}
    with pytest.raises(ContractError, match="takes any key"):
        ToolRegistry("r").add(read_tool("t", "T.", input_schema=schema, handler=handler))


@pytest.mark.parametrize(
    "more",
    [
        {"if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["size"]}},
        {"oneOf": [{"properties": {"kind": {"const": "a"}}, "required": ["size"]}, {"required": ["kind"]}]},
        {"not": {"required": ["kind", "size"]}},
        {"dependentSchemas": {"size": {"required": ["kind"]}}},
        {"allOf": [{"minProperties": 1}]},
    ],
)
def test_conditions_on_a_closed_object_do_not_open_it(more: dict[str, Any]) -> None:
    properties = {"kind": {"type": "string"}, "size": {"type": "integer"}}
    schema = {**CLOSED, "properties": properties, **more}
    tools = Toolbox("t")
    tools.add(read_tool("t", "T.", input_schema=schema, handler=handler))
    assert asyncio.run(tools.dispatch("t", {"kind": "a", "size": 1, "more": 1})).is_error


def test_a_model_that_holds_itself_can_be_the_arguments() -> None:
    tools = Toolbox("t")

    @tools.read
    async def depth(args: Tree) -> int:
        """Say how deep it goes."""
        return 1 + max((len(each.below) for each in args.below), default=0)

    assert asyncio.run(tools.dispatch("depth", {"below": [{"value": 1}]})).payload == {"result": 1}
    assert asyncio.run(tools.dispatch("depth", {"below": [{"value": 1, "unknown": 2}]})).is_error
    assert tools.registry.published()[0]["inputSchema"]["type"] == "object"
