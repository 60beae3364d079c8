"""Errors of a model are told in the words that violations of its schema have, and nothing that was sent is in them."""

import json
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AnyUrl,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    Tag,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from handfast.core.words.model_errors import UNSEEN, describe_model_errors
from handfast.core.words.wording import Wording
from tests.core.schema.test_compiled import json_values
from tests.core.schema.test_violation_texts import MARK, compiled, marked


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Cat(Strict):
    kind: Literal["cat"]
    name: str


class Dog(Strict):
    kind: Literal["dog"]
    age: StrictInt


class Colour(Enum):
    TEAL = "teal"
    EITHER = "red or blue"


class Person(Strict):
    email: str
    age: StrictInt = 0


def errors(of: Any, value: object) -> list[Any]:  # Any: whatever a TypeAdapter takes, and pydantic's dicts
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(of).validate_python(value)
    return list(caught.value.errors(include_url=False, include_input=False))


def words(of: Any, value: object, *, show_names: bool = False) -> tuple[str, ...]:  # Any: as above
    schema = compiled(TypeAdapter(of).json_schema())
    told = describe_model_errors(
        errors(of, value), value, schema=schema.content, names=schema.names, show_names=show_names
    )
    return tuple(str(one) for one in told)


SAME = [
    (StrictInt, "s3cret", "must be an integer, not a string"),
    (StrictInt, True, "must be an integer, not a boolean"),
    (int, "s3cret", "must be an integer, not a string"),
    (StrictFloat, "s3cret", "must be a number, not a string"),
    (StrictBool, 1, "must be a boolean, not an integer"),
    (str, 1.5, "must be a string, not a number"),
    (str, None, "must be a string, not null"),
    (None, 1, "must be null, not an integer"),
    (Person, [], "must be an object, not an array"),
    (list[str], {}, "must be an array, not an object"),
    (set[str], "s3cret", "must be an array, not a string"),
    (dict[str, int], 1, "must be an object, not an integer"),
    (Person, {}, "must have the property 'email' (a string)"),
    (Person, {"email": "a", "s3cret": 1}, "has 1 property that is not allowed, allowed: 'email', 'age'"),
    (Person, {"email": "a", "s3": 1, "s4": 2}, "has 2 properties that are not allowed, allowed: 'email', 'age'"),
    (Person, {"email": "a", "age": "s3cret"}, "age: must be an integer, not a string"),
    (list[Person], [{"email": "a"}, {"email": 1}], "1/email: must be a string, not an integer"),
    (dict[str, StrictInt], {"s3cret": "s3cret"}, "*: must be an integer, not a string"),
    (Literal["open", "closed", None], "s3cret", "must be one of 'open', 'closed', null"),
    (Literal[1, 2, 3, 4, 5, 6, 7, 8, 9], 10, "must be one of 1, 2, 3, 4, 5, 6, 7, 8, 9"),
    (Literal["open"], "s3cret", "must be 'open'"),
    (Colour, "s3cret", "must be one of 'teal', 'red or blue'"),
    (Annotated[str, Field(pattern="^[a-z]$")], "S3", "must match the pattern ^[a-z]$"),
    (Annotated[StrictInt, Field(ge=1)], 0, "must be at least 1"),
    (Annotated[StrictFloat, Field(le=1.5)], 2.5, "must be at most 1.5"),
    (Annotated[StrictInt, Field(gt=1)], 1, "must be more than 1"),
    (Annotated[StrictInt, Field(lt=1)], 1, "must be less than 1"),
    (Annotated[StrictInt, Field(multiple_of=5)], 7, "must be a multiple of 5"),
    (Annotated[str, Field(min_length=1)], "", "must have at least 1 character"),
    (Annotated[str, Field(max_length=2)], "s3cret", "must have at most 2 characters"),
    (Annotated[list[int], Field(min_length=2)], [], "must have at least 2 items"),
    (Annotated[list[int], Field(max_length=1)], [1, 2], "must have at most 1 item"),
    (Annotated[dict[str, int], Field(min_length=1)], {}, "must have at least 1 property"),
    (Annotated[dict[str, int], Field(max_length=0)], {"s3cret": 1}, "must have at most 0 properties"),
    (tuple[int, int], [1], "must have at least 2 items"),
    (tuple[int, int], [1, 2, 3], "must have at most 2 items"),
    (StrictInt | str, [], "must be an integer or a string, not an array"),
    (StrictInt | list[StrictInt], ["s3cret"], "0: must be an integer, not a string"),
    (Cat | Dog, {"kind": "cow"}, "kind: must be one of 'cat', 'dog'"),
    (Cat | Dog, {"kind": "dog"}, "must have the property 'age' (an integer)"),
    (Cat | StrictInt, {"kind": "cat"}, "must have the property 'name' (a string)"),
]  # fmt: skip


@pytest.mark.requirement("D7")
@pytest.mark.parametrize(("of", "value", "text"), SAME)
def test_a_model_and_its_schema_say_the_same(of: Any, value: object, text: str) -> None:  # Any: a type
    assert words(of, value) == (text,)
    assert compiled(TypeAdapter(of).json_schema()).describe(value) == (text,)


class Wide(Strict):
    one: StrictInt
    two: str
    three: StrictBool = True
    four: list[StrictInt] = Field(default_factory=list)


WIDE = st.dictionaries(
    st.sampled_from(["one", "two", "three", "four"]), st.just(1) | st.just("s3cret") | st.just([1, "x"]), max_size=4
)


@pytest.mark.requirement("D7")
@given(items=WIDE.flatmap(lambda value: st.permutations(list(value.items()))))
def test_several_errors_are_told_in_the_order_in_which_the_schema_tells_them(items: list[tuple[str, object]]) -> None:
    value = dict(items)
    schema = TypeAdapter(Wide).json_schema()
    told = compiled(schema).describe(value)
    if told:
        assert words(Wide, value) == told
    else:
        Wide.model_validate(value)


Short = Annotated[str, Field(max_length=3)]
Tagged = Annotated[Cat | Dog, Field(discriminator="kind")]


def kind_of(value: object) -> str | None:
    return str(value.get("kind")) if isinstance(value, dict) and "kind" in value else None


Sorted = Annotated[Annotated[Cat, Tag("cat")] | Annotated[Dog, Tag("dog")], Discriminator(kind_of)]


@pytest.mark.requirement("D7")
@pytest.mark.parametrize(
    ("of", "value", "text"),
    [
        (date, "s3cret", "must be a date such as 2026-03-01"),
        (date, True, "must be a date such as 2026-03-01, not a boolean"),
        (UUID, "s3cret", "must be a UUID such as 0b6f3c1e-8f0a-4c5e-9d43-1f2a7b8c9d0e"),
        (AnyUrl, "s3cret", "must be a URL such as https://example.com/page"),
        (Decimal, "s3cret", "must be a decimal number such as 12.50"),
        (date | UUID, True, "must be a string, not a boolean"),
        (Annotated[date, Field(ge=date(2026, 1, 1))], "2025-01-01", "must be at least 2026-01-01"),
        (Tagged, {"kind": "s3cret"}, "kind: must be one of 'cat', 'dog'"),
        (Tagged, {}, "must have the property 'kind'"),
        (Tagged, {"kind": "dog"}, "must have the property 'age' (an integer)"),
        (Tagged, {"kind": "dog", "age": "s3cret"}, "age: must be an integer, not a string"),
        (Tagged, 1, "must be an object, not an integer"),
        (list[Tagged], [{"kind": "dog"}], "0: must have the property 'age' (an integer)"),
        (Sorted, {"kind": "s3cret"}, "fits none of the alternatives allowed here"),
        (Sorted, {"kind": "dog"}, "must have the property 'age' (an integer)"),
        (dict[int, str], {"s3cret": "a"}, "has a property whose name must be an integer"),
        (dict[Short, str], {"s3cret": "a"}, "has a property whose name must have at most 3 characters"),
    ],
)  # fmt: skip
def test_what_a_schema_does_not_judge_is_told_as_plainly(of: Any, value: object, text: str) -> None:  # Any: a type
    assert words(of, value) == (text,)


class Window(Strict):
    since: StrictInt
    until: StrictInt

    @field_validator("since")
    @classmethod
    def refuse_and_quote(cls, value: int) -> int:
        if value == 31415926:
            raise ValueError(f"{value} is not for you")
        return value

    @model_validator(mode="after")
    def assert_and_quote(self) -> "Window":
        assert self.since < self.until, f"{self.since} is not before {self.until}"
        return self


def test_what_an_author_says_of_a_value_is_not_shown() -> None:
    assert words(Window, {"since": 31415926, "until": 1}) == ("since: does not meet a rule of this tool",)
    assert words(Window, {"since": 27182818, "until": 1}) == ("does not meet a rule of this tool",)


def test_undeclared_names_are_shown_only_on_request_and_then_scrubbed() -> None:
    value = {"email": "a", "a\x1b[31m\nb": 1, "x" * 100: 2}
    assert words(Person, value) == ("has 2 properties that are not allowed, allowed: 'email', 'age'",)
    shown = "has 2 properties that are not allowed: 'a?[31m?b', '" + "x" * 61 + "...', allowed: 'email', 'age'"
    assert words(Person, value, show_names=True) == (shown,)


def test_at_most_five_errors_are_told_and_none_twice() -> None:
    assert len(words(list[str], list(range(20)))) == 5
    twice = errors(str, 1) * 2
    assert describe_model_errors(twice, 1) == (Wording("", "must be a string, not an integer"),)


def test_undeclared_names_are_counted_past_what_is_read() -> None:
    value = {"email": "a"} | {f"x{number}": 1 for number in range(2_000)}
    assert words(Person, value) == ("has 2000 properties that are not allowed, allowed: 'email', 'age'",)


def test_a_key_that_is_called_like_an_alternative_does_not_hide_the_error() -> None:
    assert words(list[Tagged], [{"kind": "dog", "dog": "s3cret"}]) == (
        "0: must have the property 'age' (an integer)",
        "0: has 1 property that is not allowed, allowed: 'kind', 'age'",
    )


class Branch(Strict):
    kind: Literal["branch"]
    child: Annotated["Branch | Dog", Field(discriminator="kind")]


def test_tagged_alternatives_are_followed_however_deep_they_lie() -> None:
    value: dict[str, object] = {"kind": "dog"}
    for _ in range(12):
        value = {"kind": "branch", "child": value}
    assert words(Branch, value) == ("/".join(["child"] * 12) + ": must have the property 'age' (an integer)",)


def test_without_the_value_the_place_is_told_as_the_model_names_it() -> None:
    found = errors(list[Person], [{"email": 1, "more": 2}])
    assert [str(one) for one in describe_model_errors(found, UNSEEN, show_names=True)] == [
        "0/email: must be a string, not what was sent",
        "0: has 1 property that is not allowed: 'more'",
    ]


LEAVES = [
    StrictInt, StrictFloat, StrictBool, str, None, int, date, UUID, AnyUrl, Decimal, Colour, Person, Window,
    Literal["q", 7], Annotated[str, Field(pattern="^q$")], Annotated[str, Field(max_length=1)],
    Annotated[StrictInt, Field(gt=3, multiple_of=7)], Tagged, Sorted, Cat | Dog,
]  # fmt: skip
TYPES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        inner.map(lambda of: list[of]),  # type: ignore[valid-type]  # types drawn at run time
        inner.map(lambda of: set[int] | of),
        inner.map(lambda of: tuple[of, of]),  # type: ignore[valid-type]  # as above
        inner.map(lambda of: dict[str, of]),  # type: ignore[valid-type]  # as above
        inner.map(lambda of: dict[int, of]),  # type: ignore[valid-type]  # as above
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1] if pair[0] is not None else pair[1]),
    ),
    max_leaves=4,
)
SHAPES = st.recursive(
    json_values,
    lambda inner: st.fixed_dictionaries(
        {}, optional={"kind": st.sampled_from(["cat", "dog", "cow"]), "age": inner, "email": inner, "since": inner}
    ),
)


@pytest.mark.requirement("D7")
@settings(max_examples=300, deadline=None)
@given(TYPES, SHAPES)
def test_nothing_the_caller_sent_is_ever_told(of: Any, value: object) -> None:  # Any: a type
    sent = marked(value)
    try:
        TypeAdapter(of).validate_python(sent)
    except ValidationError as failure:
        found = failure.errors(include_url=False, include_input=False)
        told = describe_model_errors(found, sent)
        assert told
        assert MARK not in " ".join(map(str, told))
        assert "31415926" not in " ".join(map(str, told))
        named = describe_model_errors(found, sent, show_names=True)
        assert "31415926" not in " ".join(map(str, named))
        json.dumps([str(one) for one in told])
