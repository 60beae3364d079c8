"""A tool's promise: its fingerprint, and its schemas compiled on first need."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call import contract as contracts
from handfast.core.call.contract import CompiledContract, ToolContract
from handfast.core.schema.compiled import CompiledSchema, SchemaBounds, UncompilableSchema, compile_schema

TEXTS = st.none() | st.binary(max_size=6)
CONTRACTS = st.builds(
    ToolContract,
    name=st.text(max_size=4),
    input_schema=TEXTS,
    output_schema=TEXTS,
    annotations=TEXTS,
    description=st.text(),
)


@given(CONTRACTS, CONTRACTS)
def test_two_contracts_have_one_fingerprint_exactly_when_they_promise_the_same(
    one: ToolContract, other: ToolContract
) -> None:
    is_same = replace(one, description="") == replace(other, description="")
    assert (one.fingerprint == other.fingerprint) is is_same


def test_bytes_that_move_from_one_part_to_the_next_change_the_fingerprint() -> None:
    assert ToolContract("a", b"{}", b"").fingerprint != ToolContract("a", b"{", b"}").fingerprint
    assert ToolContract("a", None, b"-").fingerprint != ToolContract("a", b"-", None).fingerprint


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=3), parts, max_size=4),
    max_leaves=12,
)


def shuffled(value: Any, order: random.Random) -> Any:  # Any: JSON
    if isinstance(value, dict):
        keys = order.sample(list(value), len(value))
        return {key: shuffled(value[key], order) for key in keys}
    return [shuffled(part, order) for part in value] if isinstance(value, list) else value


@given(JSON_VALUES, JSON_VALUES, st.randoms(use_true_random=False))
def test_a_contract_promises_the_same_exactly_when_only_the_order_of_keys_differs(
    schema: Any,  # Any: JSON
    other: Any,  # Any: JSON
    order: random.Random,
) -> None:
    known = CompiledContract(ToolContract("a", json.dumps(schema).encode(), None), SchemaBounds())
    again = ToolContract("a", json.dumps(shuffled(schema, order)).encode(), None)
    assert known.promises_same_as(again)
    assert known.promises_same_as(again)
    text = json.dumps(other, sort_keys=True)
    is_same = text == json.dumps(schema, sort_keys=True)
    assert known.promises_same_as(ToolContract("a", text.encode(), None)) is is_same
    assert not known.promises_same_as(ToolContract("b", again.input_schema, None))
    assert not known.promises_same_as(ToolContract("a", None, again.input_schema))


@pytest.mark.parametrize(
    "text",
    [b'{"const":1.0,"a":2}', b'{"const":true,"a":2}', b'{"a":2,"a":2,"const":1}', b'{"a":2,"const":1', b'{"a":2}', b""],
)
def test_what_only_looks_alike_or_can_be_read_in_two_ways_is_another_promise(text: bytes) -> None:
    known = CompiledContract(ToolContract("a", b'{"const":1,"a":2}', None), SchemaBounds())
    assert known.promises_same_as(ToolContract("a", b'{"a": 2, "const": 1}', None))
    assert not known.promises_same_as(ToolContract("a", text, None))


def test_a_contract_that_is_too_large_to_be_read_for_this_counts_as_changed() -> None:
    filler = b"x" * 70_000
    known = CompiledContract(ToolContract("a", b'{"a":1,"b":"%b"}' % filler, None), SchemaBounds())
    assert not known.promises_same_as(ToolContract("a", b'{"b":"%b","a":1}' % filler, None))


@pytest.mark.requirement("004-13")
def test_a_schema_is_compiled_on_first_need_and_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[bytes] = []

    def counting(text: bytes, bounds: SchemaBounds) -> CompiledSchema | UncompilableSchema:
        compiled.append(text)
        return compile_schema(text, bounds)

    monkeypatch.setattr(contracts, "compile_schema", counting)
    contract = CompiledContract(ToolContract("a", b'{"type":"object"}', b'{"type":"array"}'), SchemaBounds())
    assert compiled == []
    assert contract.output is contract.output
    assert compiled == [b'{"type":"array"}']
    assert isinstance(contract.input, CompiledSchema)
    assert compiled == [b'{"type":"array"}', b'{"type":"object"}']


def test_what_is_not_declared_is_not_compiled_and_what_cannot_be_says_why() -> None:
    contract = CompiledContract(ToolContract("a", None, b'{"type":"nonsense"}'), SchemaBounds())
    assert contract.input is None
    assert isinstance(contract.output, UncompilableSchema)
    assert contract.output.reason
