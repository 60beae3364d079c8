"""The typed form: what is read from a function, and what its author is told when something is missing."""

import asyncio
import re
import sys
import typing
from collections.abc import Callable
from datetime import time
from typing import Any

import pytest
from mcp.types import ImageContent
from pydantic import BaseModel, Field

from handfast.toolkit import Actor, Args, Call, ContractError, Reply, Toolbox, ToolResult, read_tool
from handfast.toolkit.writing.schemas import UnusableSchema


class Point(Args):
    x: int
    """How far to the right."""
    label: str = "here"


class Place(BaseModel):
    at: list[Point]


def test_name_description_schemas_and_annotations_come_from_the_function() -> None:
    tools = Toolbox("t")

    @tools.read
    async def look(args: Point, call: Call) -> Place:
        """Look at a point.

        It does not move.
        """
        return Place(at=[args])

    (published,) = tools.registry.published()
    assert published == {
        "name": "look",
        "description": "Look at a point.\n\nIt does not move.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "x": {"type": "integer", "description": "How far to the right."},
                "label": {"type": "string", "default": "here"},
            },
            "required": ["x"],
            "additionalProperties": False,
        },
        "outputSchema": {
            "type": "object",
            "properties": {"at": {"type": "array", "items": {"$ref": "#/$defs/Point"}}},
            "required": ["at"],
            "$defs": {
                "Point": {
                    "type": "object",
                    "properties": {
                        "x": {"type": "integer", "description": "How far to the right."},
                        "label": {"type": "string", "default": "here"},
                    },
                    "required": ["x"],
                    "additionalProperties": False,
                }
            },
        },
        "annotations": {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
    }
    assert asyncio.run(tools.dispatch("look", {"x": 1})).payload == {"at": [{"x": 1, "label": "here"}]}


def test_pictures_stand_beside_the_data() -> None:
    tools = Toolbox("t")
    picture = ImageContent(type="image", data="aGk=", mime_type="image/png")

    @tools.read
    async def paint(args: Point) -> Reply[Point]:
        """Paint a point."""
        return Reply(args, picture)

    answer = asyncio.run(tools.dispatch("paint", {"x": 1}))
    assert (answer.payload, list(answer.blocks)) == ({"x": 1, "label": "here"}, [picture])


async def untyped(args: Point):  # type: ignore[no-untyped-def]  # that is the fault
    """Say nothing of the result."""


async def undescribed(args: Point) -> int:
    return 1


async def strange(x: int) -> int:
    """Take a bare number."""
    return x


async def two_models(a: Point, b: Point) -> int:
    """Take two models."""
    return 1


async def hidden(args: Point) -> ToolResult:
    """Hide what it returns."""
    return ToolResult.ok(1)


class Unschemable:
    """Nothing that pydantic knows."""


async def unschemable() -> Unschemable:
    """Return what has no schema."""
    return Unschemable()


class Loose(BaseModel):
    inner: Any = None


class Ignoring(BaseModel):
    x: int


async def open_model(args: Ignoring) -> int:
    """Take a model that ignores unknown keys."""
    return args.x


async def open_inside(args: "Holder") -> int:
    """Take a model with such a model inside."""
    return 1


class Holder(Args):
    inner: Ignoring


async def unreadable(args: "Nowhere") -> int:  # type: ignore[name-defined]  # noqa: F821 - that is the fault
    """Name a type that is not there."""
    return 1


@pytest.mark.requirement("002-8")
@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (untyped, "'untyped' does not say what it returns"),
        (undescribed, "'undescribed' has no description"),
        (strange, "The parameter 'x' of 'strange' is neither a model nor a Call"),
        (two_models, "The parameter 'b' of 'two_models' is neither"),
        (hidden, "'hidden' hides what it returns in a ToolResult; add returns=Model"),
        (unschemable, "What 'unschemable' returns cannot be described"),
        (open_model, "The input schema of 'open_model' takes any key"),
        (open_inside, "The input schema of 'Ignoring' of 'open_inside' takes any key"),
        (unreadable, "The types of 'unreadable' cannot be read"),
    ],
)
def test_what_cannot_be_held_to_its_word_is_refused_when_it_is_written(
    function: Callable[..., Any], problem: str
) -> None:
    with pytest.raises(ContractError, match=problem):
        Toolbox("t").write(function)


PATTERNS = {"[": "unclosed character class", "(?=a)b": "look-around, including look-ahead and look-behind, is not su"}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_that_cannot_be_used_is_told_with_its_tool_and_field(pattern: str) -> None:
    class Inner(Args):
        code: str = Field(pattern=pattern)

    class Wanted(Args):
        inner: Inner

    async def find(args: Wanted) -> int:
        """Find it."""
        return 1

    words = re.escape(f"The field 'inner.code' of 'find' cannot be checked: {PATTERNS[pattern]}")
    with pytest.raises(ContractError, match=words):
        Toolbox("t").read(find)
    with pytest.raises(ContractError, match=words):
        read_tool("find", "Find it.", args_model=Wanted)


def test_a_time_that_the_model_reads_is_taken_beside_a_set_too() -> None:
    """JSON Schema's format wants an offset; the published schema judges sets, and not what the model has read."""

    class Wanted(Args):
        ids: set[int]
        at: time

    tools = Toolbox("t")

    @tools.read
    async def find(args: Wanted) -> str:
        """Find them."""
        return args.at.isoformat()

    assert asyncio.run(tools.dispatch("find", {"ids": [1], "at": "09:30:00"})).text == '{"result":"09:30:00"}'


def test_what_a_set_publishes_is_enforced_at_every_depth() -> None:
    class Inner(Args):
        names: frozenset[str]

    class Wanted(Args):
        ids: set[int]
        inner: Inner | None = None

    tools = Toolbox("t")

    @tools.admin
    async def find(args: Wanted) -> list[int]:
        """Find them."""
        return sorted(args.ids)

    def text(**given: Any) -> str:
        guards = {"confirm": True, "reason": "asked to"}
        return asyncio.run(tools.dispatch("find", {**guards, **given}, actor=Actor(id="ada"))).text

    assert tools.registry.published()[0]["inputSchema"]["properties"]["ids"]["uniqueItems"] is True
    assert "ids: must not have the same item twice" in text(ids=[1, 2, 1])
    assert "inner/names: " in text(ids=[1], inner={"names": ["a", "a"]})
    assert text(ids=[2, 1], inner={"names": ["a", "b"]}) == '{"result":[1,2]}'


def test_a_pattern_that_looks_around_is_refused_with_what_to_do() -> None:
    class Secret(Args):
        text: str = Field(pattern="^(?=.*x)[a-z]+$")

    async def keep(args: Secret) -> str:
        """Keep it."""
        return args.text

    remedy = "not supported. Check it in a validator of the model, or define the tool in the explicit form."
    with pytest.raises(UnusableSchema, match="The field 'text' of 'keep' cannot be checked: look-around") as refused:
        Toolbox("t").read(keep)
    assert str(refused.value).endswith(remedy)


class Old(typing.TypedDict):
    a: int


class WithOld(Args):
    old: Old


async def take_old(args: WithOld) -> str:
    """Take it."""
    return str(args.old["a"])


async def give_old() -> Old:
    """Give it."""
    return {"a": 1}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there it is as good as the other")
@pytest.mark.parametrize("function", [take_old, give_old])
def test_a_typed_dict_of_before_python_312_is_refused_with_the_one_to_take(function: Any) -> None:
    remedy = r"cannot be described by a schema; take typing_extensions.TypedDict in place of typing.TypedDict, or a"
    with pytest.raises(ContractError, match=remedy):
        Toolbox("t").read(function)
