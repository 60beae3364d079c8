"""Reads what the rules need to see of a tool's result from the members of the result."""

from typing import Final

from handfast.core.call.result import ResultView
from handfast.wire.members import text_member
from handfast.wire.message import Members, read_level

_COMPLETE: Final = b'"complete"'
_NOT_FINAL: Final = ("input_required", "task")
# A task with its result, one task inside another, and that one's result: no client looks further.
_TASK_LEVELS: Final = 3


def view_result(result: Members, size: int, *, is_modern: bool = True) -> ResultView:
    """`is_modern`: whether the client knows that a result may be a question or a task; else every result is final."""
    structured = result.get("structuredContent")
    kind = result.get("resultType") if is_modern else None
    is_error = result.get("isError")
    return ResultView(
        structured=None if structured is None else bytes(structured),
        is_error=is_error is not None and bytes(is_error) == b"true",
        is_final=kind is None or bytes(kind) == _COMPLETE or text_member(result, "resultType") not in _NOT_FINAL,
        size=size,
    )


def results_in_task(task: Members, size: int, *, levels: int = _TASK_LEVELS) -> tuple[ResultView, ...]:
    """Every result that some client could find in a task: its `result`, whatever it is, and all structured content.

    Raises: AmbiguousKeys, NotJson.
    """
    found: tuple[ResultView, ...] = (view_result(task, size),) if "structuredContent" in task else ()
    if "result" in task:
        found += _results_below(task, "result", size, levels)
    if "task" in task:
        found += _results_below(task, "task", size, levels)
    return found


def _results_below(task: Members, name: str, size: int, levels: int) -> tuple[ResultView, ...]:
    text = bytes(task[name])
    members = read_level(text) if text.startswith(b"{") else {}
    deeper = results_in_task(members, size, levels=levels - 1) if levels else ()
    if name == "result" and "structuredContent" not in members:
        return (view_result(members, size), *deeper)
    return deeper
