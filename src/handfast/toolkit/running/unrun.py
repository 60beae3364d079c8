"""Calls that are answered without running a tool, explained or refused, and recorded like every other."""

from collections.abc import Mapping
from typing import Final

from handfast.core.answers.outcome import Failed, Outcome
from handfast.core.call.exchange import Detail, Status
from handfast.core.call.policy import Violation
from handfast.toolkit.running.dispatch import Answer, Dispatcher, RegisteredTool, ToolCaller, note_failure, text_of
from handfast.toolkit.running.outcome_counts import count_as

_NOTHING: Final[Mapping[str, Detail]] = {}


async def answer_with_help(
    dispatcher: Dispatcher,
    tool: RegisteredTool,
    arguments: object,
    caller: ToolCaller,
    *,
    told: Outcome,
    rule: str,
    details: Mapping[str, Detail] = _NOTHING,
) -> Answer:
    """Answers a call that asks for help. Raises: RecordingFailed."""
    call = dispatcher.opened(tool, caller)
    call.details.update(details)
    reason = "The caller asked for help."
    with dispatcher.path.recorded(call):
        await dispatcher.path.answer(call, text_of(arguments), Status.SUCCESS, rule=rule, reason=reason)
    dispatcher.counts.add(tool.spec.name, "explained")
    return dispatcher.rendered(tool, told)


async def refuse_call(
    dispatcher: Dispatcher,
    tool: RegisteredTool,
    arguments: object,
    caller: ToolCaller,
    *,
    told: Failed,
    rule: str,
    details: Mapping[str, Detail] = _NOTHING,
) -> Answer:
    """Refuses a call that no tool can run. Raises: RecordingFailed."""
    call = dispatcher.opened(tool, caller)
    call.details.update(details)
    with dispatcher.path.recorded(call):
        await dispatcher.path.refuse(call, text_of(arguments), Violation(rule, told.message))
    dispatcher.counts.add(tool.spec.name, count_as(told))
    note_failure(call, told)
    return dispatcher.rendered(tool, told)
