"""What the result cases share: results with structured content, and how a blocked one reads."""

from tests.contracts.cases import Outcome

TOTAL = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
RIGHT = '{"total":1}'
WRONG = '{"total":"s3cret-value"}'
WRONG_REASON = (
    "the structured content does not match the declared output schema: total: must be an integer, not a string"
)


def structured(text: str, more: str = "") -> str:
    """A result with this structured content, and whatever members come after it."""
    return f'{{"content":[{{"type":"text","text":"t"}}],"structuredContent":{text}{more}}}'


def blocked_text(tool: str, reason: str) -> str:
    return (
        f"The result of '{tool}' was blocked: {reason}. The tool did run; do not repeat the call unless that is safe. "
        "Report this to the operator, who finds it under `handfast activity list --status blocked`."
    )


def is_blocked(outcome: Outcome, rule: str, reason: str, *, mode: str = "strict") -> bool:
    """The tool ran; the agent got one text in place of the result; two records say so, tied together."""
    assert len(outcome.reached) == 1
    assert outcome.answer.result == outcome.error(blocked_text(outcome.case.tool, reason))
    decision, call = outcome.decision, outcome.call
    assert [decision[key] for key in _KEPT] == ["blocked", "up", outcome.case.tool, mode, rule, reason]
    assert [call[key] for key in _KEPT] == ["blocked", "up", outcome.case.tool, mode, rule, reason]
    assert decision["details"]["direction"] == "result"
    assert decision["request_id"] == call["request_id"] != ""
    return True


def is_warned(outcome: Outcome, rule: str, reason: str) -> bool:
    """The result arrived as it was sent, and one decision is on record beside the call."""
    assert outcome.passed()
    decision, call = outcome.decision, outcome.call
    assert [decision[key] for key in _KEPT] == ["warning", "up", outcome.case.tool, "warn", rule, reason]
    assert (call["status"], call["rule"]) == ("success", "")
    assert decision["request_id"] == call["request_id"] != ""
    return True


def is_unremarkable(outcome: Outcome, status: str = "success") -> bool:
    """The result arrived as it was sent, and only the call is on record."""
    assert outcome.passed()
    assert [record["type"] for record in outcome.records] == ["tool_call"]
    assert (outcome.call["status"], outcome.call["rule"]) == (status, "")
    return True


_KEPT = ("status", "server", "tool", "mode", "rule", "reason")
