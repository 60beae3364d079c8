"""invoke_each: runs the view for each object of a list, and stores all of them or none."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from django.http import HttpRequest

from handfast.core.answers.errors import ErrorCode, ToolError
from handfast.django.discovery.assembly import OBJECTS
from handfast.django.discovery.tool import ViewTool
from handfast.django.invocation.invoke import invoke
from handfast.django.invocation.running import one_transaction, open_savepoint

MOST_ITEMS: Final = 1_000  # in one transaction, which others may have to wait for
_MOST_FAILED: Final = 20  # after so many, an agent has enough to correct
_MOST_TOLD: Final = 30
# Errors of one object that say nothing about the others.
_OF_THE_ITEM: Final = frozenset(
    (ErrorCode.INVALID_INPUT, ErrorCode.NOT_FOUND, ErrorCode.CONFLICT, ErrorCode.STATE_ERROR)
)


def takes_many(tool: ViewTool) -> bool:
    """Whether a tool can take a list of objects: it creates something, or its body is a list anyway."""
    return tool.takes_list or (tool.method == "POST" and tool.action == "create")


def invoke_each(
    tool: ViewTool,
    items: Sequence[Any],  # Any: JSON
    request: HttpRequest,
    *,
    key: str = OBJECTS,
) -> Any:  # Any: a list of results; of a view that takes a list, its answer
    """Runs the view once for each object, or once for a list that is its body, in one transaction.

    Each object was judged before, as in a call of its own. `key` is the caller's name for the list, for error messages.
    Raises: ToolError; then nothing is stored.
    """
    _check(tool, items, key)
    if tool.takes_list:
        return invoke(tool, {OBJECTS: list(items)}, request)
    with one_transaction(request) as databases:
        return _run(tool, items, request, key, databases)


def _check(tool: ViewTool, items: Sequence[Any], key: str) -> None:  # Any: JSON
    if not takes_many(tool):
        raise ToolError(ErrorCode.NOT_SUPPORTED, "This tool takes one object at a time. Call it once for each.")
    if len(items) > MOST_ITEMS:
        raise ToolError(
            ErrorCode.INVALID_INPUT,
            f"'{key}' holds {len(items)} objects, and one call takes {MOST_ITEMS}. Send them in several calls.",
            {"kind": "shape", "most": MOST_ITEMS},
        )


def _run(
    tool: ViewTool,
    items: Sequence[Any],  # Any: JSON
    request: HttpRequest,
    key: str,
    databases: Collection[str],
) -> list[Any]:  # Any: JSON
    """The results. After a refusal the other objects are still tried, where that can find more errors."""
    results: list[Any] = []
    failed: dict[int, ToolError] = {}
    tried = 0
    for index, item in enumerate(items):
        tried = index + 1
        try:
            with open_savepoint(databases):
                results.append(invoke(tool, item, request))
        except ToolError as error:
            failed[index] = error
            if error.code not in _OF_THE_ITEM or len(failed) == _MOST_FAILED:
                break
    if failed:
        raise _refused(failed, len(items) - tried, len(items), key)
    return results


def _refused(failed: Mapping[int, ToolError], untried: int, count: int, key: str) -> ToolError:
    """One error for all that failed, with the code of the last one, which may have ended the run."""
    last = list(failed.values())[-1]
    told = [line for index, error in failed.items() for line in _told(f"{key}[{index}]", error)]
    shown = "; ".join(told[:_MOST_TOLD]) + (f"; and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else "")
    rest = f", {untried} not tried" if untried else ""
    advice = " Correct them and send all of them again." if last.code in _OF_THE_ITEM else ""
    details: dict[str, object] = {"kind": "value"} if last.code == ErrorCode.INVALID_INPUT else {}
    if "retry_after_s" in last.details:
        details["retry_after_s"] = last.details["retry_after_s"]
    details["items"] = [{"index": index, "code": error.code, **error.details} for index, error in failed.items()]
    return ToolError(
        last.code,
        f"Nothing was stored: {len(failed)} of {count} objects refused{rest}. {shown}.{advice}",
        details,
    )


def _told(place: str, error: ToolError) -> Iterator[str]:
    """Lines such as `objects[1].email: …` for a field, or `objects[1]: …` for the whole object."""
    fields, general = error.details.get("fields"), error.details.get("general", [])
    if not isinstance(fields, dict) or not isinstance(general, list) or not (fields or general):
        yield f"{place}: {error.message.rstrip('.')}"
        return
    yield from (f"{place}: {text.rstrip('.')}" for text in general)
    yield from (f"{place}.{name}: {text.rstrip('.')}" for name, texts in fields.items() for text in texts)
