"""One outcome in three forms: each keeps its schema, and none loses anything on the way back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.answers.codes import CORE_MEANINGS, CodeBook
from handfast.core.answers.envelopes import (
    Envelope,
    NotAnEnvelope,
    envelope_schema,
    error_type,
    is_object_schema,
    read_plain,
    read_result,
    read_status,
    render,
)
from handfast.core.answers.outcome import Failed, Outcome, Succeeded
from handfast.core.schema.compiled import CompiledSchema, compile_schema

CODES = CodeBook(["own_error"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), ANYTHING, max_size=3)
FAILURES = st.builds(Failed, st.sampled_from(CODES.names), st.text(), st.booleans(), OBJECTS)
PAGES = st.fixed_dictionaries({name: st.integers(min_value=0) for name in ("total", "offset", "limit")})


def compiled(schema: dict[str, Any]) -> CompiledSchema:
    made = compile_schema(json.dumps(schema).encode())
    assert isinstance(made, CompiledSchema)
    return made


@pytest.mark.requirement("002-2")
@pytest.mark.requirement("002-3")
def test_the_result_form_is_success_data_error() -> None:
    good = render(Envelope.RESULT, Succeeded({"id": 1}), tool="t", codes=CODES)
    assert good.payload == {"success": True, "data": {"id": 1}, "error": None}
    bad = render(Envelope.RESULT, Failed("not_found", "No.", True, {"id": 1}), tool="t", codes=CODES)
    assert bad.payload == {
        "success": False,
        "data": None,
        "error": {"code": "not_found", "message": "No.", "details": {"id": 1}, "recoverable": True},
    }


@pytest.mark.requirement("003-4")
def test_the_status_form_names_tool_type_and_domain_code() -> None:
    page = {"total": 3, "offset": 0, "limit": 2}
    good = render(Envelope.STATUS, Succeeded([1, 2], page), tool="t", codes=CODES)
    assert good.payload == {"status": "ok", "data": [1, 2], "pagination": page}
    bad = render(Envelope.STATUS, Failed("invalid_input", "No.", True), tool="t", codes=CODES)
    assert bad.payload == {
        "status": "error",
        "error_type": "ArgumentValidationError",
        "domain_code": "invalid_argument",
        "message": "No.",
        "tool": "t",
        "code": "invalid_input",
        "recoverable": True,
    }


@pytest.mark.requirement("D1")
def test_the_plain_form_is_the_tools_own_result_and_a_failure_is_text_with_a_code_beside_it() -> None:
    assert render(Envelope.PLAIN, Succeeded({"id": 1}), tool="t", codes=CODES).payload == {"id": 1}
    assert render(Envelope.PLAIN, Succeeded([1]), tool="t", codes=CODES, wraps=True).payload == {"result": [1]}
    bad = render(Envelope.PLAIN, Failed("conflict", "No.", True, {"id": 1}), tool="t", codes=CODES)
    assert (bad.payload, bad.text) == (None, "No.")
    assert bad.meta == {"handfast/code": "conflict", "handfast/recoverable": True, "handfast/details": {"id": 1}}


@pytest.mark.requirement("D1")
@given(st.builds(Succeeded, ANYTHING) | FAILURES, st.booleans())
def test_what_plain_renders_reads_back_as_it_was(outcome: Outcome, wraps: bool) -> None:
    if isinstance(outcome, Succeeded) and not isinstance(outcome.data, dict):
        wraps = True
    assert read_plain(render(Envelope.PLAIN, outcome, tool="t", codes=CODES, wraps=wraps), wraps=wraps) == outcome


@pytest.mark.requirement("D1")
@pytest.mark.requirement("D9")
@given(st.builds(Succeeded, ANYTHING) | FAILURES)
def test_what_result_renders_reads_back_as_it_was(outcome: Outcome) -> None:
    assert read_result(render(Envelope.RESULT, outcome, tool="t", codes=CODES).payload) == outcome


@pytest.mark.requirement("D1")
@given(st.builds(Succeeded, ANYTHING, st.none() | PAGES) | FAILURES)
def test_what_status_renders_reads_back_as_it_was(outcome: Outcome) -> None:
    assert read_status(render(Envelope.STATUS, outcome, tool="t", codes=CODES).payload, CODES) == outcome


@pytest.mark.requirement("D1")
@given(OBJECTS, FAILURES, PAGES)
def test_every_rendering_meets_the_published_schema(
    data: dict[str, Any], failure: Failed, page: dict[str, int]
) -> None:
    for envelope in Envelope:
        schema, wraps = envelope_schema(envelope, {"type": "object"}, CODES)
        for outcome in (Succeeded(data), failure):
            payload = render(envelope, outcome, tool="t", codes=CODES, wraps=wraps).payload
            assert payload is None or SCHEMAS[envelope].is_valid(payload)
        assert compiled(schema).text == SCHEMAS[envelope].text
    paged = render(Envelope.STATUS, Succeeded(data, page), tool="t", codes=CODES).payload
    assert SCHEMAS[Envelope.STATUS].is_valid(paged)


SCHEMAS = {each: compiled(envelope_schema(each, {"type": "object"}, CODES)[0]) for each in Envelope}


@pytest.mark.parametrize("envelope", Envelope)
def test_a_schema_holds_its_data_to_what_the_tool_declares(envelope: Envelope) -> None:
    number = {"$ref": "#/$defs/Count", "$defs": {"Count": {"type": "integer"}}}
    schema, wraps = envelope_schema(envelope, number, CODES)
    judge = compiled(schema)
    assert judge.is_valid(render(envelope, Succeeded(3), tool="t", codes=CODES, wraps=wraps).payload)
    assert not judge.is_valid(render(envelope, Succeeded("3"), tool="t", codes=CODES, wraps=wraps).payload)
    assert schema["type"] == "object"  # any other root would cost clients of 2025 the whole list


@pytest.mark.parametrize(
    ("schema", "is_object"),
    [
        ({"type": "object"}, True),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}}, True),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "array"}}}, False),
        ({"$ref": "#/$defs/B", "$defs": {}}, False),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, False),
        ({}, False),
    ],
)
def test_what_is_no_object_for_certain_is_wrapped(schema: dict[str, Any], is_object: bool) -> None:
    assert is_object_schema(schema) is is_object
    assert envelope_schema(Envelope.PLAIN, schema, CODES)[1] is not is_object


def test_an_error_type_is_made_from_every_code() -> None:
    assert error_type("invalid_input") == "ArgumentValidationError"
    assert error_type("guardrail_violated") == "GuardrailViolationError"
    assert error_type("not_found") == "NotFoundError"
    assert error_type("internal_error") == "InternalError"
    assert all(error_type(code).endswith("Error") for code in CORE_MEANINGS)


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        {},
        {"status": "not_implemented"},
        {"status": "error"},
        {"success": True},
        {"success": False, "data": 1},
    ],
)
def test_what_has_no_form_is_refused(payload: object) -> None:
    with pytest.raises(NotAnEnvelope):
        read_result(payload)
    with pytest.raises(NotAnEnvelope):
        read_status(payload, CODES)


def test_a_status_without_a_code_gets_the_one_that_says_no_more_than_its_domain_code() -> None:
    payload = {"status": "error", "domain_code": "conflict", "message": "No.", "error_type": "X", "tool": "t"}
    assert read_status(payload, CODES) == Failed("conflict", "No.", True, {})
    with pytest.raises(NotAnEnvelope):
        read_status({**payload, "code": "nobodys"}, CODES)
