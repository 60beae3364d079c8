"""The answer of a call as a protocol result, made without loading the SDK."""

from typing import Any

from handfast.core.words.redaction import scrub_name
from handfast.toolkit.running.dispatch import Answer


def no_such_tool(name: str) -> str:
    return f"There is no tool '{scrub_name(name)}'. Call tools/list for the tools there are."


def result_of(answer: Answer) -> dict[str, Any]:
    """An answer as the result of tools/call."""
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}]
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
