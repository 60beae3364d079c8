"""Attacks that fish for values: whatever is sent or returned, no answer, record or log line quotes it."""

import asyncio
import logging
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, Json, SecretStr, field_validator
from pydantic_core import PydanticCustomError

from handfast.toolkit import Args, Toolbox, ToolError, ToolResult
from tests.toolkit.records import Kept

SECRET = "hunter2xyz"


class Letter(Enum):
    A = "a"


class Cat(Args):
    kind: Literal["cat"]
    age: int


class Dog(Args):
    kind: Literal["dog"]
    name: str


class Everything(Args):
    whole: int = 0
    real: float = 0
    yes: bool = False
    text: Annotated[str, Field(max_length=3)] = ""
    shaped: Annotated[str, Field(pattern="^a$")] = "a"
    day: date | None = None
    moment: datetime | None = None
    span: timedelta | None = None
    amount: Decimal | None = None
    key: UUID | None = None
    link: AnyUrl | None = None
    letter: Letter | None = None
    one: Literal["a", 1] = "a"
    many: list[int] = Field(default_factory=list)
    pair: tuple[int, int] | None = None
    map: dict[str, int] = Field(default_factory=dict)
    days: dict[date, int] = Field(default_factory=dict)
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    other: Cat | Dog | None = None
    packed: Json[list[int]] | None = None
    hidden: SecretStr | None = None
    ruled: str = ""
    coded: str = ""
    crashing: str = ""

    @field_validator("ruled")
    @classmethod
    def quote(cls, value: str) -> str:
        if value:
            raise ValueError(f"{value} is wrong")
        return value

    @field_validator("coded")
    @classmethod
    def quote_by_code(cls, value: str) -> str:
        if value:
            raise PydanticCustomError("own_rule", "{value} is wrong", {"value": value})
        return value

    @field_validator("crashing")
    @classmethod
    def crash(cls, value: str) -> str:
        if value:
            raise KeyError(value)
        return value


FIELDS = st.sampled_from(sorted(Everything.model_fields))
KEYS = st.sampled_from(["kind", "age", "name", "a", "cat", "0", "2026-03-01"])
SECRETS = st.sampled_from([SECRET, f" {SECRET}", f'["{SECRET}"]', f"https://{SECRET}", f"{SECRET}@example.com"])
VALUES = st.recursive(
    SECRETS | st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["cat", "dog", "a"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


class Heard(logging.Handler):
    """Everything that any formatter could show of a line."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.getMessage()} {vars(record)} {record.exc_info}")


@pytest.fixture
def heard() -> Iterator[Heard]:
    handler = Heard()
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield handler
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


@pytest.mark.requirement("001-4")
@pytest.mark.requirement("002-7")
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=st.dictionaries(FIELDS, VALUES, min_size=1, max_size=4))
def test_no_argument_is_ever_quoted(arguments: dict[str, Any], heard: Heard) -> None:
    heard.lines.clear()
    kept = Kept()
    tools = Toolbox("fished", envelope="result", recorder=kept)

    @tools.write
    async def take(args: Everything) -> None:
        """Take everything."""
        raise KeyError(str(args))

    answer = asyncio.run(tools.dispatch("take", arguments))
    assert answer.is_error
    assert SECRET not in f"{answer.text} {answer.payload} {answer.meta} {kept.records} {heard.lines}"
    assert len(answer.text) < 4_000


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int
    b: list[int] = Field(default_factory=list)
    pet: Cat | Dog | None = None


RESULT_KEYS = st.sampled_from(["a", "b", "pet", "kind", SECRET])


@pytest.mark.requirement("002-7")
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    value=st.recursive(
        st.just(SECRET) | st.none() | st.integers(-9, 9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(RESULT_KEYS, inner, max_size=3),
        max_leaves=6,
    )
)
def test_no_result_that_is_refused_is_quoted_by_key_or_by_value(value: Any, heard: Heard) -> None:
    heard.lines.clear()
    kept = Kept()
    tools = Toolbox("fished", envelope="status", recorder=kept)

    @tools.read(returns=Strict)
    async def give() -> Any:
        """Give it."""
        return value

    answer = asyncio.run(tools.dispatch("give"))
    told = f"{answer.text} {answer.meta} {kept.records} {heard.lines}"
    assert SECRET not in told or not answer.is_error


@pytest.mark.requirement("002-7")
@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
@pytest.mark.parametrize(
    "error",
    [
        ExceptionGroup(SECRET, [ValueError(SECRET), ExceptionGroup(SECRET, [KeyError(SECRET)])]),
        ToolError("nobodys_code", SECRET, {SECRET: SECRET}),
        StopAsyncIteration(SECRET),
        MemoryError(SECRET),
        type(SECRET, (Exception,), {})(SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_exception_is_quoted_nor_what_it_came_from(error: Exception, envelope: str, heard: Heard) -> None:
    kept = Kept()
    tools = Toolbox("fished", envelope=envelope, recorder=kept)

    @tools.read
    async def fail() -> int:
        """Fail."""
        try:
            raise OSError(SECRET)
        except OSError as cause:
            error.add_note(SECRET)
            raise error from cause

    @tools.read(returns=int)
    async def fail_softly() -> ToolResult:
        """Fail by returning."""
        return ToolResult.fail(ToolError("nobodys_code", SECRET))

    for tool in ("fail", "fail_softly"):
        answer = asyncio.run(tools.dispatch(tool))
        assert answer.is_error
        lines = [line for line in heard.lines if f"raised {SECRET}" not in line]  # the class is its author's to name
        recorded = str(kept.records).replace(f"'exception': '{SECRET}'", "")  # as above
        assert SECRET not in f"{answer.text} {answer.payload} {answer.meta} {recorded} {lines}"
