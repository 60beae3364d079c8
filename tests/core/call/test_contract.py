"""A tool's promise: its fingerprint, and its schemas compiled on first need."""

from dataclasses import replace

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
