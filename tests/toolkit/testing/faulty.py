"""Toolboxes with one fault each, as authors write them, and what is said of each: `FAULTS`."""

import asyncio
import itertools
import json
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from handfast.toolkit import Args, Call, Toolbox, ToolError, ToolResult, admin_tool, read_tool, write_tool

SECRET = "hunter2-in-the-exception"


@dataclass(frozen=True, slots=True)
class Fault:
    """A toolbox, its faulty tool, and a part of what is to be said of it."""

    build: Callable[[Toolbox], object]
    tool: str
    words: str
    arguments: Any = None  # the simplest that show it, where that is plain
    options: dict[str, Any] = field(default_factory=dict)
    logged: tuple[str, ...] = ()  # the beginnings of what is logged where the tool is registered


class Number(Args):
    n: int


class Text(Args):
    text: str


class Numbers(Args):
    items: list[int]


class Result(BaseModel):
    id: int
    name: str


# --- results that are not what was promised ------------------------------------------------------------------------


def wrong_type(tools: Toolbox) -> None:
    @tools.read
    async def find(args: Number) -> Result:
        """Find it."""
        return "found"  # type: ignore[return-value]  # the fault


def missing_field(tools: Toolbox) -> None:
    @tools.read
    async def find(args: Number) -> Result:
        """Find it."""
        return {"id": args.n}  # type: ignore[return-value]  # the fault


def nothing_for_some(tools: Toolbox) -> None:
    class Colour(StrEnum):
        RED = "red"
        BLUE = "blue"

    class Which(Args):
        colour: Colour

    @tools.read
    async def find(args: Which) -> Result:
        """Find it by colour."""
        if args.colour is Colour.RED:
            return Result(id=1, name="red")
        return None  # type: ignore[return-value]  # the fault: a case that was forgotten


def not_a_number(tools: Toolbox) -> None:
    class Ratio(Args):
        part: float
        whole: float

    @tools.read
    async def share(args: Ratio) -> float:
        """The share of a part."""
        return args.part / args.whole if args.whole else float("nan")


def naive_time(tools: Toolbox) -> None:
    class Seen(BaseModel):
        at: datetime | None

    @tools.read
    async def last_seen(args: Number) -> Seen:
        """When it was last seen."""
        return Seen(at=datetime(2026, 3, 1, 12, 0))  # the fault


def no_json(tools: Toolbox) -> None:
    @tools.read
    async def find(args: Number) -> dict[str, Any]:
        """Find it."""
        return {"found": object()}


def too_large(tools: Toolbox) -> None:
    class Size(Args):
        size: int = Field(ge=0, le=5_500_000)

    @tools.read
    async def fill(args: Size) -> str:
        """Fill a text."""
        return "x" * args.size


def closed_and_more(tools: Toolbox) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": False}

    async def find(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return json.dumps({"status": "ok", "data": {"id": 1, "more": True}})

    tools.add(read_tool("find", "Find it.", handler=find, output_schema=schema))


def no_envelope(tools: Toolbox) -> None:
    async def find(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return "found"

    tools.add(read_tool("find", "Find it.", handler=find))


# --- exceptions ----------------------------------------------------------------------------------------------------


def negative_numbers(tools: Toolbox) -> None:
    names = {0: "zero"}

    @tools.read
    async def name_of(args: Number) -> str:
        """The name of a number."""
        return names[args.n] if args.n < 0 else "many"


def long_texts(tools: Toolbox) -> None:
    @tools.read
    async def shout(args: Text) -> str:
        """Say it louder."""
        if len(args.text) > 3:
            raise ValueError(SECRET)
        return args.text.upper()


def empty_lists(tools: Toolbox) -> None:
    @tools.read
    def largest(args: Numbers) -> int:
        """The largest number."""
        return max(args.items)


def not_ascii(tools: Toolbox) -> None:
    @tools.read
    async def octets(args: Text) -> int:
        """Count the octets."""
        return len(args.text.encode("ascii"))


def large_numbers(tools: Toolbox) -> None:
    database = sqlite3.connect(":memory:", check_same_thread=False)
    tools.app.append(database)

    @tools.read
    async def has(args: Number) -> bool:
        """Whether it is there."""
        return bool(database.execute("select ?", (args.n,)).fetchone())


def changed_arguments(tools: Toolbox) -> None:
    @tools.read
    async def double(args: Number) -> int:
        """Twice the number."""
        args.n *= 2  # the fault: arguments are frozen
        return args.n


def undeclared_code(tools: Toolbox) -> None:
    @tools.read
    async def find(args: Number) -> int:
        """Find it."""
        raise ToolError("no_such_number", "There is no such number.")


def undeclared_result(tools: Toolbox) -> None:
    @tools.read(returns=int)
    async def find(args: Number) -> ToolResult:
        """Find it."""
        return ToolResult.fail(ToolError("no_such_number", "There is no such number."))


def exit_of_the_process(tools: Toolbox) -> None:
    @tools.read
    async def leave(args: Number) -> int:
        """Leave."""
        sys.exit(args.n)


def cancelled_by_itself(tools: Toolbox) -> None:
    @tools.read
    async def give_up(args: Number) -> int:
        """Give up."""
        raise asyncio.CancelledError


# --- failures that say too much, or too little ---------------------------------------------------------------------


def text_of_the_exception(tools: Toolbox) -> None:
    @tools.read
    async def find(args: Number) -> int:
        """Find it."""
        try:
            return {0: 1}[args.n]
        except KeyError:
            try:
                raise OSError(f"{SECRET}.sqlite is locked")
            except OSError as error:
                raise ToolError("unavailable", f"Not now: {error}") from error


def stack_trace(tools: Toolbox) -> None:
    @tools.read
    async def find(args: Number) -> int:
        """Find it."""
        try:
            return {0: 1}[args.n]
        except KeyError:
            raise ToolError("not_found", "There is none.", {"why": traceback.format_exc()}) from None


def blank_message(tools: Toolbox) -> None:
    @tools.read
    async def find(args: Number) -> int:
        """Find it."""
        raise ToolError("not_found", " ")


# --- time ----------------------------------------------------------------------------------------------------------


def hang(tools: Toolbox) -> None:
    @tools.read
    async def wait(args: Number) -> int:
        """Wait."""
        if args.n:
            await asyncio.Event().wait()
        return 0


def own_deadline(tools: Toolbox) -> None:
    @tools.read(timeout_s=0.01)
    async def wait(args: Number) -> int:
        """Wait."""
        await asyncio.Event().wait()
        return 0


# --- schemas -------------------------------------------------------------------------------------------------------


def refused_default(tools: Toolbox) -> None:
    class Page(Args):
        limit: int = Field(default=0, ge=1)

    @tools.write
    async def turn(args: Page) -> int:
        """Turn the page."""
        return args.limit


def refused_example(tools: Toolbox) -> None:
    class Page(Args):
        size: str = Field(examples=["A4", 4])

    @tools.write
    async def print_page(args: Page) -> str:
        """Print the page."""
        return args.size


def unmeetable_result(tools: Toolbox) -> None:
    class Never(BaseModel):
        count: int = Field(ge=5, le=3)

    @tools.write
    async def count(args: Number) -> Never:
        """Count."""
        return Never.model_construct(count=4)


def unmeetable_arguments(tools: Toolbox) -> None:
    class Never(Args):
        count: int = Field(ge=5, le=3)

    @tools.read
    async def count(args: Never) -> int:
        """Count."""
        return args.count


def unmakeable_pattern(tools: Toolbox) -> None:
    schema = {
        "type": "object",
        "properties": {"word": {"type": "string", "pattern": r"^\p{Lu}\p{Ll}{7}ß$"}},
        "required": ["word"],
        "additionalProperties": False,
    }

    async def look_up(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return json.dumps({"status": "ok", "data": 1})

    tools.add(read_tool("look_up", "Look a word up.", handler=look_up, input_schema=schema))


class Tree(BaseModel):
    branches: list["Tree"] = []


class Restless(dict[str, Any]):
    """A schema that reads differently every time."""

    times = itertools.count()

    def items(self) -> Any:
        about = {"type": "integer", "description": f"As of {next(self.times)}."}
        return {"type": "object", "properties": {"n": about}, "additionalProperties": False}.items()

    def keys(self) -> Any:
        return dict(self.items()).keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __getitem__(self, key: str) -> Any:
        return dict(self.items())[key]

    def get(self, key: str, default: Any = None) -> Any:
        return dict(self.items()).get(key, default)


def restless_schema(tools: Toolbox) -> None:
    async def find(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return json.dumps({"status": "ok", "data": 1})

    tools.add(replace(write_tool("find", "Find it.", handler=find), input_schema=Restless()))


def changed_schema(tools: Toolbox) -> None:
    async def find(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return json.dumps({"status": "ok", "data": 1})

    about: dict[str, Any] = {"type": "integer"}
    schema = {"type": "object", "properties": {"n": about}, "additionalProperties": False}
    tools.add(write_tool("find", "Find it.", handler=find, input_schema=schema))
    about["minimum"] = 1


# --- models that do not enforce what they publish ------------------------------------------------------------------


def open_inside(tools: Toolbox) -> None:
    class Loose(BaseModel):
        model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})
        x: int

    class Holder(Args):
        inner: Loose

    @tools.admin
    async def hold(args: Holder, call: Call) -> int:
        """Hold it."""
        return args.inner.x


def coerced_number(tools: Toolbox) -> None:
    class Loose(Args):
        n: Annotated[int, BeforeValidator(int)]

    @tools.write
    async def count(args: Loose) -> int:
        """Count."""
        return args.n


def picky_model(tools: Toolbox) -> None:
    class Picky(Args):
        code: str

        @field_validator("code")
        @classmethod
        def check(cls, code: str) -> str:
            if not code.startswith("contract-"):
                raise ValueError("not one of ours")
            return code

    @tools.read
    async def look_up(args: Picky) -> str:
        """Look a code up."""
        return args.code


def guard_of_an_explicit_tool(tools: Toolbox) -> None:
    class Anything(BaseModel):
        model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False})
        scores: dict[str, float]

        @field_validator("scores", mode="before")
        @classmethod
        def read(cls, scores: Any) -> Any:
            return scores if isinstance(scores, dict) else {}

    async def purge(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return json.dumps({"status": "ok", "data": 1})

    tools.add(admin_tool("purge", "Remove the scores.", handler=purge, args_model=Anything))


CRASH = "failed with internal_error: it raised "
FAULTS: dict[str, Fault] = {
    "wrong type": Fault(wrong_type, "find", "failed with output_violation", {"n": 0}),
    "missing field": Fault(missing_field, "find", "must have the property 'name'", {"n": 0}),
    "nothing for some": Fault(nothing_for_some, "find", "failed with output_violation", {"colour": "blue"}),
    "not a number": Fault(not_a_number, "share", "holds NaN or Infinity", {"part": 0, "whole": 0}),
    "naive time": Fault(naive_time, "last_seen", "at: is no date-time", {"n": 0}),
    "no JSON": Fault(no_json, "find", "cannot be written as JSON", {"n": 0}),
    "too large": Fault(too_large, "fill", "over the limit of 5242880\n"),
    "more than its closed schema": Fault(closed_and_more, "find", "has 1 property that is not allowed", {}),
    "no envelope": Fault(no_envelope, "find", "is ambiguous: it is not valid JSON\n", {}),
    "negative numbers": Fault(negative_numbers, "name_of", f"{CRASH}KeyError at faulty.py:", {"n": -1}),
    "long texts": Fault(long_texts, "shout", f"{CRASH}ValueError at faulty.py:"),
    "empty lists": Fault(empty_lists, "largest", f"{CRASH}ValueError at faulty.py:", {"items": []}),
    "not ASCII": Fault(not_ascii, "octets", f"{CRASH}UnicodeEncodeError at faulty.py:"),
    "large numbers": Fault(large_numbers, "has", f"{CRASH}OverflowError at faulty.py:"),
    "changed arguments": Fault(changed_arguments, "double", f"{CRASH}ValidationError at faulty.py:", {"n": 0}),
    "undeclared code": Fault(undeclared_code, "find", f"{CRASH}the code 'no_such_number', which", {"n": 0}),
    "undeclared result": Fault(undeclared_result, "find", "failed with internal_error", {"n": 0}),
    "exit of the process": Fault(exit_of_the_process, "leave", f"{CRASH}SystemExit at faulty.py:", {"n": 0}),
    "cancelled by itself": Fault(cancelled_by_itself, "give_up", f"{CRASH}CancelledError at faulty.py:", {"n": 0}),
    "text of the exception": Fault(text_of_the_exception, "find", "passes on the text of a OSError", {"n": 1}),
    "stack trace": Fault(stack_trace, "find", "failed with not_found and shows internals", {"n": 1}),
    "blank message": Fault(blank_message, "find", "without a word on what happened", {"n": 0}),
    "hang": Fault(hang, "wait", "gave no answer within 0.2 s", options={"patience_s": 0.2}),
    "own deadline": Fault(
        own_deadline, "wait", "failed with timeout: The tool was not done within 0.01 s and was stopped\n", {"n": 0}
    ),
    "refused default": Fault(refused_default, "turn", "its input schema refuses its own default of 'limit'"),
    "refused example": Fault(refused_example, "print_page", "its input schema refuses its own example 2 of 'size'"),
    "unmeetable result": Fault(unmeetable_result, "count", "no result can meet its output schema"),
    "unmeetable arguments": Fault(unmeetable_arguments, "count", "no arguments can meet its input schema"),
    "unmakeable pattern": Fault(unmakeable_pattern, "look_up", "no arguments could be made from its input schema"),
    "restless schema": Fault(restless_schema, "find", "is listed in another way each time"),
    "changed schema": Fault(changed_schema, "find", "publishes another inputSchema than the one that is enforced"),
    "open inside": Fault(open_inside, "hold", "lets an unknown key in 'inner' through to its handler"),
    "coerced number": Fault(coerced_number, "count", "lets 'n' as a value of the shape boolean through to its handler"),
    "picky model": Fault(
        picky_model, "look_up", "was accepted, so it never ran", logged=("Picky.check raises ValueError, whose text",)
    ),
    "guard of an explicit tool": Fault(
        guard_of_an_explicit_tool, "purge", "lets 'scores' as a value of the shape null"
    ),
}


def make_faulty(name: str, envelope: str = "plain") -> Toolbox:
    tools = Toolbox("faulty", envelope=envelope, app=[])

    @tools.read
    async def works(args: Number) -> int:
        """Say the number again."""
        return args.n

    FAULTS[name].build(tools)
    return tools
