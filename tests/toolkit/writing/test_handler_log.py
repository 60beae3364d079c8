"""What handlers log: one line each from one logger, with fixed fields and nothing secret."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr, ValidationError

from handfast.core.call.guardrails import MISSING_REASON
from handfast.toolkit.writing.argument_checks import ArgumentValidationError, GuardrailViolationError
from handfast.toolkit.writing.handler_log import (
    log_handler_argument_invalid,
    log_handler_guardrail_violated,
    log_handler_invoke_failed,
)
from tests.core.words.test_redaction import SECRETS

pytestmark = pytest.mark.requirement("003-8")


class Colour(Enum):
    TEAL = "s3cret"


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def fields(record: logging.LogRecord) -> dict[str, Any]:  # Any: whatever a line carries
    usual = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
    return {name: value for name, value in vars(record).items() if name not in usual}


def test_refused_arguments_are_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    log_handler_argument_invalid("create_contact", ArgumentValidationError("email", "string"))
    (record,) = caplog.records
    assert (record.name, record.levelno, record.exc_info) == ("handfast.toolkit.handlers", logging.WARNING, None)
    text = "Argument 'email' missing or not a string"
    assert record.getMessage() == f"mcp.handler.argument_invalid: create_contact: ArgumentValidationError: {text}"
    assert fields(record) == {
        "event": "mcp.handler.argument_invalid",
        "log_level": "warning",
        "tool_name": "create_contact",
        "error_type": "ArgumentValidationError",
        "error": text,
    }


def test_a_guardrail_is_one_warning_that_names_it(caplog: pytest.LogCaptureFixture) -> None:
    log_handler_guardrail_violated("delete_contact", GuardrailViolationError(MISSING_REASON))
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("handfast.toolkit.handlers", logging.WARNING)
    assert fields(record) == {
        "event": "mcp.handler.guardrail_violated",
        "log_level": "warning",
        "tool_name": "delete_contact",
        "error_type": "GuardrailViolationError",
        "error": MISSING_REASON.message,
        "violation": "missing_reason",
    }


def test_a_failure_is_one_error_with_what_to_find_it_by(caplog: pytest.LogCaptureFixture) -> None:
    known = UUID("0b6f3c1e-8f0a-4c5e-9d43-1f2a7b8c9d0e")
    log_handler_invoke_failed(
        "sync\n",
        OSError("connect to db with password=hunter2 failed"),
        task_id=known,
        attempt=3,
        ratio=0.5,
        late=True,
        when=datetime(2026, 3, 1, tzinfo=UTC),
        where=PurePosixPath("a/b"),
        colour=Colour.TEAL,
        api_key="hunter2",
        note="token: hunter2\nx",
        parts=["a", {"secret": "hunter2"}, SecretStr("hunter2")],
        cause=ValueError("Bearer hunter2"),
        big=10**5000,
        other=object(),
        nothing=None,
        pair=(10**5000,),
    )
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("handfast.toolkit.handlers", logging.ERROR)
    assert fields(record) == {
        "event": "mcp.handler.invoke_failed",
        "log_level": "error",
        "tool_name": "sync?",
        "error_type": "OSError",
        "error": "connect to db with password=[redacted] failed",
        "task_id": str(known),
        "attempt": 3,
        "ratio": 0.5,
        "late": True,
        "when": "2026-03-01 00:00:00+00:00",
        "where": "a/b",
        "colour": "TEAL",
        "api_key": "[redacted]",
        "note": "token: [redacted] x",
        "parts": '["a", {"secret": [redacted]}, "<SecretStr>"]',
        "cause": "[redacted]",
        "big": "<int>",
        "other": "<object>",
        "nothing": None,
        "pair": "<tuple>",
    }


@pytest.mark.parametrize("key", ["tool_name", "error_type", "error", "event", "log_level", "name", "message", "args"])
def test_a_context_that_would_hide_a_field_is_refused(key: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ValueError, match=key):
        log_handler_invoke_failed("sync", OSError(), **{key: "x"})
    assert caplog.records == []


def test_a_models_errors_are_told_in_our_words(caplog: pytest.LogCaptureFixture) -> None:
    class Contact(BaseModel):
        age: int

    with pytest.raises(ValidationError) as caught:
        Contact.model_validate({"age": "s3cret"})
    log_handler_invoke_failed("sync", caught.value)
    assert fields(caplog.records[0])["error"] == "age: must be an integer, not what was sent"


def test_an_exception_that_cannot_be_printed_is_logged_by_its_class(caplog: pytest.LogCaptureFixture) -> None:
    log_handler_invoke_failed("sync", Unprintable())
    found = fields(caplog.records[0])
    assert (found["error_type"], found["error"]) == ("Unprintable", "")


LOGGED: list[Callable[[str, str], None]] = [
    lambda text, _: log_handler_argument_invalid("t", ArgumentValidationError("x", text)),
    lambda text, _: log_handler_invoke_failed("t", RuntimeError(text)),
    lambda text, key: log_handler_invoke_failed("t", RuntimeError(), **{key: text}),
    lambda text, key: log_handler_invoke_failed("t", RuntimeError(), **{key: {"a": [text]}}),
    lambda text, key: log_handler_invoke_failed("t", RuntimeError(), **{key: (text,)}),
    lambda text, _: log_handler_guardrail_violated("t", RuntimeError(text)),
]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(LOGGED), st.sampled_from(SECRETS), st.text(max_size=20), st.sampled_from(["task_id", "x", "note"])
)
def test_no_secret_reaches_the_log(
    caplog: pytest.LogCaptureFixture, log: Callable[[str, str], None], secret: str, around: str, key: str
) -> None:
    caplog.clear()
    log(f"{around} {secret} password={secret!r} {around}", key)
    (record,) = caplog.records
    everything = f"{fields(record)} {logging.Formatter().format(record)}"
    assert secret not in everything
    assert "\n" not in record.getMessage()
