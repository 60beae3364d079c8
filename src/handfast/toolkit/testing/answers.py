"""Checks whether one answer of a tool keeps the contract that its server publishes."""

import json
import re
from typing import Any, Final

from mcp.types import CallToolResult, TextContent

from handfast.core.answers.codes import CodeBook
from handfast.core.answers.envelopes import (
    META_CODE,
    Envelope,
    NotAnEnvelope,
    Rendered,
    read_plain,
    read_result,
    read_status,
)
from handfast.core.answers.errors import ErrorCode
from handfast.core.answers.outcome import Failed, Outcome
from handfast.core.call.result import blocked_text
from handfast.core.schema.compiled import CompiledSchema
from handfast.toolkit.running.call_result import code_mark
from handfast.toolkit.running.dispatch import RegisteredTool
from handfast.toolkit.testing.generate.alternatives import same_json
from handfast.toolkit.testing.judging import broken_formats, is_valid

# Codes that a tool never chooses itself: they mean that it did something unexpected.
BREACHES: Final = frozenset(
    (ErrorCode.INTERNAL_ERROR, ErrorCode.OUTPUT_VIOLATION, ErrorCode.TIMEOUT, ErrorCode.CANCELLED)
)
_INTERNALS = re.compile(
    r"Traceback \(most recent call last\)"
    r"|File \"[^\"]+\", line \d+"
    r"|\b[A-Z]\w*(?:Error|Exception)(?:\(|: )"
    r"|<[\w.]+ object at 0x[0-9a-f]+>"
    r"|\[type=\w+, input_value="
)


def breach_of(result: CallToolResult, tool: RegisteredTool, codes: CodeBook, envelope: Envelope) -> str:
    """The first way in which the answer breaks the contract, in words; empty if it keeps it."""
    try:
        outcome = read_outcome(result, tool, codes, envelope)
    except NotAnEnvelope as problem:
        return f"the answer is not in the form '{envelope}': {problem}"
    return _breach_of_form(result, outcome) or _breach_of_outcome(result, outcome, tool, codes)


def read_outcome(result: CallToolResult, tool: RegisteredTool, codes: CodeBook, envelope: Envelope) -> Outcome:
    """The outcome of an answer in any envelope. Raises: NotAnEnvelope."""
    payload = result.structured_content
    match envelope:
        case Envelope.PLAIN:
            text = text_of(result).removesuffix(code_mark(str((result.meta or {}).get(META_CODE))))
            return read_plain(Rendered(_object(payload), text, result.meta), wraps=tool.wraps)
        case Envelope.RESULT:
            return read_result(payload)
        case Envelope.STATUS:
            return read_status(payload, codes)


def text_of(result: CallToolResult) -> str:
    """The text of the first block, which carries the payload."""
    first = result.content[0] if result.content else None
    return first.text if isinstance(first, TextContent) else ""


def _why(outcome: Failed, name: str) -> str:
    """The part of the text for the tool's author; the rest is advice for agents."""
    if outcome.code == ErrorCode.INTERNAL_ERROR:
        return ""  # the watch on the handler knows more
    before, _, after = blocked_text(name, "\0").partition("\0")
    words = outcome.message.removeprefix(before).removesuffix(after)
    return f": {words.partition('. ')[0].removesuffix('.')}"


def _object(payload: Any) -> dict[str, Any] | None:  # Any: JSON
    if payload is None or isinstance(payload, dict):
        return payload
    raise NotAnEnvelope("The structured content is not an object.")


def _breach_of_form(result: CallToolResult, outcome: Outcome) -> str:
    if result.is_error is not isinstance(outcome, Failed):
        return f"the answer says isError: {str(result.is_error).lower()}, and its payload says the opposite"
    if result.structured_content is None:
        return "" if isinstance(outcome, Failed) else "the answer has no structured content"
    try:
        text = json.loads(text_of(result))
    except ValueError:
        return "the text of the answer is not the JSON of its structured content"
    if not same_json(text, result.structured_content):
        return "the text of the answer and its structured content differ"
    return ""


def _breach_of_outcome(result: CallToolResult, outcome: Outcome, tool: RegisteredTool, codes: CodeBook) -> str:
    if isinstance(outcome, Failed):
        broken = _breach_of_failure(outcome, tool.spec.name, codes)
        if broken:
            return broken
    schema = tool.answering.output
    if not isinstance(schema, CompiledSchema) or result.structured_content is None:
        return ""
    if not is_valid(schema, result.structured_content):
        return "the answer does not meet the published output schema"
    formats = broken_formats(schema, result.structured_content)
    if formats:
        return f"the answer breaks a format of its output schema: {'; '.join(formats[:3])}"
    return ""


def _breach_of_failure(outcome: Failed, name: str, codes: CodeBook) -> str:
    if outcome.code not in codes:
        return f"failed with '{outcome.code}', which the server does not declare"
    if outcome.code in BREACHES:
        return f"failed with {outcome.code}{_why(outcome, name)}"
    if not outcome.message.strip():
        return f"failed with {outcome.code} and without a word on what happened"
    if _INTERNALS.search(f"{outcome.message} {dict(outcome.details)}"):
        return f"failed with {outcome.code} and shows internals in its text; say what happened in words of your own"
    return ""
