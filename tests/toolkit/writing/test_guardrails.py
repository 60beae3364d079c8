"""An admin handler's first call: it raises what is missing, with what to do."""

from types import SimpleNamespace

import pytest

from handfast.core.answers.errors import ErrorCode, ToolError
from handfast.core.call.guardrails import MISSING_ACTOR, MISSING_CONFIRM, MISSING_REASON
from handfast.core.call.policy import Violation
from handfast.toolkit.writing.actor import Actor
from handfast.toolkit.writing.guardrails import GuardrailViolationError, require_admin_guardrails

GIVEN = {"confirm": True, "reason": "asked for by the owner"}


@pytest.mark.requirement("003-9")
@pytest.mark.parametrize("actor", [Actor(id="u1"), Actor(name="Ada"), SimpleNamespace(id=7)])
def test_a_call_with_all_three_passes(actor: object) -> None:
    require_admin_guardrails(GIVEN, actor)


@pytest.mark.requirement("003-9")
@pytest.mark.parametrize(
    ("arguments", "actor", "violation", "text"),
    [
        (GIVEN, None, "missing_actor", MISSING_ACTOR),
        (GIVEN | {"actor": "ada", "actor_id": "u1"}, Actor(), "missing_actor", MISSING_ACTOR),
        (GIVEN | {"confirm": "true"}, Actor(id="u1"), "missing_confirm", MISSING_CONFIRM),
        (GIVEN | {"reason": " "}, Actor(id="u1"), "missing_reason", MISSING_REASON),
    ],
)
def test_what_is_missing_is_raised_by_name(
    arguments: dict[str, object], actor: object, violation: str, text: Violation
) -> None:
    with pytest.raises(GuardrailViolationError) as caught:
        require_admin_guardrails(arguments, actor)
    refused = caught.value
    assert isinstance(refused, ToolError)
    assert (refused.violation, refused.details) == (violation, {"violation": violation})
    assert refused.code == ErrorCode.GUARDRAIL_VIOLATED
    assert str(refused) == refused.message == text.message
