"""The answer of a call as a protocol result, made without loading the SDK."""

from typing import Any

from handfast.core.answers.outcome import Failed
from handfast.core.words.redaction import scrub_name
from handfast.toolkit.running.dispatch import Answer

# An explanation is not a failure, and refused arguments are worded alike in every runtime.
_WITHOUT_MARK = frozenset(("help", "shape"))


def no_such_tool(name: str) -> str:
    return f"There is no tool '{scrub_name(name)}'. Call tools/list for the tools there are."


def code_mark(code: str) -> str:
    """How the text of a plain failure ends: models are shown text, and seldom `_meta`."""
    return f" [{code}]"


def result_of(answer: Answer) -> dict[str, Any]:
    """An answer as the result of tools/call."""
    if answer.question is not None:
        return dict(answer.question)
    text = answer.text
    failed = answer.outcome
    if answer.payload is None and isinstance(failed, Failed) and failed.details.get("kind") not in _WITHOUT_MARK:
        text += code_mark(failed.code)
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if answer.blocks:
        content += [block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in answer.blocks]
    result: dict[str, Any] = {
        "resultType": "complete",  # removed for clients of older revisions
        "content": content,
        "isError": answer.is_error,
    }
    if answer.payload is not None:
        result["structuredContent"] = answer.payload
    if answer.meta is not None:
        result["_meta"] = dict(answer.meta)
    return result
