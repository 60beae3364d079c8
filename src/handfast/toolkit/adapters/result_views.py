"""What the rules need to see of a result that a framework made: in its wire form, or as the framework's own object."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from handfast.core.call.result import ResultView
from handfast.toolkit.running.json_text import write_json

NOT_FINAL = frozenset({"input_required", "task"})  # what follows them is a call, or a result, of its own


def text_of(value: object) -> bytes:
    """A value as the JSON that is judged; what JSON cannot hold becomes a text that no rule lets through."""
    try:
        return write_json(value)
    except (TypeError, ValueError, RecursionError):
        return b"\xff"


def wire_form(result: Any) -> Mapping[str, Any]:  # Any: what the SDK takes for a result, and JSON
    """A result as the SDK writes it."""
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return result or {}


def read_result(answer: Any) -> ResultView:  # Any: as above
    """What the SDK is about to send for a tools/call."""
    result = wire_form(answer)
    structured = text_of(result["structuredContent"]) if "structuredContent" in result else None
    return ResultView(
        structured,
        is_error=result.get("isError") is True,
        is_final=result.get("resultType") not in NOT_FINAL,
        size=size_of(structured, result.get("content") or ()),
    )


def size_of(structured: bytes | None, blocks: Iterable[Any]) -> int:  # Any: content blocks, as JSON or as objects
    """About what a result weighs, without writing its pictures down once more."""
    return len(structured or b"") + sum(map(_block_size, blocks))


def _block_size(block: Any) -> int:  # Any: as above
    own = sum(len(text) for key in ("text", "data", "blob") if isinstance(text := _member(block, key), str))
    inner = _member(block, "resource")
    return own + (0 if inner is None else _block_size(inner))


def _member(block: Any, key: str) -> Any:  # Any: as above
    return block.get(key) if isinstance(block, dict) else getattr(block, key, None)
