"""Calls that are answered without running a tool: explained or refused, and on record like every other."""

from collections.abc import Mapping
from typing import Final

from handfast.core.answers.outcome import Failed, Outcome
from handfast.core.call.exchange import Detail, Status
from handfast.core.call.policy import Violation
from handfast.toolkit.running.dispatch import Answer, Dispatcher, RegisteredTool, ToolCaller, note_failure, text_of
from handfast.toolkit.running.outcome_counts import count_as

_NOTHING: Final[Mapping[str, Detail]] = {}


async def answer_unrun(
    dispatcher: Dispatcher,
    tool: RegisteredTool,
    arguments: object,
    caller: ToolCaller,
    *,
    told: Outcome,
    rule: str,
    details: Mapping[str, Detail] = _NOTHING,
) -> Answer:
    """A call for which nothing runs: it asks for help, or is refused. Raises: RecordingFailed."""
    call = dispatcher.opened(tool, caller)
    call.details.update(details)
    path, text = dispatcher.path, text_of(arguments)
    with path.recorded(call):
        if isinstance(told, Failed):
            await path.refuse(call, text, Violation(rule, told.message))
        else:
            await path.answer(call, text, Status.SUCCESS, rule=rule, reason="The caller asked for help.")
    dispatcher.counts.add(tool.spec.name, count_as(told) if isinstance(told, Failed) else "explained")
    if isinstance(told, Failed):
        note_failure(call, told)
    return dispatcher.rendered(tool, told)
