"""Result views for the rules, made from a framework's result in its wire form or as an object."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from handfast.core.call.result import ResultView
from handfast.toolkit.running.json_text import write_json

NOT_FINAL = frozenset({"input_required", "task"})  # the result proper follows in another call or answer


def text_of(value: object) -> bytes:
    """A value as the JSON that is judged; a value that JSON cannot hold becomes text that every rule refuses."""
    try:
        return write_json(value)
    except (TypeError, ValueError, RecursionError):
        return b"\xff"


def wire_form(result: Any) -> Mapping[str, Any]:  # Any: what the SDK takes for a result, and JSON
    """A result in the form that the SDK writes."""
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return result or {}


def read_result(answer: Any) -> ResultView:  # Any: as above
    """The view of a tools/call result that the SDK is about to send."""
    result = wire_form(answer)
    structured = text_of(result["structuredContent"]) if "structuredContent" in result else None
    return ResultView(
        structured,
        is_error=result.get("isError") is True,
        is_final=result.get("resultType") not in NOT_FINAL,
        size=size_of(structured, result.get("content") or ()),
    )


def size_of(structured: bytes | None, blocks: Iterable[Any]) -> int:  # Any: content blocks, as JSON or as objects
    """The approximate size of a result, without encoding its images again."""
    return len(structured or b"") + sum(map(_block_size, blocks))


def _block_size(block: Any) -> int:  # Any: as above
    own = sum(len(text) for key in ("text", "data", "blob") if isinstance(text := _member(block, key), str))
    inner = _member(block, "resource")
    return own + (0 if inner is None else _block_size(inner))


def _member(block: Any, key: str) -> Any:  # Any: as above
    return block.get(key) if isinstance(block, dict) else getattr(block, key, None)
