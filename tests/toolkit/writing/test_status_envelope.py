"""The status envelope of explicit handlers: success, failure, gaps, and never an exception's own text."""

import ast
import json
import logging
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from handfast.core.answers.codes import CodeBook
from handfast.core.answers.envelopes import Envelope, envelope_schema, read_status
from handfast.core.answers.errors import ToolError
from handfast.core.answers.outcome import Failed, Outcome, Succeeded
from handfast.core.call.guardrails import MISSING_CONFIRM
from handfast.toolkit.writing.argument_checks import ArgumentValidationError, GuardrailViolationError
from handfast.toolkit.writing.pages import PaginationMeta
from handfast.toolkit.writing.status_envelope import capability_gap, err, not_supported, ok, service_fallback
from tests.core.schema.test_compiled import json_values
from tests.core.schema.test_violation_texts import compiled
from tests.demo import ROOT

pytestmark = pytest.mark.requirement("003-5")


class Note(BaseModel):
    day: date


def read(text: str) -> Any:  # Any: the payload
    return json.loads(text)


@given(json_values)
def test_success_carries_the_data(data: object) -> None:
    assert read(ok(data)) == {"status": "ok", "data": data}


def test_success_may_carry_models_and_say_which_page_it_is() -> None:
    page = PaginationMeta(total=9, offset=4, limit=2)
    assert read(ok([Note(day=date(2026, 3, 1))], pagination=page)) == {
        "status": "ok",
        "data": [{"day": "2026-03-01"}],
        "pagination": {"total": 9, "offset": 4, "limit": 2},
    }


@pytest.mark.parametrize("data", [float("nan"), [float("inf")], object(), "\ud800"])
def test_data_that_json_cannot_tell_is_no_success(data: object) -> None:
    with pytest.raises(ValueError, match=r".+"):
        ok(data)


@pytest.mark.parametrize(
    ("exc", "told"),
    [
        (
            ArgumentValidationError("x", "string"),
            {
                "domain_code": "invalid_argument",
                "code": "invalid_input",
                "recoverable": True,
                "details": {"kind": "shape"},
            },
        ),
        (
            GuardrailViolationError(MISSING_CONFIRM),
            {
                "domain_code": "guardrail_violated",
                "code": "guardrail_violated",
                "recoverable": True,
                "details": {"violation": "missing_confirm"},
            },
        ),
        (
            ToolError("state_error", "It is closed. Open it.", recoverable=False),
            {"domain_code": "conflict", "code": "state_error", "recoverable": False},
        ),
        (
            ToolError("quota_error", "The quota is used up.", {"left": object()}),
            {"domain_code": "handler_failure", "code": "quota_error", "recoverable": True},
        ),
        (
            ToolError("No Code", "It is odd."),
            {"domain_code": "handler_failure", "code": "internal_error", "recoverable": False},
        ),
    ],
)
def test_an_error_for_the_agent_speaks_for_itself(exc: ToolError, told: dict[str, Any]) -> None:  # Any: JSON
    payload = {"status": "error", "error_type": type(exc).__name__, "message": exc.message, **told}
    assert read(err(exc)) == payload | {"tool": ""}
    assert read(err(exc, tool="notes")) == payload | {"tool": "notes"}


@given(
    st.text(min_size=12), st.sampled_from([None, "not_found", "conflict", "invalid_argument", "of_our_own", "odd one"])
)
def test_what_any_other_exception_says_is_never_told(text: str, code: str | None) -> None:
    told = read(err(LookupError(text), domain_code=code, tool="notes"))
    assert told == read(err(LookupError("something else"), domain_code=code, tool="notes"))
    assert told["error_type"] == "LookupError"
    assert told["message"].count(". ") == 1  # what happened, then what to do


@pytest.mark.parametrize(
    ("asked", "domain_code", "code"),
    [
        (None, "handler_failure", "internal_error"),
        ("not_found", "not_found", "not_found"),
        ("conflict", "conflict", "conflict"),
        ("invalid_argument", "invalid_argument", "invalid_input"),
        ("quota_error", "handler_failure", "quota_error"),
        ("odd one", "handler_failure", "internal_error"),
    ],
)
def test_a_handler_may_say_of_which_kind_a_failure_is(asked: str | None, domain_code: str, code: str) -> None:
    for exc in (LookupError("x"), ToolError("internal_error", "It is odd.")):
        told = read(err(exc, domain_code=asked))
        assert (told["domain_code"], told["code"]) == (domain_code, code)


QUOTA = ToolError("quota_error", "The quota is used up. Try tomorrow.", {"left": 0})
GONE = ToolError("not_found", "It is gone. Choose another.")


PAGE = PaginationMeta(total=9, offset=4, limit=2)
STALE = "This does not fit the present state. Read the state again and repeat the call."
NO_STORE = "'notes' is not supported: no store. Use another tool."


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (ok({"a": 1}), Succeeded({"a": 1})),
        (ok([1], pagination=PAGE), Succeeded([1], {"total": 9, "offset": 4, "limit": 2})),
        (err(QUOTA), Failed("quota_error", QUOTA.message, True, {"left": 0})),
        (err(GONE, tool="notes"), Failed("not_found", GONE.message, True)),
        (err(KeyError("x"), domain_code="conflict"), Failed("conflict", STALE, True)),
        (not_supported("notes", "no store."), Failed("not_supported", NO_STORE, False)),
    ],
)
def test_a_server_reads_back_what_its_handler_said(text: str, outcome: Outcome) -> None:
    assert read_status(read(text), CodeBook(["quota_error"])) == outcome


@pytest.mark.parametrize(
    "text",
    [ok(1), ok([], pagination=PaginationMeta(total=0, offset=0, limit=5)), err(GONE), err(QUOTA), err(KeyError())],
)
def test_what_is_said_meets_the_schema_that_is_published(text: str) -> None:
    schema, _ = envelope_schema(Envelope.STATUS, None, CodeBook(["quota_error"]))
    assert compiled(schema).describe(read(text)) == ()


@pytest.mark.parametrize(
    ("answer", "event", "level", "error_type", "code"),
    [
        (capability_gap, "mcp.handler.capability_gap", logging.INFO, "CapabilityGapError", "not_supported"),
        (not_supported, "mcp.handler.not_implemented", logging.WARNING, "NotSupportedError", "not_supported"),
        (service_fallback, "mcp.handler.service_fallback", logging.WARNING, "ServiceFallbackError", "handler_failure"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_an_error_and_an_event(
    answer: Any, event: str, level: int, error_type: str, code: str, caplog: pytest.LogCaptureFixture
) -> None:  # Any: one of three functions
    caplog.set_level(logging.INFO)
    told = read(answer("notes.export", "the store cannot export; token=hunter2"))
    assert {key: told[key] for key in ("status", "error_type", "domain_code", "tool")} == {
        "status": "error",
        "error_type": error_type,
        "domain_code": code,
        "tool": "notes.export",
    }
    assert "hunter2" not in told["message"]
    (record,) = caplog.records
    said = (record.name, record.levelno, vars(record)["event"], vars(record)["tool_name"], vars(record)["reason"])
    assert said == (
        "handfast.toolkit.handlers",
        level,
        event,
        "notes.export",
        "the store cannot export; token=[redacted]",
    )


def test_nothing_falls_back_past_a_service() -> None:
    calls = [
        path.relative_to(ROOT).as_posix()
        for folder in ("src", "examples")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "service_fallback"
    ]
    assert calls == []


def test_a_bare_not_implemented_status_is_nowhere() -> None:
    for folder in ("src", "examples"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                pairs = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
                assert not [
                    1
                    for key, value in pairs
                    if key and ast.unparse(key) == "'status'" and ast.unparse(value) == "'not_implemented'"
                ], path
