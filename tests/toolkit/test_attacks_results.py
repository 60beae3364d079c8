"""Attacks on what is published and sent: every kind of result, in each envelope, to official clients of both eras."""

import asyncio
import math
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar
from uuid import UUID

import jsonschema_rs
import pytest
from mcp import Client
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, JsonValue, RootModel, SecretStr, computed_field
from typing_extensions import TypedDict

from handfast.toolkit import ContractError, Toolbox, ok, read_tool
from tests.toolkit.records import Kept

Mode = Literal["legacy", "2026-07-28"]
MODES: tuple[Mode, ...] = ("legacy", "2026-07-28")
T = TypeVar("T")


class Plain(BaseModel):
    a: int | None = None
    when: date | None = None


class Renamed(BaseModel):
    x: int = Field(alias="theX")
    y: int = Field(default=0, serialization_alias="theY")


class Tree(BaseModel):
    value: int
    below: list["Tree"] = Field(default_factory=list)


class Reckoned(BaseModel):
    a: int
    hidden: str = Field(default="h", exclude=True)

    @computed_field  # type: ignore[prop-decorator]  # mypy does not know properties that are decorated again
    @property
    def twice(self) -> int:
        return 2 * self.a


class Item(BaseModel, Generic[T]):
    item: T


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    meows: int = 1


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    barks: int = 1


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Counts(RootModel[dict[str, int]]):
    """An object at the root."""


class Numbers(RootModel[list[int]]):
    """An array at the root."""


class Hidden(BaseModel):
    word: SecretStr


class Typed(TypedDict):
    a: int


class Named(NamedTuple):
    a: int
    b: str


@dataclass
class Data:
    a: int
    b: date


class Letter(Enum):
    A = "a"


class Number(IntEnum):
    ONE = 1


DAY = date(2026, 3, 1)
MOMENT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
NIL = UUID(int=0)
# The type that a tool declares, what it returns, and what an agent reads.
RESULTS: list[tuple[Any, Any, Any]] = [
    (None, None, None),
    (bool, True, True),
    (int, 2**70, 2**70),
    (float, 3, 3.0),
    (str, "", ""),
    (bytes, b"abc", "abc"),
    (date, DAY, "2026-03-01"),
    (datetime, MOMENT, "2026-03-01T09:30:00Z"),
    (time, time(9, 30), "09:30:00"),
    (timedelta, timedelta(hours=1.5), "PT1H30M"),
    # Right by their types, though JSON Schema's formats refuse them.
    (timedelta, timedelta(days=400), "P1Y35D"),
    (timedelta, timedelta(seconds=0.5), "PT0.5S"),
    (timedelta, timedelta(days=-1), "-P1D"),
    (AnyUrl, AnyUrl("https://example.com/a|b"), "https://example.com/a|b"),
    (datetime, MOMENT.replace(tzinfo=None), "2026-03-01T09:30:00"),
    (Decimal, Decimal("1.50"), "1.50"),
    (Decimal, Decimal("1E+3"), "1E+3"),
    (UUID, NIL, str(NIL)),
    (IPv4Address, IPv4Address("192.0.2.1"), "192.0.2.1"),
    (Path, Path("/x"), "/x"),
    (AnyUrl, AnyUrl("https://example.com/"), "https://example.com/"),
    (Letter, Letter.A, "a"),
    (Number, Number.ONE, 1),
    (Literal["a", 1], 1, 1),
    (Annotated[int, Field(ge=0, le=9)], 9, 9),
    (list[Plain], [Plain()], [{"a": None, "when": None}]),
    (Plain | None, None, None),
    (Plain | None, Plain(when=DAY), {"a": None, "when": "2026-03-01"}),
    (Cat | Dog, Dog(), {"kind": "dog", "barks": 1}),
    (tuple[int, str], (1, "a"), [1, "a"]),
    (tuple[int, ...], (), []),
    (set[int], {1}, [1]),
    (deque[int], deque([1]), [1]),
    (Named, Named(1, "b"), [1, "b"]),
    (Numbers, Numbers([1]), [1]),
    (list[Tree], [Tree(value=1)], [{"value": 1, "below": []}]),
    (JsonValue, {"a": [None]}, {"a": [None]}),
    (Any, {"a": None}, {"a": None}),
]
# The same for types whose values all are objects: plain has them as they are.
OBJECTS: list[tuple[Any, Any, dict[str, Any]]] = [
    (Plain, Plain(a=1), {"a": 1, "when": None}),
    (Plain, {"a": 1}, {"a": 1}),
    (Tree, Tree(value=1, below=[Tree(value=2)]), {"value": 1, "below": [{"value": 2, "below": []}]}),
    (Renamed, Renamed(theX=1), {"theX": 1, "theY": 0}),
    (Reckoned, Reckoned(a=1), {"a": 1, "twice": 2}),
    (Item[Decimal], Item[Decimal](item=Decimal("2.0")), {"item": "2.0"}),
    (Owner, Owner(pet=Cat()), {"pet": {"kind": "cat", "meows": 1}}),
    (Open, Open.model_validate({"a": 1, "z": None}), {"a": 1, "z": None}),
    (Hidden, Hidden(word=SecretStr("x")), {"word": "**********"}),
    (Counts, Counts({"a": 1}), {"a": 1}),
    (Typed, {"a": 1}, {"a": 1}),
    (Data, Data(1, DAY), {"a": 1, "b": "2026-03-01"}),
    (dict[str, Any], {"a": None}, {"a": None}),
    (dict[int, str], {1: "a"}, {"1": "a"}),
    (Mapping[str, int], {"a": 1}, {"a": 1}),
    (Counter[str], Counter("aa"), {"a": 2}),
]


def returning(tools: Toolbox, name: str, kind: Any, value: Any) -> None:
    async def give() -> Any:
        """Give it."""
        return value

    tools.read(name=name, returns=type(None) if kind is None else kind)(give)


def served(envelope: str) -> tuple[Toolbox, dict[str, Any]]:
    """Every kind of result, and the structured content that is due for each."""
    tools = Toolbox("results", envelope=envelope)
    due: dict[str, Any] = {}
    for count, (kind, value, read) in enumerate([*RESULTS, *OBJECTS]):
        name = f"tool_{count}"
        returning(tools, name, kind, value)
        wraps = count < len(RESULTS)
        due[name] = {
            "plain": {"result": read} if wraps else read,
            "result": {"success": True, "data": read, "error": None},
            "status": {"status": "ok", "data": read},
        }[envelope]
    return tools, due


@pytest.mark.requirement("D1")
@pytest.mark.requirement("002-1")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
def test_every_kind_of_result_meets_its_schema_and_the_official_client_takes_it(envelope: str, mode: Mode) -> None:
    tools, due = served(envelope)

    async def session() -> dict[str, Any]:
        async with Client(tools.build_server(), mode=mode) as client:
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == [tool["name"] for tool in tools.registry.published()]
            # The client holds every result to the schema that was listed, and raises.
            return {tool.name: (await client.call_tool(tool.name, {})).structured_content for tool in listed}

    assert asyncio.run(session()) == due


@pytest.mark.requirement("D1")
@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
def test_every_published_output_schema_says_object_at_its_root_and_is_valid(envelope: str) -> None:
    tools, _ = served(envelope)
    for tool in tools.registry.published():
        assert jsonschema_rs.meta.is_valid(tool["outputSchema"])
        assert tool["outputSchema"]["type"] == "object"  # one that does not costs a 2025 client the whole list


@pytest.mark.parametrize("mode", MODES)
def test_a_reference_at_the_root_of_a_schema_written_out_costs_nobody_the_list(mode: Mode) -> None:
    tools = Toolbox("results")
    node = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}

    async def give(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return ok({"below": [{"below": []}]})

    schema = {"$ref": "#/$defs/Node", "$defs": {"Node": node}}
    tools.add(read_tool("give", "Give it.", handler=give, output_schema=schema))

    async def session() -> Any:
        async with Client(tools.build_server(), mode=mode) as client:
            return (await client.call_tool("give", {})).structured_content

    assert asyncio.run(session()) == {"below": [{"below": []}]}


class Loose(BaseModel):
    value: Any
    more: list[Any] = Field(default_factory=list)


class Ranked(BaseModel):
    score: float


@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("kind", "make"),
    [
        (float, lambda number: number),
        (Any, lambda number: number),
        (Any, lambda number: [{"a": number}]),
        (dict[str, Any], lambda number: {"a": [number]}),
        (list[Any], lambda number: [number]),
        (Loose, lambda number: Loose(value=number)),
        (list[Loose], lambda number: [Loose(value=1, more=[number])]),
        (Ranked, lambda number: Ranked(score=number)),
        (None, lambda number: number),
    ],
)
def test_what_is_no_number_to_json_is_never_passed_off_as_null(
    kind: Any, make: Callable[[float], Any], number: float, envelope: str
) -> None:
    kept = Kept()
    tools = Toolbox("results", envelope=envelope, recorder=kept)
    returning(tools, "give", kind, make(number))
    answer = asyncio.run(tools.dispatch("give"))
    assert answer.is_error
    assert kept.told()[-1][:2] == ("tool_call", "blocked")


class Unready(BaseModel):
    later: "Later"  # type: ignore[name-defined]  # noqa: F821 - that is the fault


def test_a_model_that_names_what_is_not_there_is_refused_in_a_line() -> None:
    with pytest.raises(ContractError, match="names a type that is not there yet; define or import it before"):
        returning(Toolbox("results"), "give", Unready, None)
