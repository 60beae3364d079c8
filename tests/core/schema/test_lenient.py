"""Scalars sent as text: accepted where a coercing server would read them, and nowhere else."""

import json

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.schema.compiled import CompiledSchema, compile_schema
from handfast.core.schema.lenient import is_valid_if_coerced


def compiled(schema: object) -> jsonschema_rs.Validator:
    found = compile_schema(json.dumps(schema).encode())
    assert isinstance(found, CompiledSchema)
    assert found.validator is not None
    return found.validator


TYPED = compiled(
    {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "maximum": 10},
            "x": {"type": "number"},
            "b": {"type": "boolean"},
            "s": {"type": "string"},
            "list": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["n"],
    }
)


@pytest.mark.requirement("D7")
@pytest.mark.parametrize(
    "value",
    [
        {"n": "3"},
        {"n": " 3 "},
        {"n": "3", "x": "1.5", "b": "true"},
        {"n": "3", "b": "True"},
        {"n": 1, "list": ["1", 2, "3"]},
        {"n": "3", "s": "3"},
        {"n": 3},
    ],
)
def test_text_that_spells_the_declared_scalar_is_valid(value: object) -> None:
    assert is_valid_if_coerced(TYPED, value)


@pytest.mark.parametrize(
    "value",
    [
        {"n": "three"},
        {"n": "3.5"},
        {"n": "11"},
        {"n": ""},
        {"n": "null"},
        {"n": "[3]"},
        {"n": "{}"},
        {"n": None},
        {"n": {}},
        {"n": "3", "b": "yes"},
        {"n": "3", "s": 3},
        {},
        {"n": "NaN"},
        {"n": "[" * 10_000},
        {"n": "9" * 10_000},
        {"n": 1, "list": ["x"] * 60},
        "3",
        [],
    ],
    ids=lambda value: str(value)[:24],
)
def test_anything_else_is_not(value: object) -> None:
    assert not is_valid_if_coerced(TYPED, value)


@given(st.dictionaries(st.sampled_from(["n", "x", "b", "s"]), st.text(max_size=6) | st.integers() | st.booleans()))
def test_judging_changes_nothing(value: dict[str, object]) -> None:
    before = json.dumps(value)
    is_valid_if_coerced(TYPED, value)
    assert json.dumps(value) == before


@given(st.integers(-(10**30), 10))
def test_an_integer_counts_the_same_spelled_as_text(number: int) -> None:
    assert is_valid_if_coerced(TYPED, {"n": str(number)}) == is_valid_if_coerced(TYPED, {"n": number})
