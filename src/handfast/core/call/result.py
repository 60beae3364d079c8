"""Rules for a tool's structured result: present where required, within bounds, unambiguous, valid."""

import msgspec

from handfast.core.call import rules
from handfast.core.call.policy import OutputPolicy, Posture, Violation
from handfast.core.call.strict_json import UNREAD, depth_exceeds


class ResultView(msgspec.Struct, frozen=True):
    """The parts of a tools/call result that the rules need; the result itself is forwarded as it came."""

    structured: bytes | None  # presence is by key: `null` is a value
    is_error: bool = False
    is_final: bool = True  # False for input_required and task, unless they have structured content
    size: int = 0
    value: object = UNREAD  # the decoded `structured`, if the toolkit itself wrote it from this value


def check_presence(policy: OutputPolicy) -> Violation | None:
    """The violation for missing structured content. A posture decides, because many real tools leave it out."""
    if policy.missing_structured_content is Posture.ALLOW:
        return None
    return Violation(rules.RESULT_MISSING, "the tool declares an output schema but sent no structured content")


def check_guards(text: bytes, policy: OutputPolicy) -> Violation | None:
    """Checks size, then depth, before any expensive check reads the content."""
    if len(text) > policy.max_bytes:
        return check_size(text, policy)
    if depth_exceeds(text, policy.max_depth):
        return depth_violation(policy.max_depth)
    return None


def check_size(text: bytes, policy: OutputPolicy) -> Violation | None:
    if len(text) <= policy.max_bytes:
        return None
    return Violation(
        rules.RESULT_MAX_BYTES, f"the structured content has {len(text)} bytes, over the limit of {policy.max_bytes}"
    )


def depth_violation(limit: int) -> Violation:
    return Violation(
        rules.RESULT_MAX_DEPTH, f"the structured content is nested deeper than the limit of {limit} levels"
    )


def schema_violation(words: tuple[str, ...]) -> Violation:
    what = "; ".join(words) if words else "the schema was not met"
    return Violation(rules.RESULT_SCHEMA, f"the structured content does not match the declared output schema: {what}")


def ambiguous_violation(why: str) -> Violation:
    """The violation for content that two parsers could read differently, which therefore cannot be judged."""
    return Violation(rules.RESULT_AMBIGUOUS, f"the structured content is ambiguous: {why}")


TOO_SLOW = Violation(
    rules.RESULT_SCHEMA,
    "checking the structured content against the declared output schema took too long and was stopped",
)


def blocked_text(tool: str, reason: str) -> str:
    """The text that the agent reads instead of a blocked result."""
    return (
        f"The result of '{tool}' was blocked: {reason}. The tool did run; do not repeat the call unless that is safe. "
        "Report this to the operator, who finds it under `handfast activity list --status blocked`."
    )
