"""What the rules need to see of a tool's result, read from the members it came with."""

from handfast.core.result import ResultView
from handfast.wire.message import Members


def view_result(result: Members, size: int, *, is_modern: bool = True) -> ResultView:
    """`is_modern`: whether the client knows that a result may be a question or a task. Any other takes it as it is."""
    structured = result.get("structuredContent")
    kind = result.get("resultType")
    is_error = result.get("isError")
    return ResultView(
        structured=None if structured is None else bytes(structured),
        is_error=is_error is not None and bytes(is_error) == b"true",
        is_final=not is_modern or kind is None or bytes(kind) not in (b'"input_required"', b'"task"'),
        size=size,
    )
