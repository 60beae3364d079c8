"""A destructive call needs an actor, a literal true and a reason, and says in this order what is missing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.guardrails import GUARDRAIL_PROPERTIES, check_guardrails, has_text
from tests.core.schema.test_compiled import json_values
from tests.core.schema.test_violation_texts import compiled

READABLE = {"confirm": True, "reason": "asked for by the owner"}
SCHEMA = compiled({"type": "object", "properties": dict(GUARDRAIL_PROPERTIES), "required": ["confirm", "reason"]})
REASONS = st.text(st.sampled_from(" \t\n\x1c\u00a0\u2003\u200b\u202e")) | st.text() | json_values


def rule(arguments: dict[str, object], *, has_actor: bool = True) -> str:
    violation = check_guardrails(arguments, has_actor=has_actor)
    return violation.rule if violation else ""


@pytest.mark.requirement("003-9")
def test_what_is_missing_is_named_one_at_a_time() -> None:
    assert rule(READABLE) == ""
    assert rule({}, has_actor=False) == "access.missing_actor"
    assert rule(READABLE, has_actor=False) == "access.missing_actor"
    assert rule({}) == "access.missing_confirm"
    assert rule({"reason": "because"}) == "access.missing_confirm"
    assert rule({"confirm": True}) == "access.missing_reason"


@pytest.mark.requirement("003-9")
@given(json_values.filter(lambda value: value is not True))
def test_only_a_literal_true_confirms(value: object) -> None:
    assert rule(READABLE | {"confirm": value}) == "access.missing_confirm"


@pytest.mark.requirement("003-9")
@pytest.mark.parametrize("value", [1, 1.0, "true", "yes", [True]])
def test_what_python_takes_for_true_does_not_confirm(value: object) -> None:
    assert rule(READABLE | {"confirm": value}) == "access.missing_confirm"


@pytest.mark.requirement("003-9")
@given(REASONS)
def test_a_reason_must_be_readable(reason: object) -> None:
    is_readable = isinstance(reason, str) and any(char.isprintable() and char.strip() for char in reason)
    assert rule(READABLE | {"reason": reason}) == ("" if is_readable else "access.missing_reason")
    assert has_text(reason) is is_readable


@pytest.mark.requirement("003-9")
@given(json_values, REASONS)
def test_the_schema_accepts_whatever_the_rule_accepts(confirm: object, reason: object) -> None:
    arguments = {"confirm": confirm, "reason": reason}
    if rule(arguments) == "":
        assert SCHEMA.is_valid(arguments)


@pytest.mark.requirement("003-9")
def test_the_schema_asks_for_the_same() -> None:
    assert SCHEMA.is_valid(READABLE)
    for wrong in (
        {},
        {"confirm": True},
        READABLE | {"confirm": False},
        READABLE | {"confirm": 1},
        READABLE | {"reason": " \t\n"},
        READABLE | {"reason": ""},
    ):
        assert not SCHEMA.is_valid(wrong)
    reason = GUARDRAIL_PROPERTIES["reason"]
    assert (reason["type"], reason["minLength"], reason["pattern"]) == ("string", 1, r".*\S.*")
    json.dumps(dict(GUARDRAIL_PROPERTIES))


@pytest.mark.requirement("003-9")
def test_at_a_dispatcher_the_text_says_where_it_goes() -> None:
    confirm = check_guardrails({}, has_actor=True, inside="arguments")
    reason = check_guardrails({"confirm": True}, has_actor=True, inside="arguments")
    assert confirm is not None
    assert confirm.message.endswith('send confirm: true (no string) inside "arguments" and call again.')
    assert reason is not None
    assert reason.message.endswith('Say in `reason` inside "arguments" why this is done, and call again.')
